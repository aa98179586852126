//! Where the cameras stand and look.

use splatcore_core::camera::{dot, normalize, rotation_from_quaternion};
use splatcore_core::linear::eigen;
use splatcore_data::dataset::colmap::ColmapImage;

/// Cameras are on a line if their spread across it is below this share of that along it.
const THIN: f64 = 0.03;
/// Cameras look from one side if none looks further than this from the mean direction, in degrees.
const ONE_SIDE: f64 = 35.0;
/// With fewer cameras nothing is said.
const ENOUGH: usize = 5;

/// How the cameras are spread.
pub struct Shape {
    line: bool,
    one_side: bool,
}

impl Shape {
    pub fn of(images: &[ColmapImage]) -> Self {
        let poses: Vec<([f64; 3], [f64; 3])> = images.iter().filter_map(pose).collect();
        if poses.len() < ENOUGH {
            return Self {
                line: false,
                one_side: false,
            };
        }
        let (positions, directions): (Vec<_>, Vec<_>) = poses.into_iter().unzip();
        Self {
            line: on_a_line(&positions),
            one_side: widest_angle(&directions).is_some_and(|angle| angle < ONE_SIDE),
        }
    }

    pub fn advice(&self) -> impl Iterator<Item = &'static str> {
        let line = "all cameras stand on a line: take photos from above and below it too, else \
                    depth is uncertain";
        let side = "all photos look from one side: the scene will look right from there only; for \
                    more walk around it";
        [(self.line, line), (self.one_side, side)]
            .into_iter()
            .filter_map(|(is, advice)| is.then_some(advice))
    }
}

/// Position and viewing direction of a camera, in the world.
fn pose(image: &ColmapImage) -> Option<([f64; 3], [f64; 3])> {
    let r = rotation_from_quaternion(image.quaternion)?;
    let t = image.translation;
    let column = |i: usize| [r[0][i], r[1][i], r[2][i]];
    let position: [f64; 3] = std::array::from_fn(|i| -dot(column(i), t));
    position
        .iter()
        .all(|v| v.is_finite())
        .then_some((position, r[2]))
}

/// Compares the standard deviations along the principal axes.
fn on_a_line(positions: &[[f64; 3]]) -> bool {
    let count = positions.len() as f64;
    let mean: [f64; 3] =
        std::array::from_fn(|i| positions.iter().map(|p| p[i]).sum::<f64>() / count);
    let mut covariance = [[0.0; 3]; 3];
    for p in positions {
        for i in 0..3 {
            for j in 0..3 {
                covariance[i][j] += (p[i] - mean[i]) * (p[j] - mean[j]) / count;
            }
        }
    }
    let (values, _) = eigen(covariance);
    let mut spread = values.map(|v| v.max(0.0).sqrt());
    spread.sort_by(f64::total_cmp);
    spread[2] > 0.0 && spread[1] < THIN * spread[2]
}

/// The largest angle between a direction and their mean, in degrees; `None` if they have no mean.
fn widest_angle(directions: &[[f64; 3]]) -> Option<f64> {
    let sum = std::array::from_fn(|i| directions.iter().map(|d| d[i]).sum());
    let mean = normalize(sum)?;
    let angle = |d: &[f64; 3]| dot(*d, mean).clamp(-1.0, 1.0).acos().to_degrees();
    directions.iter().map(angle).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A camera at a place, turned about y by an angle in degrees.
    fn camera([x, y, z]: [f64; 3], degrees: f64) -> ColmapImage {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let (half_sin, half_cos) = (degrees.to_radians() / 2.0).sin_cos();
        // R = [[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]], t = -R c.
        ColmapImage {
            id: 1,
            name: "a".into(),
            camera: 1,
            quaternion: [half_cos, 0.0, half_sin, 0.0],
            translation: [-(cos * x + sin * z), -y, -(-sin * x + cos * z)],
        }
    }

    #[test]
    fn lines_and_single_sides_are_noticed() {
        let line: Vec<_> = (0..9)
            .map(|i| camera([i as f64, 0.02, 2.0 * i as f64], 0.0))
            .collect();
        let shape = Shape::of(&line);
        assert!(shape.line && shape.one_side);
        assert_eq!(shape.advice().count(), 2);
        let wall: Vec<_> = (0..9)
            .map(|i| {
                camera(
                    [(i % 3) as f64, (i / 3) as f64, 0.0],
                    10.0 * i as f64 - 40.0,
                )
            })
            .collect();
        let shape = Shape::of(&wall);
        assert!(!shape.line && !shape.one_side, "40 degrees to both sides");
        let wall: Vec<_> = (0..9)
            .map(|i| camera([(i % 3) as f64, (i / 3) as f64, 0.0], 8.0 * i as f64 - 32.0))
            .collect();
        assert!(Shape::of(&wall).one_side);
        assert_eq!(Shape::of(&line[..4]).advice().count(), 0);
    }

    #[test]
    fn a_pose_is_position_and_direction() {
        let (position, direction) = pose(&camera([3.0, -1.0, 2.0], 30.0)).unwrap();
        for (found, wanted) in position.iter().zip([3.0, -1.0, 2.0]) {
            assert!((found - wanted).abs() < 1e-12);
        }
        let wanted = [-0.5, 0.0, 0.75f64.sqrt()];
        for (found, wanted) in direction.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-12, "{direction:?}");
        }
    }
}
