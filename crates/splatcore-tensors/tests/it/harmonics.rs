use crate::support::{Numbers, check_gradient, dot};
use splatcore_tensors::harmonics::{Harmonics, Upstream, backward, forward};

const N: usize = 5;
const K: usize = 26;
const D: usize = 2;

fn input<'a>(degree: u32, dirs: &'a [f64], coeffs: &'a [f64]) -> Harmonics<'a, f64> {
    Harmonics {
        degree,
        coefficients: K,
        channels: D,
        dirs,
        coeffs,
        masks: None,
    }
}

fn sums(input: &Harmonics<'_, f64>, as_colors: bool) -> Vec<f64> {
    let mut out = vec![f64::NAN; input.dirs.len() / 3 * D];
    forward(input, as_colors, &mut out).unwrap();
    out
}

fn colors(input: &Harmonics<'_, f64>) -> Vec<f64> {
    sums(input, false)
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (degree, as_colors) in (0..=4).flat_map(|degree| [(degree, false), (degree, true)]) {
        let mut numbers = Numbers::new(10 + u64::from(degree));
        let dirs = numbers.within(3 * N, -2.0, 2.0);
        let coeffs = numbers.within(N * K * D, -3.0, 3.0);
        let weights = numbers.within(N * D, -1.0, 1.0);
        let (mut v_coeffs, mut v_dirs) = (vec![f64::NAN; N * K * D], vec![f64::NAN; 3 * N]);
        let given = input(degree, &dirs, &coeffs);
        let clamped = sums(&given, as_colors);
        // Some at the clamp, so that it is seen.
        assert_eq!(clamped.contains(&0.0), as_colors);
        let upstream = Upstream {
            v_colors: &weights,
            colors: as_colors.then_some(&clamped[..]),
        };
        backward(&given, &upstream, &mut v_coeffs, Some(&mut v_dirs)).unwrap();
        let loss = |dirs: &[f64], coeffs: &[f64]| {
            dot(&sums(&input(degree, dirs, coeffs), as_colors), &weights)
        };
        check_gradient("coeffs", &coeffs, &v_coeffs, 1e-8, |coeffs| {
            loss(&dirs, coeffs)
        });
        match degree {
            0 => assert!(v_dirs.iter().all(|&v| v == 0.0)),
            _ => check_gradient("dirs", &dirs, &v_dirs, 1e-7, |dirs| loss(dirs, &coeffs)),
        }
    }
}

/// The basis functions are orthonormal on the sphere: their Gram matrix by a product rule of Gauss
/// and Chebyshev points, exact for the degrees here, is the identity.
#[test]
fn basis_functions_are_orthonormal() {
    // Gauss-Legendre with 5 points: exact up to degree 9.
    let roots = [0.0, 0.5384693101056831, 0.906_179_845_938_664];
    let weights = [0.5688888888888889, 0.4786286704993665, 0.2369268850561891];
    let mut gram = vec![0.0; 25 * 25];
    for i in 0..5usize {
        let (at, sign) = (i.div_ceil(2), if i % 2 == 0 { 1.0 } else { -1.0 });
        let (z, weight): (f64, f64) = (sign * roots[at], weights[at]);
        for j in 0..10 {
            let (sin, cos) = (f64::from(j) * std::f64::consts::TAU / 10.0).sin_cos();
            let radius = (1.0 - z * z).sqrt();
            let dir = [radius * cos, radius * sin, z];
            let basis: Vec<f64> = (0..25)
                .map(|k| {
                    let mut coeffs = vec![0.0; K * D];
                    coeffs[k * D] = 1.0;
                    colors(&input(4, &dir, &coeffs))[0]
                })
                .collect();
            for (a, row) in basis.iter().zip(gram.chunks_exact_mut(25)) {
                for (b, sum) in basis.iter().zip(row) {
                    *sum += a * b * weight * std::f64::consts::TAU / 10.0;
                }
            }
        }
    }
    for (i, &value) in gram.iter().enumerate() {
        let expected = if i % 26 == 0 { 1.0 } else { 0.0 };
        assert!(
            (value - expected).abs() < 1e-12,
            "{} {}: {value}",
            i / 25,
            i % 25
        );
    }
}

/// The signs of the field: degree 1 is -y, z, -x; of higher degrees, the signs at a direction with
/// positive components, from the polynomials of Sloan (JCGT 2013).
#[test]
fn signs_are_those_of_the_field() {
    let signs = |dir: [f64; 3], range: std::ops::Range<usize>| -> Vec<i32> {
        range
            .map(|k| {
                let mut coeffs = vec![0.0; K * D];
                coeffs[k * D] = 1.0;
                let value = colors(&input(4, &dir, &coeffs))[0];
                if value > 0.0 { 1 } else { -1 }
            })
            .collect()
    };
    // Small angles in the plane and from the axis, where all polynomials of z are positive.
    let dir = [0.2, 0.05, 1.0];
    assert_eq!(signs(dir, 1..4), [-1, 1, -1]);
    assert_eq!(signs(dir, 4..9), [1, -1, 1, -1, 1]);
    assert_eq!(signs(dir, 9..16), [-1, 1, -1, 1, -1, 1, -1]);
    assert_eq!(signs(dir, 16..25), [1, -1, 1, -1, 1, -1, 1, -1, 1]);
}

#[test]
fn masked_rows_and_directions_without_length_are_finite() {
    let coeffs = vec![1.0; 2 * K * D];
    let mut given = input(4, &[0.0; 6], &coeffs);
    given.masks = Some(&[0, 1]);
    let out = colors(&given);
    assert_eq!(out[..D], [0.0; D]);
    assert!(out[D..].iter().all(|v| v.is_finite() && *v != 0.0));
    let (mut v_coeffs, mut v_dirs) = (vec![f64::NAN; 2 * K * D], vec![f64::NAN; 6]);
    let upstream = Upstream {
        v_colors: &[1.0; 2 * D],
        colors: None,
    };
    backward(&given, &upstream, &mut v_coeffs, Some(&mut v_dirs)).unwrap();
    assert!(v_coeffs[..K * D].iter().all(|&v| v == 0.0));
    assert!(v_coeffs.iter().chain(&v_dirs).all(|v| v.is_finite()));
}
