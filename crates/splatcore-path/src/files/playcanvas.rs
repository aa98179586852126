//! What the files of PlayCanvas' programs share: their space, and the spline of their tracks.
//!
//! PlayCanvas has x right, y up, z towards the viewer. Its programs show a scene turned by 180
//! degrees about z (supersplat-viewer 1.36.2 sets the entity's angles to 0, 0, 180), so (x, y, z)
//! there is (-x, -y, z) in the scene. A camera looks from `position` to `target` with y up, and has
//! no roll. Fields of view are vertical, in degrees, as the schema of the settings says.

use super::fields::Field;
use crate::spline::hermite;
use crate::{CameraPath, Easing, Keyframe, MAX_KEYFRAMES, PathError, Pose};

/// Up in the scene's axes.
pub const UP: [f64; 3] = [0.0, -1.0, 0.0];

/// Between a place in PlayCanvas' space and in the scene; its own inverse.
pub fn turned([x, y, z]: [f64; 3]) -> [f64; 3] {
    [-x, -y, z]
}

/// Position, target and vertical field of view (radians) in one.
type Values = [f64; 7];

/// A key of a track; the time is in frames.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub time: f64,
    pub position: [f64; 3],
    pub target: [f64; 3],
    pub fov: f64,
}

/// A track between keys.
#[derive(Clone, Debug)]
pub struct Track {
    /// By time, at least one.
    pub keys: Vec<Key>,
    pub frame_rate: f64,
    /// Frames 0 and on are shown.
    pub frames: f64,
    /// Frames after which the track begins again, if its spline is closed.
    pub period: Option<f64>,
    /// Whether the frames that are shown end where they begin.
    pub looped: bool,
    /// Tangents are those of Catmull-Rom times this.
    pub smoothness: f64,
    /// Keys are held until the next.
    pub stepped: bool,
}

impl Track {
    /// The track as a path: a keyframe for each of its frames, since its curve is another than
    /// ours. `field` is for messages.
    pub fn path(&self, field: &Field) -> Result<CameraPath, PathError> {
        let count = self.frames.round();
        if !(count >= 1.0 && count <= MAX_KEYFRAMES as f64) {
            let problem = format!("the track has {count} frames, 1 to {MAX_KEYFRAMES} are read");
            return Err(field.error(problem, "correct its length or frame rate"));
        }
        let count = count as usize;
        let keys = self.all_keys();
        let mut poses = Vec::with_capacity(count);
        for frame in 0..count {
            let [px, py, pz, tx, ty, tz, fov] = self.at(&keys, frame as f64);
            let (position, target) = (turned([px, py, pz]), turned([tx, ty, tz]));
            if position == target {
                let problem = format!("at frame {frame} the camera is where it looks");
                return Err(field.error(problem, "move the target away from the position"));
            }
            poses.push(Pose::look_at(position, target, UP, fov));
        }
        let mut path = CameraPath::through(&poses, count as f64 / self.frame_rate, self.looped);
        path.fps = Some(self.frame_rate);
        if self.stepped {
            hold(&mut path.keyframes);
        }
        Ok(path)
    }

    /// The keys, and for a closed spline two more on both sides.
    fn all_keys(&self) -> Vec<(f64, Values)> {
        let values = |key: &Key| {
            let ([a, b, c], [d, e, f]) = (key.position, key.target);
            [a, b, c, d, e, f, key.fov]
        };
        let keys = self.keys.iter().map(|key| (key.time, values(key)));
        let Some(period) = self.period.filter(|_| self.keys.len() > 1 && !self.stepped) else {
            return keys.collect();
        };
        let keys: Vec<_> = keys.collect();
        let moved = |(time, values): (f64, Values), by: f64| (time + by, values);
        let last = keys.len() - 2;
        let before = keys[last..].iter().map(|&key| moved(key, -period));
        let after = keys[..2].iter().map(|&key| moved(key, period));
        before.chain(keys.iter().copied()).chain(after).collect()
    }

    /// Hermite curves between keys, with tangents from the neighbours on both sides.
    fn at(&self, keys: &[(f64, Values)], frame: f64) -> Values {
        let after = keys.partition_point(|(time, _)| *time <= frame);
        if after == 0 || after == keys.len() || self.stepped {
            return keys[after.saturating_sub(1)].1;
        }
        let (a, b) = (after - 1, after);
        let tangent = |i: usize| -> Values {
            let (first, last) = (i.saturating_sub(1), (i + 1).min(keys.len() - 1));
            let time = keys[last].0 - keys[first].0;
            std::array::from_fn(|k| self.smoothness * (keys[last].1[k] - keys[first].1[k]) / time)
        };
        let step = keys[b].0 - keys[a].0;
        hermite(
            [keys[a].1, keys[b].1],
            [tangent(a), tangent(b)],
            step,
            (frame - keys[a].0) / step,
        )
    }
}

/// Marks keyframes that the next one jumps away from.
fn hold(keyframes: &mut [Keyframe]) {
    for keyframe in keyframes {
        keyframe.easing = Easing::Hold;
    }
}
