//! Nodes' maps, applied to Gaussians.
//!
//! A similarity turns and scales a Gaussian. Any map A turns its axes times its standard
//! deviations, the columns of B, into those of A B; rotating pairs of columns until all are
//! perpendicular (one-sided Jacobi) keeps the covariance A B Bᵀ Aᵀ and gives the new axes. The
//! harmonics take the rotation alone, as the extension says; where a map shears there is none.

use super::nodes::{IDENTITY, Matrix, product};
use super::primitive::Axes;
use super::wrong::{Notes, Wrong};
use crate::scene::y_up;
use rayon::prelude::*;
use splatcore_core::camera::{length, rotation_from_quaternion};
use splatcore_core::linear::quaternion_from_rotation;
use splatcore_core::{Gaussians, sh};

type Linear = [[f64; 3]; 3];

/// A half turn about z: glTF's axes to PLY's.
const TO_PLY: Matrix = [
    [-1.0, 0.0, 0.0, 0.0],
    [0.0, -1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];
/// Cosines between axes, and differences of their lengths, that f32 transforms may have.
const ROUNDING: f64 = 1e-5;

/// Applies a node's map to Gaussians in the given axes, and turns them to PLY's.
pub fn to_ply(
    gaussians: &mut Gaussians,
    axes: Axes,
    node: &Matrix,
    place: &str,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    if *node == IDENTITY {
        if axes == Axes::YUp {
            y_up::from_y_up(gaussians);
        }
        return Ok(());
    }
    let mut map = product(&TO_PLY, node);
    if axes == Axes::Ply {
        // The half turn undoes itself.
        map = product(&map, &TO_PLY);
    }
    let linear: Linear = std::array::from_fn(|row| std::array::from_fn(|c| map[row][c]));
    let shift = map.map(|row| row[3]);
    let lengths: [f64; 3] = std::array::from_fn(|c| length(column(&linear, c)));
    let cosine = |a: usize, b: usize| {
        let products = (0..3).map(|row| linear[row][a] * linear[row][b]);
        products.sum::<f64>() / (lengths[a] * lengths[b])
    };
    let perpendicular = [(0, 1), (0, 2), (1, 2)]
        .iter()
        .all(|&(a, b)| cosine(a, b).abs() <= ROUNDING);
    if !perpendicular {
        let problem =
            "a node above it shears it or scales it to nothing, which Gaussians cannot show";
        let remedy = "apply the nodes' transforms in the program that made the file";
        return Err(Wrong::with(place, problem, remedy));
    }
    let turn: Linear =
        std::array::from_fn(|row| std::array::from_fn(|c| linear[row][c] / lengths[c]));
    let harmonics = sh::Rotation::new(turn);
    let size = lengths.iter().sum::<f64>() / 3.0;
    let even = lengths.iter().all(|l| (l - size).abs() <= ROUNDING * size);
    let rotation = (even && determinant(&turn) > 0.0).then(|| quaternion_from_rotation(&turn));
    if rotation.is_none() {
        notes.add("a node stretches or mirrors its splats: their axes were made anew");
    }
    let coefficients = gaussians.coefficients();
    (
        &mut gaussians.means,
        &mut gaussians.log_scales,
        &mut gaussians.rotations,
        gaussians.sh.par_chunks_exact_mut(coefficients),
    )
        .into_par_iter()
        .for_each(|(mean, log_scales, q, sh)| {
            let [x, y, z] = mean.map(f64::from);
            *mean = std::array::from_fn(|row| {
                let [a, b, c] = linear[row];
                (a * x + b * y + c * z + shift[row]) as f32
            });
            match rotation {
                Some(rotation) => {
                    *q = times(rotation, q.map(f64::from)).map(|v| v as f32);
                    *log_scales = log_scales.map(|s| (f64::from(s) + size.ln()) as f32);
                }
                None => stretch(&linear, log_scales, q),
            }
            harmonics.apply(sh);
        });
    Ok(())
}

/// One Gaussian's axes and standard deviations under a linear map. What has no rotation stays, and
/// is dropped later.
fn stretch(linear: &Linear, log_scales: &mut [f32; 3], q: &mut [f32; 4]) {
    let Some(axes) = rotation_from_quaternion(q.map(f64::from)) else {
        return;
    };
    // Relative to the largest, so that nothing overflows.
    let largest = log_scales.iter().copied().fold(f32::MIN, f32::max);
    let scales = log_scales.map(|s| f64::from(s - largest).exp());
    let mut columns: [[f64; 3]; 3] = std::array::from_fn(|c| {
        std::array::from_fn(|row| {
            let sum = (0..3).map(|k| linear[row][k] * axes[k][c]).sum::<f64>();
            sum * scales[c]
        })
    });
    make_perpendicular(&mut columns);
    let lengths = columns.map(length);
    *log_scales = lengths.map(|l| (l.ln() + f64::from(largest)) as f32);
    let mut turn: Linear =
        std::array::from_fn(|row| std::array::from_fn(|c| columns[c][row] / lengths[c]));
    if determinant(&turn) < 0.0 {
        // An axis has no sign.
        turn.iter_mut().for_each(|row| row[2] = -row[2]);
    }
    *q = quaternion_from_rotation(&turn).map(|v| v as f32);
}

/// Rotates pairs of columns until all are perpendicular; the sum of their outer products stays.
fn make_perpendicular(columns: &mut [[f64; 3]; 3]) {
    // Converges quadratically; a handful of sweeps is enough.
    for _ in 0..16 {
        let mut settled = true;
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let dot = |u: [f64; 3], v: [f64; 3]| (0..3).map(|k| u[k] * v[k]).sum::<f64>();
            let (u, v) = (columns[a], columns[b]);
            let (uu, vv, uv) = (dot(u, u), dot(v, v), dot(u, v));
            if uv.abs() <= 1e-15 * (uu * vv).sqrt() {
                continue;
            }
            settled = false;
            let zeta = (vv - uu) / (2.0 * uv);
            let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
            let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
            let sine = cosine * tangent;
            columns[a] = std::array::from_fn(|k| cosine * u[k] - sine * v[k]);
            columns[b] = std::array::from_fn(|k| sine * u[k] + cosine * v[k]);
        }
        if settled {
            return;
        }
    }
}

fn column(matrix: &Linear, c: usize) -> [f64; 3] {
    matrix.map(|row| row[c])
}

fn determinant(m: &Linear) -> f64 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

/// First `b`, then `a`.
fn times([aw, ax, ay, az]: [f64; 4], [bw, bx, by, bz]: [f64; 4]) -> [f64; 4] {
    [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn random(rng: &mut Rng) -> Gaussians {
        let mut g = Gaussians::zeros(20, 3);
        for i in 0..20 {
            g.means[i] = std::array::from_fn(|_| rng.normal());
            g.log_scales[i] = std::array::from_fn(|_| 2.0 * rng.normal() - 3.0);
            g.rotations[i] = std::array::from_fn(|_| rng.normal());
        }
        g.sh.iter_mut()
            .for_each(|c| *c = std::array::from_fn(|_| rng.normal()));
        g
    }

    fn covariance(g: &Gaussians, i: usize) -> Linear {
        let axes = rotation_from_quaternion(g.rotations[i].map(f64::from)).unwrap();
        let squares = g.log_scales[i].map(|s| (2.0 * f64::from(s)).exp());
        std::array::from_fn(|row| {
            std::array::from_fn(|c| (0..3).map(|k| axes[row][k] * squares[k] * axes[c][k]).sum())
        })
    }

    /// Covariances become A Σ Aᵀ, means A m + t, whatever the map.
    #[test]
    fn covariances_follow_the_map() {
        let mut rng = Rng::new(8, 0);
        let turn = rotation_from_quaternion([0.3, -0.5, 0.7, 0.2]).unwrap();
        for scale in [
            [1.0; 3],
            [2.5; 3],
            [1.0, 3.0, 0.2],
            [-1.0, 1.0, 1.0],
            [-2.0; 3],
        ] {
            let map: Matrix = std::array::from_fn(|row| {
                std::array::from_fn(|c| {
                    if c == 3 {
                        row as f64
                    } else {
                        turn[row][c] * scale[c]
                    }
                })
            });
            let before = random(&mut rng);
            let mut after = before.clone();
            let mut notes = Notes::default();
            to_ply(&mut after, Axes::YUp, &map, "", &mut notes).unwrap();
            assert_eq!(
                notes.lines.is_empty(),
                scale[0] == scale[1] && scale[0] > 0.0
            );
            let map = product(&TO_PLY, &map);
            for i in 0..before.len() {
                let (was, is) = (covariance(&before, i), covariance(&after, i));
                let largest = (0..3).map(|k| is[k][k]).fold(0.0, f64::max);
                for row in 0..3 {
                    for c in 0..3 {
                        let want: f64 = (0..9)
                            .map(|k| map[row][k / 3] * was[k / 3][k % 3] * map[c][k % 3])
                            .sum();
                        assert!((is[row][c] - want).abs() < 1e-5 * largest, "{scale:?}");
                    }
                    let mean: f64 = (0..3)
                        .map(|k| map[row][k] * f64::from(before.means[i][k]))
                        .sum();
                    let got = f64::from(after.means[i][row]);
                    assert!((got - mean - map[row][3]).abs() < 1e-5);
                }
            }
        }
    }

    /// The standard deviations themselves, down to flat and long Gaussians.
    #[test]
    fn tiny_axes_survive() {
        let mut g = Gaussians::zeros(1, 0);
        g.rotations[0] = [1.0, 0.0, 0.0, 0.0];
        g.log_scales[0] = [0.0, -30.0, -50.0];
        let map = [
            [2.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        to_ply(&mut g, Axes::YUp, &map, "", &mut Notes::default()).unwrap();
        assert_eq!(g.log_scales[0], [2.0f32.ln(), -30.0, -50.0]);
    }

    /// An SPZ part, in PLY's axes already, ends where the same part in glTF's does.
    #[test]
    fn both_axes_give_the_same() {
        let mut rng = Rng::new(9, 0);
        let turn = rotation_from_quaternion([0.3, -0.5, 0.7, 0.2]).unwrap();
        let map: Matrix = std::array::from_fn(|row| {
            std::array::from_fn(|c| {
                if c == 3 {
                    row as f64
                } else {
                    turn[row][c] * 1.5
                }
            })
        });
        let mut gltf = random(&mut rng);
        let mut ply = gltf.clone();
        y_up::from_y_up(&mut ply);
        to_ply(&mut gltf, Axes::YUp, &map, "", &mut Notes::default()).unwrap();
        to_ply(&mut ply, Axes::Ply, &map, "", &mut Notes::default()).unwrap();
        for i in 0..gltf.len() {
            let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close(&gltf.means[i], &ply.means[i]));
            assert!(close(
                gltf.sh_of(i).as_flattened(),
                ply.sh_of(i).as_flattened()
            ));
            let dot: f32 = (0..4)
                .map(|c| gltf.rotations[i][c] * ply.rotations[i][c])
                .sum();
            assert!(close(
                &gltf.rotations[i],
                &ply.rotations[i].map(|v| v * dot.signum())
            ));
        }
    }

    #[test]
    fn shear_is_refused() {
        for row in [[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]] {
            let map = [row, [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
            let mut g = Gaussians::zeros(1, 0);
            let wrong = to_ply(&mut g, Axes::YUp, &map, "", &mut Notes::default()).unwrap_err();
            assert!(wrong.problem.contains("shears"));
        }
    }
}
