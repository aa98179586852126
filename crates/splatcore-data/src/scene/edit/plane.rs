//! The plane through points.

use splatcore_core::camera::{cross, dot, normalize, sub};
use splatcore_core::linear::eigen;

/// Rounds in which points far from the plane are left out.
const ROUNDS: usize = 3;
/// Points farther from the plane than this many standard deviations are left out.
const FAR: f64 = 2.5;

/// The normal, unit length, of the plane that lies nearest to points by least squares, without
/// outliers, on the side of `towards`. None of fewer than three points, or of points on a line.
pub fn normal_of(points: &[[f64; 3]], towards: [f64; 3]) -> Option<[f64; 3]> {
    let mut kept: Vec<[f64; 3]> = points.to_vec();
    let mut normal = fit(&kept)?;
    for _ in 1..ROUNDS {
        let (centre, axis) = normal;
        let distance = |p: &[f64; 3]| dot(sub(*p, centre), axis);
        let squares: f64 = kept.iter().map(|p| distance(p).powi(2)).sum();
        let limit = FAR * (squares / kept.len() as f64).sqrt();
        kept.retain(|p| distance(p).abs() <= limit);
        normal = fit(&kept).unwrap_or(normal);
    }
    let (centre, axis) = normal;
    let sign = if dot(sub(towards, centre), axis) < 0.0 {
        -1.0
    } else {
        1.0
    };
    Some(axis.map(|v| sign * v))
}

/// The normal of the plane through three points, from whose side they lie counter-clockwise. None
/// if they are on a line.
pub fn normal_of_three([a, b, c]: [[f64; 3]; 3]) -> Option<[f64; 3]> {
    let (u, v) = (normalize(sub(b, a))?, normalize(sub(c, a))?);
    let normal = cross(u, v);
    // The sine of the angle at the first point.
    (dot(normal, normal).sqrt() > 1e-6)
        .then(|| normalize(normal))
        .flatten()
}

/// Centre and normal.
fn fit(points: &[[f64; 3]]) -> Option<([f64; 3], [f64; 3])> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let centre: [f64; 3] =
        std::array::from_fn(|c| points.iter().map(|p| p[c]).sum::<f64>() / count);
    let mut covariance = [[0.0; 3]; 3];
    for p in points {
        let d = sub(*p, centre);
        for i in 0..3 {
            for j in 0..3 {
                covariance[i][j] += d[i] * d[j] / count;
            }
        }
    }
    let (values, vectors) = eigen(covariance);
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    // Points on a line have two small variances, which leave the normal open.
    let spread = values[order[2]];
    if !(spread > 0.0 && values[order[1]] > 1e-9 * spread) {
        return None;
    }
    normalize(vectors[order[0]]).map(|normal| (centre, normal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn a_plane_with_noise_and_outliers_is_found() {
        let mut rng = Rng::new(1, 0);
        let normal = normalize([0.3, -1.0, 0.2]).unwrap();
        let (u, v) = (
            normalize(cross(normal, [1.0, 0.0, 0.0])).unwrap(),
            normalize(cross(normal, [0.0, 0.0, 1.0])).unwrap(),
        );
        let mut points: Vec<[f64; 3]> = (0..2000)
            .map(|_| {
                let [a, b, n] = [4.0, 3.0, 0.02].map(|s| s * f64::from(rng.normal()));
                std::array::from_fn(|c| 5.0 + a * u[c] + b * v[c] + n * normal[c])
            })
            .collect();
        points.extend((0..40).map(|i| [5.0, 2.0 - 0.05 * f64::from(i), 5.0]));
        for (towards, sign) in [([5.0, -50.0, 5.0], 1.0), ([5.0, 50.0, 5.0], -1.0)] {
            let found = normal_of(&points, towards).unwrap();
            assert!(sign * dot(found, normal) > 0.9999, "{found:?}");
        }
    }

    #[test]
    fn what_has_no_plane_has_no_normal() {
        let line: Vec<[f64; 3]> = (0..9)
            .map(|i| [f64::from(i), 2.0 * f64::from(i), 0.0])
            .collect();
        assert_eq!(normal_of(&line, [0.0; 3]), None);
        assert_eq!(normal_of(&line[..2], [0.0; 3]), None);
        assert_eq!(normal_of(&[[1.0; 3]; 5], [0.0; 3]), None);
        assert_eq!(normal_of_three([line[0], line[1], line[2]]), None);
        let floor = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(normal_of_three(floor), Some([0.0, -1.0, 0.0]));
    }
}
