//! An ellipse through the cameras of a dataset.

use super::AROUND;
use crate::linear::{principal_axes, solve};
use crate::{CameraPath, PathError, Pose};
use splatcore_core::camera::{dot, normalize, sub};
use splatcore_core::linear::nearest_to_lines;
use splatcore_core::ranked::{median, percentile};

/// Of the distances of cameras from the focus along an axis, this share lies within the ellipse.
const WITHIN: f64 = 0.9;
/// Steps along the ellipse by which its length is measured.
const FINE: usize = 4096;

/// A looped path on an ellipse through training cameras, looking at their common focus at equal
/// speed, as papers show captures that go around something (Barron et al. 2022, Mip-NeRF 360, whose
/// released code does so): the plane is that of the cameras' principal axes at their median height;
/// half axes are the 90th percentile of the cameras' distances from the focus along each. `up`, if
/// given, takes the place of the plane's normal. The field of view is the cameras' median.
///
/// # Errors
/// If there are fewer than three cameras, or they stand in one place or on one line.
pub fn ellipse(
    cameras: &[Pose],
    up: Option<[f64; 3]>,
    seconds: f64,
) -> Result<CameraPath, PathError> {
    if cameras.len() < 3 {
        let problem = format!(
            "an ellipse needs three cameras, there are {}",
            cameras.len()
        );
        return Err(PathError::made(
            problem,
            "take a dataset with more, or an orbit",
        ));
    }
    let focus = focus_of(cameras);
    let count = cameras.len() as f64;
    let mean = std::array::from_fn(|k| cameras.iter().map(|c| c.position[k]).sum::<f64>() / count);
    let positions: Vec<[f64; 3]> = cameras.iter().map(|camera| camera.position).collect();
    let mean_up: [f64; 3] =
        std::array::from_fn(|k| -cameras.iter().map(|c| c.rotation[1][k]).sum::<f64>() / count);
    let [longest, second, normal] = principal_axes(&positions, mean);
    let spread = |axis: [f64; 3]| {
        positions
            .iter()
            .fold(0.0, |most: f64, &p| most.max(dot(sub(p, mean), axis).abs()))
    };
    let on_a_line = spread(second) <= 1e-6 * spread(longest);
    let upwards = match up.and_then(normalize) {
        Some(up) => up,
        None if dot(normal, mean_up) < 0.0 => normal.map(|v| -v),
        None => normal,
    };
    // The axes of the cameras' places on the plane.
    let flat = |p: [f64; 3]| -> [f64; 3] {
        let height = dot(sub(p, focus), upwards);
        std::array::from_fn(|k| p[k] - height * upwards[k])
    };
    let flattened: Vec<[f64; 3]> = positions.iter().map(|&p| flat(p)).collect();
    let [a, b, _] = principal_axes(&flattened, flat(mean));
    let half = |axis: [f64; 3]| {
        let distances = positions.iter().map(|&p| dot(sub(p, focus), axis).abs());
        percentile(distances, WITHIN).unwrap_or(0.0)
    };
    let (wide, narrow) = (half(a), half(b));
    if on_a_line || !(narrow > 1e-6 * wide && wide > 0.0) {
        let problem = "the cameras stand in one place or on one line, so no ellipse goes through";
        return Err(PathError::made(
            problem,
            "take a path through the cameras, or an orbit",
        ));
    }
    let heights = positions.iter().map(|&p| dot(sub(p, focus), upwards));
    let height = median(heights).unwrap_or(0.0);
    let fov = median(cameras.iter().map(|camera| camera.fov)).unwrap_or(0.0);
    let eye = |angle: f64| -> [f64; 3] {
        let (sin, cos) = angle.sin_cos();
        std::array::from_fn(|k| {
            focus[k] + wide * cos * a[k] + narrow * sin * b[k] + height * upwards[k]
        })
    };
    let poses: Vec<Pose> = equal_steps(wide, narrow)
        .into_iter()
        .map(|angle| Pose::look_at(eye(angle), focus, upwards, fov))
        .collect();
    Ok(CameraPath::through(&poses, seconds, true))
}

/// The point nearest to the lines of sight of all cameras, by least squares; if these are parallel,
/// the point before the cameras' mean as far away as they are from it on average, or 1 scene unit.
pub fn focus_of(cameras: &[Pose]) -> [f64; 3] {
    let lines: Vec<_> = cameras
        .iter()
        .map(|camera| [camera.position, camera.rotation[2]])
        .collect();
    let (a, b) = nearest_to_lines(&lines);
    if let Some(focus) = solve(a, b) {
        return focus;
    }
    let count = (cameras.len() as f64).max(1.0);
    let (mut mean, mut forward) = ([0.0; 3], [0.0; 3]);
    for [p, d] in lines {
        for i in 0..3 {
            mean[i] += p[i] / count;
            forward[i] += d[i] / count;
        }
    }
    let spread = cameras
        .iter()
        .map(|c| crate::linear::distance(c.position, mean))
        .sum::<f64>();
    let ahead = if spread > 0.0 { spread / count } else { 1.0 };
    std::array::from_fn(|k| mean[k] + ahead * forward[k])
}

/// Angles at which an ellipse is cut into pieces of one length.
fn equal_steps(wide: f64, narrow: f64) -> Vec<f64> {
    let angle = |i: usize| i as f64 / FINE as f64 * std::f64::consts::TAU;
    let point = |i: usize| [wide * angle(i).cos(), narrow * angle(i).sin()];
    let mut lengths = vec![0.0];
    for i in 0..FINE {
        let ([x0, y0], [x1, y1]) = (point(i), point(i + 1));
        lengths.push(lengths[i] + (x1 - x0).hypot(y1 - y0));
    }
    let whole = lengths[FINE];
    (0..AROUND)
        .map(|i| {
            let wanted = whole * i as f64 / AROUND as f64;
            let after = lengths.partition_point(|&l| l <= wanted).clamp(1, FINE);
            let rest = (wanted - lengths[after - 1]) / (lengths[after] - lengths[after - 1]);
            angle(after - 1) + rest * angle(1)
        })
        .collect()
}
