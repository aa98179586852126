//! Paths and comparisons that tests share.

use splatcore_core::random::Rng;
use splatcore_path::{CameraPath, Easing, Keyframe, Pose};

/// A path with uneven times and distances, turns, zooms and a roll.
pub fn winding(seed: u64, count: usize, looped: bool) -> CameraPath {
    let mut rng = Rng::new(seed, 0);
    let mut number = move || f64::from(rng.normal());
    let mut time = 0.0;
    let mut keyframes = Vec::new();
    for i in 0..count {
        let eye = [4.0 * number(), 4.0 * number(), 4.0 * number()];
        let target = [0.3 * number(), 0.3 * number(), 0.3 * number()];
        let up = [0.2 * number(), -1.0, 0.2 * number()];
        let pose = Pose::look_at(eye, target, up, 0.9 * (0.2 * number()).exp());
        keyframes.push(Keyframe {
            time,
            pose,
            easing: Easing::Through,
        });
        time += if i % 3 == 0 { 0.7 } else { 1.9 };
    }
    let last = keyframes[count - 1].time;
    let seconds = if looped { time } else { last.max(0.5) };
    CameraPath {
        keyframes,
        seconds,
        looped,
        fps: None,
        size: None,
    }
}

/// All numbers of a pose.
pub fn numbers(pose: &Pose) -> Vec<f64> {
    let rotation = pose.rotation.into_iter().flatten();
    pose.position
        .into_iter()
        .chain(rotation)
        .chain([pose.fov])
        .collect()
}

/// The largest difference between two poses' numbers.
pub fn difference(a: &Pose, b: &Pose) -> f64 {
    let pairs = numbers(a).into_iter().zip(numbers(b));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
