//! Adam, nearest neighbours.

use super::call::Side::{Is, Named};
use super::call::{Call, Object, Side, for_float, maybe, maybe_on, run};
use pyo3::prelude::*;
use splatcore::cuda::tensors as on_card;
use splatcore::cuda::tensors::selective_adam;
use splatcore::tensors::adam::Rates;
use splatcore::tensors::{Real, adam as adam_op, neighbours};

const ROWS: Side = Named("n");
const D: Side = Named("D");
const N: Side = Named("N");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(adam, module)?)?;
    module.add_function(wrap_pyfunction!(nearest_neighbours, module)?)
}

/// Takes a step of ``param`` ``[n, D]`` and its moments in place, without bias correction. Rows
/// that ``valid`` ``[n]`` leaves out stay as they are.
#[pyfunction]
#[pyo3(signature = (param, grad, exp_avg, exp_avg_sq, valid, lr, b1, b2, eps, *, stream=0))]
fn adam(
    py: Python<'_>,
    param: Object<'_, '_>,
    grad: Object<'_, '_>,
    exp_avg: Object<'_, '_>,
    exp_avg_sq: Object<'_, '_>,
    valid: Option<Object<'_, '_>>,
    lr: f64,
    b1: f64,
    b2: f64,
    eps: f64,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let mut param = call.floats_out("param", param, &[ROWS, D])?;
    let grad = call.floats("grad", grad, &[ROWS, D])?;
    let mut mean = call.floats_out("exp_avg", exp_avg, &[ROWS, D])?;
    let mut square = call.floats_out("exp_avg_sq", exp_avg_sq, &[ROWS, D])?;
    let valid = call.maybe_values::<u8>("valid", valid, &[ROWS])?;
    if let Some(card) = call.card(stream)? {
        let rows = selective_adam::Rows {
            channels: call.side("D"),
            param: param.on(&card),
            grad: grad.on(&card),
            exp_avg: mean.on(&card),
            exp_avg_sq: square.on(&card),
            valid: maybe_on(&valid, &card),
        };
        let [lr, b1, b2, eps] = [lr, b1, b2, eps].map(|rate| rate as f32);
        let rates = selective_adam::Rates { lr, b1, b2, eps };
        return card.run(py, |on| selective_adam::step(on, &rows, &rates));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let [lr, b1, b2, eps] = [lr, b1, b2, eps].map(F::of);
        let rates = Rates { lr, b1, b2, eps };
        let (param, grad) = (param.slice(&checked), grad.slice::<F>(&checked));
        let (mean, square) = (mean.slice(&checked), square.slice(&checked));
        let (channels, valid) = (call.side("D"), maybe(&valid, &checked));
        run(py, &checked, || adam_op::step(channels, param, grad, mean, square, valid, &rates))
    })
}

/// Writes the mean squared distance of each of ``points`` ``[N, 3]`` to its 3 nearest others,
/// ``[N]``.
#[pyfunction]
#[pyo3(signature = (points, squared_distance, *, stream=0))]
fn nearest_neighbours(
    py: Python<'_>,
    points: Object<'_, '_>,
    squared_distance: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let points = call.floats("points", points, &[N, Is(3)])?;
    let mut out = call.floats_out("squared_distance", squared_distance, &[N])?;
    if let Some(card) = call.card(stream)? {
        let (points, out) = (points.on(&card), out.on(&card));
        return card.run(py, |on| {
            on_card::neighbours::mean_squared_distances(on, points, out)
        });
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let (points, out) = (points.slice::<F>(&checked), out.slice(&checked));
        run(py, &checked, || neighbours::mean_squared_distances(points, out))
    })
}
