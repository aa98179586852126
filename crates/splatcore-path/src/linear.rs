//! Small linear algebra: a 3x3 system, and the axes of a cloud of points.

use splatcore_core::camera::{cross, dot, normalize};
use splatcore_core::linear::eigen;

/// `x` with `a x = b`, by Cramer's rule; `None` if `a` (rows) is singular within 1e-12 of its size.
pub fn solve(a: [[f64; 3]; 3], b: [f64; 3]) -> Option<[f64; 3]> {
    let columns: [[f64; 3]; 3] = std::array::from_fn(|j| std::array::from_fn(|i| a[i][j]));
    let det = |m: [[f64; 3]; 3]| dot(m[0], cross(m[1], m[2]));
    let size = a
        .iter()
        .flatten()
        .fold(0.0_f64, |most, v| most.max(v.abs()));
    let whole = det(columns);
    if whole.is_nan() || whole.abs() <= 1e-12 * size.powi(3) {
        return None;
    }
    Some(std::array::from_fn(|k| {
        let mut replaced = columns;
        replaced[k] = b;
        det(replaced) / whole
    }))
}

/// Unit axes of a cloud of points about a centre, from the widest to the narrowest spread:
/// eigenvectors of the covariance.
pub fn principal_axes(points: &[[f64; 3]], centre: [f64; 3]) -> [[f64; 3]; 3] {
    let mut a = [[0.0; 3]; 3];
    for point in points {
        let d: [f64; 3] = std::array::from_fn(|k| point[k] - centre[k]);
        for i in 0..3 {
            for j in 0..3 {
                a[i][j] += d[i] * d[j];
            }
        }
    }
    let (values, vectors) = eigen(a);
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    order.map(|k| normalize(vectors[k]).unwrap_or([0.0; 3]))
}

/// The distance of two points.
pub fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn a_system_is_solved() {
        let a = [[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 1.0]];
        let x = solve(a, [4.0, 9.0, 4.0]).unwrap();
        assert!(
            x.iter()
                .zip([1.0, 2.0, 3.0])
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        assert_eq!(
            solve(
                [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]],
                [1.0; 3]
            ),
            None
        );
    }

    #[test]
    fn axes_of_a_flat_cloud() {
        let mut rng = Rng::new(3, 0);
        let [wide, narrow, flat] = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
        let points: Vec<[f64; 3]> = (0..2000)
            .map(|_| {
                let [a, b, c] = [5.0, 2.0, 0.01].map(|scale| scale * f64::from(rng.normal()));
                std::array::from_fn(|k| a * wide[k] + b * narrow[k] + c * flat[k] + 7.0)
            })
            .collect();
        let axes = principal_axes(&points, [7.0; 3]);
        for (found, wanted) in axes.into_iter().zip([wide, narrow, flat]) {
            assert!(dot(found, wanted).abs() > 0.99, "{found:?}");
        }
    }
}
