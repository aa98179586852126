//! Rotations as unit quaternions `w, x, y, z`.

use splatcore_core::camera::rotation_from_quaternion;

/// The rotation matrix (rows) of a quaternion of any length; `otherwise` if it has none.
pub fn matrix(q: [f64; 4], otherwise: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    rotation_from_quaternion(q).unwrap_or(otherwise)
}

/// The one of `q` and `-q`, the same rotation, that is nearer to `before`.
pub fn nearer(q: [f64; 4], before: [f64; 4]) -> [f64; 4] {
    let dot: f64 = (0..4).map(|k| q[k] * before[k]).sum();
    if dot < 0.0 { q.map(|v| -v) } else { q }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_sign_is_taken() {
        let q = [0.5, -0.5, 0.5, -0.5];
        assert_eq!(nearer(q, [0.4, -0.6, 0.4, -0.6]), q);
        assert_eq!(nearer(q, [-0.4, 0.6, -0.4, 0.6]), q.map(|v| -v));
    }
}
