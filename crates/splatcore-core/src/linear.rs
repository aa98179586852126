//! Small linear algebra: the quaternion of a rotation, eigenvalues of symmetric matrices, the point
//! nearest to lines, points near a plane.

use crate::camera::{dot, sub};

/// Unit quaternion `w, x, y, z`, with w not negative, of a rotation matrix in rows; the inverse of
/// [`rotation_from_quaternion`](crate::camera::rotation_from_quaternion). The largest of the four
/// components is found first, so that nothing cancels (Shepperd 1978).
pub fn quaternion_from_rotation(r: &[[f64; 3]; 3]) -> [f64; 4] {
    let trace = r[0][0] + r[1][1] + r[2][2];
    // Four times the squares of w, x, y, z.
    let squares = [trace, r[0][0], r[1][1], r[2][2]].map(|d| 1.0 + 2.0 * d - trace);
    let largest = (0..4).fold(
        0,
        |best, k| if squares[k] > squares[best] { k } else { best },
    );
    // Products of two components, times four.
    let (wx, wy, wz) = (r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]);
    let (xy, xz, yz) = (r[0][1] + r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1]);
    let q = match largest {
        0 => [squares[0], wx, wy, wz],
        1 => [wx, squares[1], xy, xz],
        2 => [wy, xy, squares[2], yz],
        _ => [wz, xz, yz, squares[3]],
    };
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let sign = if q[0] < 0.0 { -1.0 } else { 1.0 };
    q.map(|v| sign * v / length)
}

/// Axis times angle, at most pi, of the rotation of a unit quaternion `w, x, y, z`.
pub fn rotation_vector([w, x, y, z]: [f64; 4]) -> [f64; 3] {
    let sine = (x * x + y * y + z * z).sqrt();
    let sign = if w < 0.0 { -1.0 } else { 1.0 };
    // An angle over its sine is 1 for small ones.
    let scale = match sine < 1e-8 {
        true => 2.0 * sign,
        false => 2.0 * sign * sine.atan2(w.abs()) / sine,
    };
    [x, y, z].map(|v| scale * v)
}

/// The quaternion `w, x, y, z` of the rotation b, then a.
pub fn quaternion_product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    let [w, x, y, z] = a;
    let [bw, bx, by, bz] = b;
    [
        w * bw - x * bx - y * by - z * bz,
        w * bx + x * bw + y * bz - z * by,
        w * by - x * bz + y * bw + z * bx,
        w * bz + x * by - y * bx + z * bw,
    ]
}

/// The normal equations `a x = b` of the point x with the least sum of squared distances from
/// lines, each a point and a unit direction d. `a` is the mean of I - d d^T over the lines; its
/// smallest eigenvalue is near 0 if they are nearly parallel. `b` is the mean of (I - d d^T) times
/// the point.
pub fn nearest_to_lines(lines: &[[[f64; 3]; 2]]) -> ([[f64; 3]; 3], [f64; 3]) {
    let count = lines.len().max(1) as f64;
    let (mut a, mut b) = ([[0.0; 3]; 3], [0.0; 3]);
    for [point, d] in lines {
        for i in 0..3 {
            for j in 0..3 {
                let across = f64::from(u8::from(i == j)) - d[i] * d[j];
                a[i][j] += across / count;
                b[i] += across * point[j] / count;
            }
        }
    }
    (a, b)
}

/// Eigenvalues of a symmetric matrix and their vectors: `vectors[k]` is a unit vector of
/// `values[k]`. Cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, section 8.5).
/// Values that are not finite come out as they may.
pub fn eigen<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    // Rows are the vectors.
    let mut vectors = [[0.0; N]; N];
    for i in 0..N {
        vectors[i][i] = 1.0;
    }
    // It converges quadratically: six sweeps are usual.
    for _ in 0..30 {
        let size: f64 = a.iter().flatten().map(|v| v.abs()).sum();
        let pairs = || (0..N).flat_map(|p| (p + 1..N).map(move |q| (p, q)));
        let off: f64 = pairs().map(|(p, q)| a[p][q].abs()).sum();
        if off <= 1e-15 * size || !size.is_finite() {
            break;
        }
        for (p, q) in pairs() {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..N {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..N {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (vectors[p][k], vectors[q][k]) = (
                    c * vectors[p][k] - s * vectors[q][k],
                    s * vectors[p][k] + c * vectors[q][k],
                );
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), vectors)
}

/// Points, each coordinate by itself, so that one instruction looks at several of them.
pub struct Coordinates([Vec<f64>; 3]);

impl Coordinates {
    /// Of these points.
    pub fn new<'a>(points: impl Iterator<Item = &'a [f64; 3]> + Clone) -> Self {
        Self(std::array::from_fn(|k| {
            points.clone().map(|point| point[k]).collect()
        }))
    }

    /// How many are no farther than `near` from the plane through `origin` with a unit normal.
    pub fn near_plane(&self, origin: [f64; 3], normal: [f64; 3], near: f64) -> usize {
        let [x, y, z] = &self.0;
        let is_near = |((&x, &y), &z): ((&f64, &f64), &f64)| {
            let distance = dot(sub([x, y, z], origin), normal).abs();
            usize::from(distance <= near)
        };
        x.iter().zip(y).zip(z).map(is_near).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::rotation_from_quaternion;
    use crate::random::Rng;

    #[test]
    fn points_no_farther_from_a_plane_are_counted() {
        // Nine points at heights -4 to 4 above a plane that does not pass through the origin.
        let (origin, normal) = ([1.0, 2.0, 3.0], [0.6, 0.0, 0.8]);
        let at = |height: i32| {
            let aside = f64::from(7 * height);
            let height = f64::from(height);
            [
                1.0 + 0.6 * height + 0.8 * aside,
                2.0 - aside,
                3.0 + 0.8 * height - 0.6 * aside,
            ]
        };
        let points: Vec<[f64; 3]> = (-4..=4).map(at).collect();
        let coordinates = Coordinates::new(points.iter());
        for (near, count) in [(0.5, 1), (2.5, 5), (9.0, 9)] {
            assert_eq!(coordinates.near_plane(origin, normal, near), count);
        }
        let every_other = Coordinates::new(points.iter().step_by(2));
        assert_eq!(every_other.near_plane(origin, normal, 2.5), 3);
    }

    #[test]
    fn quaternions_give_their_rotation_back() {
        let mut rng = Rng::new(1, 1);
        let axes = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1e-9, 1.0],
        ];
        let random = (0..200).map(|i| {
            let mut q: [f64; 4] = std::array::from_fn(|_| f64::from(rng.normal()));
            // Half turns about an axis, where w is 0 and a naive formula fails.
            if i % 4 == 0 {
                q[0] = 0.0;
            }
            q
        });
        for q in axes.into_iter().chain(random) {
            let rotation = rotation_from_quaternion(q).unwrap();
            let found = quaternion_from_rotation(&rotation);
            assert!(found[0] >= 0.0);
            let back = rotation_from_quaternion(found).unwrap();
            for (a, b) in rotation.iter().flatten().zip(back.iter().flatten()) {
                assert!((a - b).abs() < 1e-14, "{q:?}");
            }
        }
    }

    #[test]
    fn vectors_are_stretched_by_their_values() {
        let mut rng = Rng::new(1, 1);
        for _ in 0..100 {
            let mut a = [[0.0; 4]; 4];
            for i in 0..4 {
                for j in 0..=i {
                    a[i][j] = f64::from(rng.normal());
                    a[j][i] = a[i][j];
                }
            }
            let (values, vectors) = eigen(a);
            for (value, v) in values.iter().zip(&vectors) {
                assert!((v.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
                for i in 0..4 {
                    let product: f64 = (0..4).map(|j| a[i][j] * v[j]).sum();
                    assert!((product - value * v[i]).abs() < 1e-12);
                }
            }
        }
        let (values, _) = eigen([[2.0, 1.0], [1.0, 2.0]]);
        assert!(values.contains(&3.0) || (values[0].max(values[1]) - 3.0).abs() < 1e-15);
        assert_eq!(eigen([[0.0; 3]; 3]).0, [0.0; 3]);
        eigen([[f64::NAN; 3]; 3]);
    }
}
