//! The curve through a path's keyframes.
//!
//! - Positions: centripetal Catmull-Rom (Yuksel, Schaefer & Keyser 2011): knots lie the square root
//!   of the distance apart, so that the curve makes no loop and no cusp between two keyframes. A
//!   monotone cubic (Fritsch & Butland 1984) says which knot is reached at which time.
//! - Rotations: a Catmull-Rom spline over time through quaternions, each with the sign that is
//!   nearer to the one before, normalised.
//! - Fields of view: a monotone cubic over time through their logarithms.
//!
//! Each of the three is C1 in time and passes through the keyframes. The viewer's page computes the
//! same (`splatcore-page/src/shared/keyframes.js`); a test compares both.

use crate::keyframes::{CameraPath, Easing, Keyframe, Pose};
use crate::linear::distance;
use crate::motion::{Motion, Speed};
use crate::rotation::{matrix, nearer};
use crate::spline::{catmull_rom, hermite, monotone};
use splatcore_core::linear::quaternion_from_rotation;

/// A path that can be asked for the pose at any time.
#[derive(Clone, Debug)]
pub struct Curve {
    keys: Vec<Key>,
    seconds: f64,
    looped: bool,
    motion: Motion,
    /// With [`Motion::constant_speed`].
    speed: Option<Speed>,
}

/// A keyframe with what the splines need to know there.
#[derive(Clone, Debug)]
struct Key {
    keyframe: Keyframe,
    /// Knot of the position's spline.
    knot: f64,
    /// Knots per second.
    knot_slope: f64,
    /// Position per knot.
    tangent: [f64; 3],
    quaternion: [f64; 4],
    /// Per second.
    spin: [f64; 4],
    log_fov: f64,
    /// Per second.
    log_fov_slope: f64,
}

impl Curve {
    /// The curve of a path without a [`CameraPath::defect`], travelled in some manner.
    ///
    /// # Panics
    /// If the path has no keyframe.
    pub fn new(path: &CameraPath, motion: Motion) -> Self {
        assert!(!path.keyframes.is_empty(), "a curve needs a keyframe");
        let looped = path.looped && path.keyframes.len() > 1;
        let keyframes = match looped {
            true => around(&path.keyframes, path.seconds),
            false => to_the_ends(&path.keyframes, path.seconds),
        };
        let mut curve = Self {
            keys: keys(&keyframes),
            seconds: path.seconds,
            looped,
            motion,
            speed: None,
        };
        if motion.constant_speed {
            curve.speed = Some(Speed::of(&curve.key_times(), |time| {
                curve.at_key_time(time).position
            }));
        }
        curve
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// How many frames a video of it has, at least one.
    pub fn frames(&self, fps: f64) -> u64 {
        ((self.seconds() * fps).round() as u64).max(1)
    }

    /// The time in seconds of frame `index` of `count`. The first and the last frame of an open
    /// curve are its ends; the frame after the last of a looped one would be the first again.
    pub fn frame_time(&self, index: f64, count: u64) -> f64 {
        let steps = match self.looped() {
            true => count,
            false => count.saturating_sub(1).max(1),
        };
        self.seconds() * index / steps as f64
    }

    /// Whether the end is the start.
    pub fn looped(&self) -> bool {
        self.looped
    }

    /// The pose at a time in seconds. Before the start and after the end of an open curve it is
    /// that of the end; a looped one goes on.
    pub fn at(&self, seconds: f64) -> Pose {
        let share = match self.looped {
            true => (seconds / self.seconds).rem_euclid(1.0),
            false => (seconds / self.seconds).clamp(0.0, 1.0),
        };
        let share = self.motion.ramp.at(share);
        let time = match &self.speed {
            Some(speed) => speed.time_at(share),
            None => share * self.seconds,
        };
        self.at_key_time(time)
    }

    /// The pose at a time of the keyframes' own clock, from 0 to the path's length.
    pub(crate) fn at_key_time(&self, time: f64) -> Pose {
        let [a, b] = self.segment(time);
        let step = b.keyframe.time - a.keyframe.time;
        let u = match step > 0.0 {
            true => ((time - a.keyframe.time) / step).clamp(0.0, 1.0),
            false => 0.0,
        };
        // At a key its very pose, without roundings; so too where the camera waits.
        let waits =
            a.keyframe.pose == b.keyframe.pose || (a.keyframe.easing == Easing::Hold && u < 1.0);
        if u == 0.0 || waits {
            return a.keyframe.pose;
        }
        if u == 1.0 {
            return b.keyframe.pose;
        }
        let [knot] = hermite(
            [[a.knot], [b.knot]],
            [[a.knot_slope], [b.knot_slope]],
            step,
            u,
        );
        let between = b.knot - a.knot;
        let position = match between > 0.0 {
            true => hermite(
                [a.keyframe.pose.position, b.keyframe.pose.position],
                [a.tangent, b.tangent],
                between,
                ((knot - a.knot) / between).clamp(0.0, 1.0),
            ),
            false => a.keyframe.pose.position,
        };
        let q = hermite([a.quaternion, b.quaternion], [a.spin, b.spin], step, u);
        let fovs = [[a.log_fov], [b.log_fov]];
        let [log_fov] = hermite(fovs, [[a.log_fov_slope], [b.log_fov_slope]], step, u);
        Pose {
            position,
            rotation: matrix(q, a.keyframe.pose.rotation),
            fov: log_fov.exp(),
        }
    }

    /// Times of the keyframes' clock between which the curve is one cubic, from 0 to the length.
    pub(crate) fn key_times(&self) -> Vec<f64> {
        let inside = |time: &f64| *time > 0.0 && *time < self.seconds;
        let inner = self.keys.iter().map(|key| key.keyframe.time).filter(inside);
        std::iter::once(0.0)
            .chain(inner)
            .chain([self.seconds])
            .collect()
    }

    fn segment(&self, time: f64) -> [&Key; 2] {
        let after = self.keys.partition_point(|key| key.keyframe.time <= time);
        let b = after.clamp(1, (self.keys.len() - 1).max(1));
        [&self.keys[b - 1], &self.keys[b.min(self.keys.len() - 1)]]
    }
}

/// The keyframes of an open path, from 0 to its end: it stays where the first and last are.
fn to_the_ends(keyframes: &[Keyframe], seconds: f64) -> Vec<Keyframe> {
    let mut all = keyframes.to_vec();
    if let Some(&first) = keyframes.first().filter(|first| first.time > 0.0) {
        all.insert(0, Keyframe { time: 0.0, ..first });
    }
    // Less than a nanosecond is a rounding of the file.
    if let Some(&last) = keyframes.last().filter(|last| last.time + 1e-9 < seconds) {
        all.push(Keyframe {
            time: seconds,
            ..last
        });
    }
    all
}

/// The keyframes of a looped path with two more on both sides, so that the splines close.
fn around(keyframes: &[Keyframe], seconds: f64) -> Vec<Keyframe> {
    let count = keyframes.len() as isize;
    (-2..count + 3)
        .map(|i| {
            let keyframe = keyframes[i.rem_euclid(count) as usize];
            let rounds = i.div_euclid(count) as f64;
            Keyframe {
                time: keyframe.time + rounds * seconds,
                ..keyframe
            }
        })
        .collect()
}

fn keys(keyframes: &[Keyframe]) -> Vec<Key> {
    let steps: Vec<f64> = keyframes
        .windows(2)
        .map(|w| w[1].time - w[0].time)
        .collect();
    let positions: Vec<[f64; 3]> = keyframes.iter().map(|k| k.pose.position).collect();
    let gaps: Vec<f64> = positions
        .windows(2)
        .map(|w| distance(w[0], w[1]).sqrt())
        .collect();
    let mut knots = vec![0.0];
    for gap in &gaps {
        knots.push(knots[knots.len() - 1] + gap);
    }
    let mut quaternions: Vec<[f64; 4]> = Vec::with_capacity(keyframes.len());
    for keyframe in keyframes {
        let q = quaternion_from_rotation(&keyframe.pose.rotation);
        quaternions.push(quaternions.last().map_or(q, |&before| nearer(q, before)));
    }
    let log_fovs: Vec<f64> = keyframes.iter().map(|k| k.pose.fov.ln()).collect();
    let tangents = catmull_rom(&positions, &gaps);
    let spins = catmull_rom(&quaternions, &steps);
    let knot_slopes = monotone(&knots, &steps);
    let fov_slopes = monotone(&log_fovs, &steps);
    (0..keyframes.len())
        .map(|i| {
            let rests = keyframes[i].easing == Easing::Rest;
            let moving = |slope: f64| if rests { 0.0 } else { slope };
            // Where the camera does not turn to one side of a key, it does not turn at it.
            let same = |j: usize| quaternions[i] == quaternions[j];
            let still = rests || (i > 0 && same(i - 1)) || (i + 1 < keyframes.len() && same(i + 1));
            Key {
                keyframe: keyframes[i],
                knot: knots[i],
                knot_slope: moving(knot_slopes[i]),
                tangent: tangents[i],
                quaternion: quaternions[i],
                spin: if still { [0.0; 4] } else { spins[i] },
                log_fov: log_fovs[i],
                log_fov_slope: moving(fov_slopes[i]),
            }
        })
        .collect()
}
