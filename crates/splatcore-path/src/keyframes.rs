//! Poses and keyframes: plain data.

use splatcore_core::Camera;
use splatcore_core::camera::{cross, dot, normalize};

/// A path has at most this many keyframes: an hour of 25 frames a second.
pub const MAX_KEYFRAMES: usize = 100_000;
/// Seconds from a keyframe to the next at least, and of a path: speeds stay finite.
const SHORTEST: f64 = 1e-9;
/// Seconds of a path at most.
const LONGEST: f64 = 1e9;

/// Where a camera is, where it looks, and how wide it sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// In the scene's axes and units.
    pub position: [f64; 3],
    /// The camera's right, down and forward as rows, in the scene's axes; orthonormal,
    /// right-handed. It is [`Camera::rotation`].
    pub rotation: [[f64; 3]; 3],
    /// Vertical field of view in radians, above 0 and below pi.
    pub fov: f64,
}

impl Pose {
    /// The pose of a camera whose pixels are taken as square, of the shape that they have along y.
    pub fn of_camera(camera: &Camera) -> Self {
        Self {
            position: camera.position(),
            rotation: camera.rotation,
            fov: 2.0 * camera.tan_half_fov()[1].atan(),
        }
    }

    /// A pose at `eye` that looks at `target`, `up` pointing up in the image.
    pub fn look_at(eye: [f64; 3], target: [f64; 3], up: [f64; 3], fov: f64) -> Self {
        let camera = Camera::look_at(eye, target, up, fov, 1, 1);
        Self {
            position: eye,
            rotation: camera.rotation,
            fov,
        }
    }

    /// The camera that renders the pose: square pixels, the principal point in the middle.
    pub fn camera(&self, width: u32, height: u32) -> Camera {
        let focal = height as f64 / (2.0 * (self.fov / 2.0).tan());
        let rows = self.rotation;
        Camera {
            rotation: rows,
            translation: rows.map(|row| -dot(row, self.position)),
            ..Camera::pinhole(width, height, focal)
        }
    }

    /// What makes the pose unusable, or `None`.
    pub fn defect(&self) -> Option<String> {
        if !self
            .position
            .iter()
            .all(|v| v.is_finite() && v.abs() <= 1e12)
        {
            return Some("the position is not finite, or beyond 1e12".into());
        }
        if !(self.fov > 0.0 && self.fov < std::f64::consts::PI) {
            let degrees = self.fov.to_degrees();
            return Some(format!(
                "a field of view of {degrees} degrees is not between 0 and 180"
            ));
        }
        self.camera(1, 1).defect()
    }

    /// The same pose with a rotation that is orthonormal to the last bits: files round.
    pub(crate) fn straightened(self) -> Self {
        let [_, down, forward] = self.rotation;
        let Some(forward) = normalize(forward) else {
            return self;
        };
        let along = dot(down, forward);
        let level = std::array::from_fn(|k| down[k] - along * forward[k]);
        let Some(down) = normalize(level) else {
            return self;
        };
        Self {
            rotation: [cross(down, forward), down, forward],
            ..self
        }
    }
}

/// How the camera moves at a keyframe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Easing {
    /// It passes through.
    #[default]
    Through,
    /// It slows to rest there, and starts again from rest.
    Rest,
    /// It stays there until the time of the next keyframe, then jumps to that.
    Hold,
}

impl Easing {
    /// As in our own files.
    pub fn name(self) -> &'static str {
        match self {
            Easing::Through => "through",
            Easing::Rest => "rest",
            Easing::Hold => "hold",
        }
    }
}

/// A pose at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// Seconds from the start of the path.
    pub time: f64,
    /// The pose then.
    pub pose: Pose,
    /// How the camera moves there.
    pub easing: Easing,
}

/// A path of keyframes.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraPath {
    /// At least one, their times from 0 on and increasing.
    pub keyframes: Vec<Keyframe>,
    /// Length in seconds, above 0, not before the last keyframe. An open path stays at its last
    /// keyframe for the rest; a looped one moves back to the first.
    pub seconds: f64,
    /// Whether the path closes: its end is its start, so the last keyframe lies before its end.
    pub looped: bool,
    /// Frames per second that its file asks for.
    pub fps: Option<f64>,
    /// Width and height in pixels that its file asks for.
    pub size: Option<[u32; 2]>,
}

impl CameraPath {
    /// A path through poses at equal times: an open one starts at the first and ends at the last,
    /// a looped one ends where it started.
    ///
    /// # Panics
    /// If there is no pose.
    pub fn through(poses: &[Pose], seconds: f64, looped: bool) -> Self {
        assert!(!poses.is_empty(), "a path needs a pose");
        let steps = if looped {
            poses.len()
        } else {
            (poses.len() - 1).max(1)
        };
        let keyframe = |(i, &pose): (usize, &Pose)| Keyframe {
            time: seconds * i as f64 / steps as f64,
            pose,
            easing: Easing::Through,
        };
        Self {
            keyframes: poses.iter().enumerate().map(keyframe).collect(),
            seconds,
            looped,
            fps: None,
            size: None,
        }
    }

    /// The same path, faster or slower.
    #[must_use]
    pub fn with_seconds(mut self, seconds: f64) -> Self {
        let factor = seconds / self.seconds;
        for keyframe in &mut self.keyframes {
            keyframe.time = (keyframe.time * factor).min(seconds);
        }
        self.seconds = seconds;
        self
    }

    /// The same path, closed: an open one gets a way back to its start, which takes the mean time
    /// between two keyframes. A path of one keyframe stays as it is.
    #[must_use]
    pub fn closed(mut self) -> Self {
        let count = self.keyframes.len();
        if !self.looped && count > 1 {
            let last = self.keyframes[count - 1].time;
            let mean = (last - self.keyframes[0].time) / (count - 1) as f64;
            self.seconds = self.seconds.max(last + mean);
            self.looped = true;
        }
        self
    }

    /// What makes the path unusable: which keyframe, if it is one, and why.
    pub fn defect(&self) -> Option<(Option<usize>, String)> {
        if self.keyframes.is_empty() {
            return Some((None, "there is no keyframe".into()));
        }
        if self.keyframes.len() > MAX_KEYFRAMES {
            return Some((
                None,
                format!("there are more than {MAX_KEYFRAMES} keyframes"),
            ));
        }
        let mut before = f64::NEG_INFINITY;
        for (i, keyframe) in self.keyframes.iter().enumerate() {
            let time = keyframe.time;
            if !(time.is_finite() && time >= 0.0 && time >= before + SHORTEST) {
                let why = format!(
                    "its time {time:?} is not {SHORTEST:?} s or more after that of the keyframe \
                     before"
                );
                return Some((Some(i), why));
            }
            if let Some(defect) = keyframe.pose.defect() {
                return Some((Some(i), defect));
            }
            before = time;
        }
        let end = self.seconds;
        let ends_late = if self.looped && self.keyframes.len() > 1 {
            end >= before + SHORTEST
        } else {
            end >= before
        };
        if !(SHORTEST..=LONGEST).contains(&end) {
            let why = format!("its length of {end:?} s is not from {SHORTEST:?} to {LONGEST:e} s");
            return Some((None, why));
        }
        if !ends_late {
            let why = format!("its length of {end:?} s does not reach past its last keyframe");
            return Some((None, why));
        }
        None
    }
}
