use crate::support::Numbers;
use splatcore_tensors::adam::{Rates, step};
use splatcore_tensors::neighbours::mean_squared_distances;

#[test]
fn adam_is_its_formula_without_bias_correction() {
    let mut numbers = Numbers::new(40);
    let (n, d) = (9, 3);
    let before = numbers.within(n * d, -1.0, 1.0);
    let grad = numbers.within(n * d, -1.0, 1.0);
    let mean = numbers.within(n * d, -1.0, 1.0);
    let square = numbers.within(n * d, 0.0, 1.0);
    let valid: Vec<u8> = (0..n).map(|i| u8::from(i % 3 != 1)).collect();
    let (mut param, mut m, mut v) = (before.clone(), mean.clone(), square.clone());
    let rates = Rates {
        lr: 0.1,
        b1: 0.9,
        b2: 0.99,
        eps: 1e-8,
    };
    step(d, &mut param, &grad, &mut m, &mut v, Some(&valid), &rates).unwrap();
    for i in 0..n * d {
        let (a, b) = (
            0.9 * mean[i] + 0.1 * grad[i],
            0.99 * square[i] + 0.01 * grad[i].powi(2),
        );
        let expected = match valid[i / d] {
            0 => [before[i], mean[i], square[i]],
            _ => [before[i] - 0.1 * a / (b.sqrt() + 1e-8), a, b],
        };
        for (found, expected) in [param[i], m[i], v[i]].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14);
        }
    }
}

#[test]
fn neighbours_are_those_of_all_pairs() {
    let mut numbers = Numbers::new(41);
    let mut points: Vec<f32> = numbers
        .within(900, -1.0, 1.0)
        .iter()
        .map(|&v| v as f32)
        .collect();
    // Four at one place.
    for i in 1..4 {
        points.copy_within(0..3, 3 * i);
    }
    let mut found = vec![-1.0; 300];
    mean_squared_distances(&points, &mut found).unwrap();
    for (i, &found) in found.iter().enumerate() {
        let mut all: Vec<f64> = (0..300)
            .filter(|&j| j != i)
            .map(|j| {
                let axis = |k: usize| f64::from(points[3 * i + k]) - f64::from(points[3 * j + k]);
                (0..3).map(|k| axis(k).powi(2)).sum()
            })
            .collect();
        all.sort_by(f64::total_cmp);
        let expected = (all[0] + all[1] + all[2]) / 3.0;
        assert!((f64::from(found) - expected).abs() <= 1e-6 * expected);
    }
    assert_eq!(found[..4], [0.0; 4]);
}

#[test]
fn few_points_have_the_mean_of_those_there_are() {
    let mut none: [f64; 0] = [];
    mean_squared_distances(&[], &mut none).unwrap();
    let mut one = [7.0];
    mean_squared_distances(&[1.0, 2.0, 3.0], &mut one).unwrap();
    assert_eq!(one, [0.0]);
    let mut two = [7.0; 2];
    mean_squared_distances(&[0.0, 0.0, 0.0, 0.0, 3.0, 4.0], &mut two).unwrap();
    assert_eq!(two, [25.0; 2]);
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        let error = mean_squared_distances(&[0.0, bad, 0.0], &mut one).unwrap_err();
        assert_eq!(error.argument, "points");
    }
}
