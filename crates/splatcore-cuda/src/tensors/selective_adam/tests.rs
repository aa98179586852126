//! Steps against the function of splatcore-tensors in f64.

use super::{Rates, Rows, step};
use crate::tensors::tests::{Numbers, Tensor, assert_close, fixture};
use splatcore_tensors::adam as plain;

#[test]
fn steps_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for (count, channels) in [(200, 3), (77, 45), (0, 3)] {
        let mut numbers = Numbers::new(31);
        let values = count * channels;
        let grad = numbers.many(values, -1.0, 1.0);
        let mut state = [
            numbers.many(values, -1.0, 1.0),
            numbers.many(values, -0.1, 0.1),
            numbers.many(values, 0.0, 0.01),
        ];
        let valid: Vec<u8> = (0..count).map(|i| u8::from(i % 3 != 0)).collect();
        let of_device = state.each_ref().map(|values| on.floats(values));
        let inputs = (on.floats(&grad), on.tensor(&valid));
        let [param, exp_avg, exp_avg_sq] = of_device.each_ref().map(Tensor::slice);
        let rows = Rows {
            channels,
            param,
            grad: inputs.0.slice(),
            exp_avg,
            exp_avg_sq,
            valid: Some(inputs.1.slice()),
        };
        let rates = Rates {
            lr: 0.01,
            b1: 0.9,
            b2: 0.999,
            eps: 1e-8,
        };
        step(&on.stream(), &rows, &rates).unwrap();
        let [lr, b1, b2, eps] = [rates.lr, rates.b1, rates.b2, rates.eps].map(f64::from);
        let rates = plain::Rates { lr, b1, b2, eps };
        let [param, mean, square] = &mut state;
        plain::step(channels, param, &grad, mean, square, Some(&valid), &rates).unwrap();
        for (of_device, expected) in of_device.iter().zip(&state) {
            assert_close("state", &of_device.written(), expected, 1e-6);
        }
    }
}
