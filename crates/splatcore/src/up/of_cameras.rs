//! Up, from the cameras of photos.
//!
//! The mean of the cameras' up directions is tilted where all photos look down, or to one side. The
//! cameras' right directions are not: whoever holds a camera level has them in the plane of the
//! ground, wherever the camera looks. So up is the direction along which they vary least.

use splatcore_core::camera::{dot, normalize};
use splatcore_path::principal_axes;

/// A camera whose right direction is this far off the plane counts half (sine of the angle).
const OFF: f64 = 0.15;
/// Rounds of the fit, each without the weight of cameras that are far off.
const ROUNDS: usize = 8;
/// Right directions lie in a plane if their variance across it is this share of the smaller one
/// along it.
const FLAT: f64 = 0.2;
/// They make a plane, not a line, if their variance along its narrower side is at least this.
const WIDE: f64 = 0.005;
/// A mean of unit vectors that is shorter than this says nothing.
const SHORT: f64 = 0.3;

/// What cameras have in common.
pub(super) struct Shared {
    /// The direction that is up for most of them, of unit length.
    pub up: [f64; 3],
    /// They look around, so that their right directions tell all of it. If not, they look the same
    /// way, and it is not known how far up or down.
    pub all_around: bool,
    /// Their right directions, each times the root of its weight.
    pub rights: Vec<[f64; 3]>,
}

/// The direction that is up for most cameras, of unit length, by their world-to-camera rotations;
/// none if they have none in common.
pub fn of_cameras(rotations: &[[[f64; 3]; 3]]) -> Option<[f64; 3]> {
    shared(rotations).map(|shared| shared.up)
}

/// As [`of_cameras`], with how it is known.
pub(super) fn shared(rotations: &[[[f64; 3]; 3]]) -> Option<Shared> {
    let count = rotations.len() as f64;
    let mean = |axis: usize| -> [f64; 3] {
        std::array::from_fn(|k| rotations.iter().map(|r| r[axis][k]).sum::<f64>() / count)
    };
    if rotations.is_empty() {
        return None;
    }
    let (up, forward) = (mean(1).map(|v| -v), mean(2));
    let (rights, normal) = plane(rotations);
    let Some(normal) = normal else {
        // All look the same way: their mean is what they share.
        return Some(Shared {
            up: normalize(up).filter(|_| dot(up, up).sqrt() > SHORT)?,
            all_around: false,
            rights,
        });
    };
    let along = dot(up, normal);
    // Where photos look straight down, none has an up: what they look away from is up.
    let along = match along.abs() > SHORT / 2.0 {
        true => along,
        false => -dot(forward, normal),
    };
    Some(Shared {
        up: match along < 0.0 {
            true => normal.map(|v| -v),
            false => normal,
        },
        all_around: true,
        rights,
    })
}

/// The weighted right directions, and the normal of the plane that most of them lie in, if they
/// make one.
fn plane(rotations: &[[[f64; 3]; 3]]) -> (Vec<[f64; 3]>, Option<[f64; 3]>) {
    let mut weights = vec![1.0; rotations.len()];
    let weighted = |weights: &[f64]| -> Vec<[f64; 3]> {
        let both = rotations.iter().zip(weights);
        both.map(|(r, weight)| r[0].map(|v| v * weight.sqrt()))
            .collect()
    };
    let mut axes = [[0.0; 3]; 3];
    for _ in 0..ROUNDS {
        axes = principal_axes(&weighted(&weights), [0.0; 3]);
        for (weight, rotation) in weights.iter_mut().zip(rotations) {
            *weight = 1.0 / (1.0 + (dot(rotation[0], axes[2]) / OFF).powi(2));
        }
    }
    let rights = weighted(&weights);
    let variance = |axis: [f64; 3]| {
        let sum: f64 = rights.iter().map(|right| dot(*right, axis).powi(2)).sum();
        sum / weights.iter().sum::<f64>()
    };
    let (along, across) = (variance(axes[1]), variance(axes[2]));
    let normal = (along > WIDE && across < FLAT * along).then_some(axes[2]);
    (rights, normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Camera;
    use splatcore_core::camera::cross;
    use splatcore_core::random::Rng;

    const UP: [f64; 3] = [0.36, -0.48, 0.8];

    fn angle(found: [f64; 3]) -> f64 {
        dot(found, UP).clamp(-1.0, 1.0).acos().to_degrees()
    }

    /// Cameras that stand at angles around a point and look down by others, upright but for a roll.
    fn cameras(angles: impl Iterator<Item = f64>, down: f64, roll: f64) -> Vec<[[f64; 3]; 3]> {
        let [a, b] = super::super::ground(UP);
        let mut rng = Rng::new(5, 0);
        let camera = |angle: f64| {
            let (sin, cos) = angle.sin_cos();
            let (sin_d, cos_d) = down.sin_cos();
            let eye = std::array::from_fn(|k| cos_d * (cos * a[k] + sin * b[k]) + sin_d * UP[k]);
            let [right, down, forward] = Camera::look_at(eye, [0.0; 3], UP, 0.8, 8, 8).rotation;
            let (s, c) = (roll * f64::from(rng.normal())).sin_cos();
            let right = std::array::from_fn(|k| c * right[k] + s * down[k]);
            [right, cross(forward, right), forward]
        };
        angles.map(camera).collect()
    }

    #[test]
    fn photos_of_one_side_that_look_down_do_not_tilt_up() {
        // A third of a circle, 35 degrees from above, held level within two degrees.
        let tilted = cameras((0..30).map(|i| f64::from(i) * 0.07), 0.6, 0.035);
        let found = angle(of_cameras(&tilted).unwrap());
        assert!(found < 3.0, "{found:.1} degrees");
        let mean = std::array::from_fn(|k| -tilted.iter().map(|r| r[1][k]).sum::<f64>());
        let mean = angle(normalize(mean).unwrap());
        assert!(mean > 25.0, "the mean is {mean:.1} degrees off");
    }

    #[test]
    fn some_upright_photos_among_others_change_little() {
        let mut mixed = cameras((0..40).map(|i| f64::from(i) * 0.157), 0.3, 0.03);
        for rotation in mixed.iter_mut().step_by(4) {
            let [right, down, forward] = *rotation;
            *rotation = [down, right.map(|v| -v), forward];
        }
        let found = angle(of_cameras(&mixed).unwrap());
        assert!(found < 3.0, "{found:.1} degrees");
    }

    #[test]
    fn a_drone_that_looks_down_looks_away_from_up() {
        let nadir = cameras((0..20).map(|i| f64::from(i) * 0.314), 1.55, 0.0);
        let found = angle(of_cameras(&nadir).unwrap());
        assert!(found < 3.0, "{found:.1} degrees");
    }

    #[test]
    fn photos_of_one_direction_share_their_mean() {
        let same = cameras((0..9).map(|_| 0.5), 0.0, 0.05);
        assert!(angle(of_cameras(&same).unwrap()) < 5.0);
        assert_eq!(of_cameras(&[]), None);
    }
}
