//! Colours and gradients against the functions of splatcore-tensors in f64.

use super::{Harmonics, backward, forward};
use crate::tensors::tests::{Fixture, Numbers, Tensor, assert_close, fixture};
use splatcore_tensors::harmonics as plain;

fn check(
    on: &Fixture,
    (degree, as_colors): (usize, bool),
    coefficients: usize,
    channels: usize,
    count: usize,
) {
    let mut numbers = Numbers::new(13);
    let mut dirs = numbers.many(3 * count, -2.0, 2.0);
    if count > 5 {
        dirs[3..6].fill(0.0);
    }
    let coeffs = numbers.many(count * coefficients * channels, -1.0, 1.0);
    let v_colors = numbers.many(count * channels, -1.0, 1.0);
    let masks: Vec<u8> = (0..count).map(|i| u8::from(i % 5 != 2)).collect();
    let input = plain::Harmonics {
        degree: degree as u32,
        coefficients,
        channels,
        dirs: &dirs,
        coeffs: &coeffs,
        masks: Some(&masks),
    };
    let sizes = [v_colors.len(), coeffs.len(), dirs.len()];
    let mut expected = sizes.map(|size| vec![f64::NAN; size]);
    let [colors, v_coeffs, v_dirs] = &mut expected;
    plain::forward(&input, as_colors, colors).unwrap();
    let upstream = plain::Upstream {
        v_colors: &v_colors,
        colors: as_colors.then_some(&colors[..]),
    };
    plain::backward(&input, &upstream, v_coeffs, Some(v_dirs)).unwrap();

    let inputs = [&dirs, &coeffs, &v_colors].map(|values| on.floats(values));
    let masks = on.tensor(&masks);
    let [dirs, coeffs, v_colors] = inputs.each_ref().map(Tensor::slice);
    let rows = Harmonics {
        degree,
        coefficients,
        channels,
        dirs,
        coeffs,
        masks: Some(masks.slice()),
    };
    let outs = sizes.map(|size| on.out::<f32>(size));
    let [colors, v_coeffs, v_dirs] = outs.each_ref().map(Tensor::slice);
    let stream = on.stream();
    forward(&stream, &rows, as_colors, colors).unwrap();
    let written = as_colors.then_some(colors);
    backward(&stream, &rows, written, v_colors, v_coeffs, Some(v_dirs)).unwrap();
    for (i, (out, expected)) in outs.iter().zip(&expected).enumerate() {
        let name = format!("output {i} of degree {degree}");
        assert_close(&name, &out.written(), expected, 1e-5);
    }
}

#[test]
fn colours_and_gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for degree in 0..=4 {
        check(&on, (degree, true), (degree + 1).pow(2), 3, 300);
        check(&on, (degree, false), 25, 2, 70);
    }
    check(&on, (3, true), 16, 3, 0);
}

#[test]
fn too_few_coefficients_are_refused() {
    let Some(on) = fixture() else { return };
    let tensor = on.floats(&[0.0; 12]);
    let rows = Harmonics {
        degree: 2,
        coefficients: 4,
        channels: 3,
        dirs: on.floats(&[1.0; 3]).slice(),
        coeffs: tensor.slice(),
        masks: None,
    };
    let error = forward(&on.stream(), &rows, false, tensor.slice()).unwrap_err();
    assert!(error.to_string().contains("degree 2 needs 9"), "{error}");
}
