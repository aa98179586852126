//! From PLY's axes (x right, y down, z forward) to those of glTF and of USD stages with y up (x
//! left, y up, z forward), and back: a half turn about z.
//!
//! Under it a basis function of order m changes its sign if m is odd. Both ways are exact to the
//! bit, and one undoes the other.

use splatcore_core::Gaussians;

/// Turns Gaussians in PLY's axes.
pub fn to_y_up(gaussians: &mut Gaussians) {
    turn(gaussians, |[w, x, y, z]| [-z, -y, x, w]);
}

/// Turns Gaussians with y up to PLY's axes.
pub fn from_y_up(gaussians: &mut Gaussians) {
    turn(gaussians, |[w, x, y, z]| [z, y, -x, -w]);
}

fn turn(gaussians: &mut Gaussians, rotate: impl Fn([f32; 4]) -> [f32; 4]) {
    for [x, y, _] in &mut gaussians.means {
        (*x, *y) = (-*x, -*y);
    }
    for rotation in &mut gaussians.rotations {
        *rotation = rotate(*rotation);
    }
    let coefficients = gaussians.coefficients();
    for row in gaussians.sh.chunks_exact_mut(coefficients) {
        for (k, coefficient) in row.iter_mut().enumerate() {
            if is_odd(k) {
                *coefficient = coefficient.map(|v| -v);
            }
        }
    }
}

/// Whether basis function `k` is of odd order.
const fn is_odd(k: usize) -> bool {
    let degree = k.isqrt();
    // The order is k - degree² - degree; a sum has its parity.
    (k + degree * degree + degree) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::sh;

    const HALF_TURN: [[f64; 3]; 3] = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];

    fn scene() -> Gaussians {
        let mut rng = splatcore_core::random::Rng::new(5, 0);
        let mut scene = Gaussians::zeros(3, sh::MAX_STORED_DEGREE);
        for i in 0..3 {
            scene.means[i] = std::array::from_fn(|_| rng.normal());
            scene.rotations[i] = std::array::from_fn(|_| rng.normal());
        }
        for c in &mut scene.sh {
            *c = std::array::from_fn(|_| rng.normal());
        }
        scene
    }

    #[test]
    fn harmonics_turn_as_the_rotation_of_all_degrees_says() {
        let (before, mut after) = (scene(), scene());
        to_y_up(&mut after);
        for i in 0..3 {
            let mut want = before.sh_of(i).to_vec();
            sh::Rotation::new(HALF_TURN).apply(&mut want);
            let pairs = want
                .as_flattened()
                .iter()
                .zip(after.sh_of(i).as_flattened());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn axes_of_gaussians_turn() {
        let (before, mut after) = (scene(), scene());
        to_y_up(&mut after);
        let matrix = |q: [f32; 4]| {
            splatcore_core::camera::rotation_from_quaternion(q.map(f64::from)).unwrap()
        };
        for i in 0..3 {
            let [x, y, z] = before.means[i];
            assert_eq!(after.means[i], [-x, -y, z]);
            let (was, is) = (matrix(before.rotations[i]), matrix(after.rotations[i]));
            for (row, half_turn) in HALF_TURN.iter().enumerate() {
                for c in 0..3 {
                    assert!((is[row][c] - half_turn[row] * was[row][c]).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn there_and_back_is_nothing() {
        let mut turned = scene();
        to_y_up(&mut turned);
        from_y_up(&mut turned);
        assert_eq!(turned, scene());
    }
}
