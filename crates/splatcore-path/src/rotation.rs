//! Rotations as unit quaternions `w, x, y, z`.

use splatcore_core::camera::rotation_from_quaternion;

/// The quaternion of a rotation matrix (rows), of unit length; the larger of the four numbers is
/// computed first, so that nothing cancels (Shepperd 1978).
pub fn quaternion(r: [[f64; 3]; 3]) -> [f64; 4] {
    let trace = r[0][0] + r[1][1] + r[2][2];
    // Four times the squares of w, x, y, z.
    let squares = [
        1.0 + trace,
        1.0 + 2.0 * r[0][0] - trace,
        1.0 + 2.0 * r[1][1] - trace,
        1.0 + 2.0 * r[2][2] - trace,
    ];
    let largest = (0..4).fold(
        0,
        |best, k| if squares[k] > squares[best] { k } else { best },
    );
    let sum = |i: usize, j: usize| r[i][j] + r[j][i];
    let gap = |i: usize, j: usize| r[i][j] - r[j][i];
    let q = match largest {
        0 => [squares[0], gap(2, 1), gap(0, 2), gap(1, 0)],
        1 => [gap(2, 1), squares[1], sum(0, 1), sum(2, 0)],
        2 => [gap(0, 2), sum(0, 1), squares[2], sum(1, 2)],
        _ => [gap(1, 0), sum(2, 0), sum(1, 2), squares[3]],
    };
    unit(q)
}

/// The rotation matrix (rows) of a quaternion of any length; `otherwise` if it has none.
pub fn matrix(q: [f64; 4], otherwise: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    rotation_from_quaternion(q).unwrap_or(otherwise)
}

/// The one of `q` and `-q`, the same rotation, that is nearer to `before`.
pub fn nearer(q: [f64; 4], before: [f64; 4]) -> [f64; 4] {
    let dot: f64 = (0..4).map(|k| q[k] * before[k]).sum();
    if dot < 0.0 { q.map(|v| -v) } else { q }
}

fn unit(q: [f64; 4]) -> [f64; 4] {
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn a_matrix_comes_back() {
        let mut rng = Rng::new(7, 0);
        let axes = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1e-9, 1.0],
        ];
        let random = (0..200).map(|_| std::array::from_fn(|_| f64::from(rng.normal())));
        for q in axes.into_iter().chain(random) {
            let wanted = rotation_from_quaternion(q).unwrap();
            let found = quaternion(wanted);
            let back = rotation_from_quaternion(found).unwrap();
            for (a, b) in wanted.iter().flatten().zip(back.iter().flatten()) {
                assert!((a - b).abs() < 1e-14, "{q:?}");
            }
            let turned = nearer(found, q);
            assert!((0..4).map(|k| turned[k] * q[k]).sum::<f64>() >= 0.0);
        }
    }
}
