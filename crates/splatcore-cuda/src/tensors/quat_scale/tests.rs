//! Matrices and gradients against the functions of splatcore-tensors in f64.

use super::{QuatScale, backward, forward};
use crate::tensors::tests::{Numbers, Tensor, assert_close, fixture};
use splatcore_tensors::quat_scale as plain;

#[test]
fn matrices_and_gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for (triu, count) in [(false, 300), (true, 300), (true, 0)] {
        let mut numbers = Numbers::new(5);
        let quats = numbers.many(4 * count, -1.0, 1.0);
        let scales = numbers.many(3 * count, 0.3, 2.0);
        let width = if triu { 6 } else { 9 } * count;
        let v = [0, 1].map(|_| numbers.many(width, -1.0, 1.0));
        let input = plain::QuatScale {
            quats: &quats,
            scales: &scales,
            triu,
        };
        let sizes = [width, width, 4 * count, 3 * count];
        let mut expected = sizes.map(|size| vec![f64::NAN; size]);
        let [covars, precis, v_quats, v_scales] = &mut expected;
        plain::forward(&input, Some(covars), Some(precis)).unwrap();
        plain::backward(&input, Some(&v[0]), Some(&v[1]), v_quats, v_scales).unwrap();

        let inputs = [&quats, &scales, &v[0], &v[1]].map(|values| on.floats(values));
        let [quats, scales, v_covars, v_precis] = inputs.each_ref().map(Tensor::slice);
        let shapes = QuatScale {
            quats,
            scales,
            triu,
        };
        let outs = sizes.map(|size| on.out::<f32>(size));
        let [covars, precis, v_quats, v_scales] = outs.each_ref().map(Tensor::slice);
        let stream = on.stream();
        forward(&stream, &shapes, Some(covars), Some(precis)).unwrap();
        let of = [Some(v_covars), Some(v_precis)];
        backward(&stream, &shapes, of, [v_quats, v_scales]).unwrap();
        for (i, (out, expected)) in outs.iter().zip(&expected).enumerate() {
            assert_close(&format!("output {i}"), &out.written(), expected, 1e-5);
        }
        forward(&stream, &shapes, None, Some(covars)).unwrap();
        assert_close("precis alone", &outs[0].written(), &expected[1], 1e-5);
        backward(&stream, &shapes, [None, None], [v_quats, v_scales]).unwrap();
        assert!(outs[2].read().iter().all(|&v| v == 0.0));
    }
}
