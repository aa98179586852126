//! A spline through cameras.

use crate::linear::distance;
use crate::{CameraPath, Keyframe, MAX_KEYFRAMES, PathError, Pose};

/// A path through cameras in their order, the times between two as their distances, so that the
/// speed changes little. Cameras that stand where the one before stands take the mean time.
///
/// # Errors
/// If there is no camera, or more than [`MAX_KEYFRAMES`].
pub fn through(cameras: &[Pose], seconds: f64, looped: bool) -> Result<CameraPath, PathError> {
    if cameras.is_empty() || cameras.len() > MAX_KEYFRAMES {
        let problem = format!("a path cannot go through {} cameras", cameras.len());
        return Err(PathError::made(
            problem,
            format!("take 1 to {MAX_KEYFRAMES}"),
        ));
    }
    let looped = looped && cameras.len() > 1;
    let mut path = CameraPath::through(cameras, seconds, looped);
    let next = |i: usize| cameras[(i + 1) % cameras.len()].position;
    let steps = if looped {
        cameras.len()
    } else {
        cameras.len() - 1
    };
    let gaps: Vec<f64> = (0..steps)
        .map(|i| distance(cameras[i].position, next(i)))
        .collect();
    let moving = gaps.iter().filter(|&&gap| gap > 0.0).count();
    if moving == 0 {
        return Ok(path);
    }
    let mean = gaps.iter().sum::<f64>() / moving as f64;
    // No step is so short that a camera would have to be in two places at nearly one time.
    let weight = |gap: f64| {
        if gap > 0.0 {
            gap.max(1e-6 * mean)
        } else {
            mean
        }
    };
    let whole: f64 = gaps.iter().map(|&gap| weight(gap)).sum();
    let mut time = 0.0;
    for (keyframe, i) in path.keyframes.iter_mut().zip(0..) {
        *keyframe = Keyframe {
            time: f64::min(time, seconds),
            ..*keyframe
        };
        time += gaps
            .get(i)
            .map_or(0.0, |&gap| seconds * weight(gap) / whole);
    }
    Ok(path)
}
