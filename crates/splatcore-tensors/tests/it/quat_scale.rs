use crate::support::{Numbers, check_gradient, dot};
use splatcore_tensors::quat_scale::{QuatScale, backward, forward};

const N: usize = 4;

fn matrices(quats: &[f64], scales: &[f64], triu: bool) -> [Vec<f64>; 2] {
    let width = if triu { 6 } else { 9 };
    let mut out = [vec![f64::NAN; N * width], vec![f64::NAN; N * width]];
    let [covars, precis] = &mut out;
    let input = QuatScale {
        quats,
        scales,
        triu,
    };
    forward(&input, Some(covars), Some(precis)).unwrap();
    out
}

#[test]
fn covariances_of_a_quarter_turn_are_those_of_swapped_scales() {
    let half = 0.5f64.sqrt();
    // 90 degrees around z, of length 3.
    let quats = [3.0 * half, 0.0, 0.0, 3.0 * half].repeat(N);
    let [covars, precis] = matrices(&quats, &[2.0, 3.0, 5.0].repeat(N), false);
    let expected = [9.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 25.0];
    for i in 0..9 {
        assert!((covars[i] - expected[i]).abs() < 1e-12);
        let inverse = if i % 4 == 0 { 1.0 / expected[i] } else { 0.0 };
        assert!((precis[i] - inverse).abs() < 1e-12);
    }
}

#[test]
fn precisions_are_inverse_covariances() {
    let mut numbers = Numbers::new(1);
    let quats = numbers.within(4 * N, -1.0, 1.0);
    let scales = numbers.within(3 * N, 0.3, 2.0);
    let [covars, precis] = matrices(&quats, &scales, false);
    for (a, b) in covars.chunks(9).zip(precis.chunks(9)) {
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| a[3 * i + k] * b[3 * k + j]).sum();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-10);
            }
        }
    }
    let [triangles, _] = matrices(&quats, &scales, true);
    for (full, triangle) in covars.chunks(9).zip(triangles.chunks(6)) {
        let upper = [0, 1, 2, 4, 5, 8].map(|k| full[k]);
        assert_eq!(upper.as_slice(), triangle);
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for triu in [false, true] {
        let width = if triu { 6 } else { 9 };
        let mut numbers = Numbers::new(2);
        let quats = numbers.within(4 * N, -1.0, 1.0);
        let scales = numbers.within(3 * N, 0.5, 2.0);
        let v_covars = numbers.within(width * N, -1.0, 1.0);
        let v_precis = numbers.within(width * N, -1.0, 1.0);
        let loss = |quats: &[f64], scales: &[f64]| {
            let [covars, precis] = matrices(quats, scales, triu);
            dot(&covars, &v_covars) + dot(&precis, &v_precis)
        };
        let (mut v_quats, mut v_scales) = (vec![f64::NAN; 4 * N], vec![f64::NAN; 3 * N]);
        let input = QuatScale {
            quats: &quats,
            scales: &scales,
            triu,
        };
        let (covars, precis) = (Some(&v_covars[..]), Some(&v_precis[..]));
        backward(&input, covars, precis, &mut v_quats, &mut v_scales).unwrap();
        check_gradient("quats", &quats, &v_quats, 1e-8, |quats| {
            loss(quats, &scales)
        });
        check_gradient("scales", &scales, &v_scales, 1e-8, |scales| {
            loss(&quats, scales)
        });
    }
}

#[test]
fn a_quaternion_of_length_0_is_the_identity() {
    let [covars, _] = matrices(&[0.0; 4 * N], &[2.0, 3.0, 4.0].repeat(N), true);
    assert_eq!(covars[..6], [4.0, 0.0, 0.0, 9.0, 0.0, 16.0]);
}
