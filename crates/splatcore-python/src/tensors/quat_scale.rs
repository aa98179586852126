//! Covariances.

use super::call::Side::{Folded, Is};
use super::call::{Call, Object, Side, for_float, maybe, maybe_on, maybe_out, maybe_out_on, run};
use pyo3::prelude::*;
use splatcore::cuda::tensors::quat_scale as on_card;
use splatcore::tensors::quat_scale::{self, QuatScale};

const ROWS: Side = Folded("n");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(quat_scale_to_covar_preci_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(quat_scale_to_covar_preci_bwd, module)?)
}

fn matrix(triu: bool) -> Vec<Side> {
    match triu {
        true => vec![ROWS, Is(6)],
        false => vec![ROWS, Is(3), Is(3)],
    }
}

/// Writes covariances and precisions ``[n, 3, 3]``, or with ``triu`` ``[n, 6]``, of quaternions
/// ``[n, 4]`` and scales ``[n, 3]``.
#[pyfunction]
#[pyo3(signature = (quats, scales, triu, covars, precis, *, stream=0))]
fn quat_scale_to_covar_preci_fwd(
    py: Python<'_>,
    quats: Object<'_, '_>,
    scales: Object<'_, '_>,
    triu: bool,
    covars: Option<Object<'_, '_>>,
    precis: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let quats = call.floats("quats", quats, &[ROWS, Is(4)])?;
    let scales = call.floats("scales", scales, &[ROWS, Is(3)])?;
    let mut covars = call.maybe_floats_out("covars", covars, &matrix(triu))?;
    let mut precis = call.maybe_floats_out("precis", precis, &matrix(triu))?;
    if let Some(card) = call.card(stream)? {
        let input = on_card::QuatScale {
            quats: quats.on(&card),
            scales: scales.on(&card),
            triu,
        };
        let covars = maybe_out_on(&covars, &card);
        let precis = maybe_out_on(&precis, &card);
        return card.run(py, |on| on_card::forward(on, &input, covars, precis));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = QuatScale::<F> {
            quats: quats.slice(&checked),
            scales: scales.slice(&checked),
            triu,
        };
        let covars = maybe_out::<F>(&mut covars, &checked);
        let precis = maybe_out::<F>(&mut precis, &checked);
        run(py, &checked, || quat_scale::forward(&input, covars, precis))
    })
}

/// Writes the gradients of ``quats`` and ``scales``.
#[pyfunction]
#[pyo3(signature = (quats, scales, triu, v_covars, v_precis, v_quats, v_scales, *, stream=0))]
fn quat_scale_to_covar_preci_bwd(
    py: Python<'_>,
    quats: Object<'_, '_>,
    scales: Object<'_, '_>,
    triu: bool,
    v_covars: Option<Object<'_, '_>>,
    v_precis: Option<Object<'_, '_>>,
    v_quats: Object<'_, '_>,
    v_scales: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let quats = call.floats("quats", quats, &[ROWS, Is(4)])?;
    let scales = call.floats("scales", scales, &[ROWS, Is(3)])?;
    let v_covars = call.maybe_floats("v_covars", v_covars, &matrix(triu))?;
    let v_precis = call.maybe_floats("v_precis", v_precis, &matrix(triu))?;
    let mut v_quats = call.floats_out("v_quats", v_quats, &[ROWS, Is(4)])?;
    let mut v_scales = call.floats_out("v_scales", v_scales, &[ROWS, Is(3)])?;
    if let Some(card) = call.card(stream)? {
        let input = on_card::QuatScale {
            quats: quats.on(&card),
            scales: scales.on(&card),
            triu,
        };
        let v = [&v_covars, &v_precis].map(|v| maybe_on(v, &card));
        let out = [&v_quats, &v_scales].map(|v| v.on(&card));
        return card.run(py, |on| on_card::backward(on, &input, v, out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = QuatScale::<F> {
            quats: quats.slice(&checked),
            scales: scales.slice(&checked),
            triu,
        };
        let v_covars = maybe::<F>(&v_covars, &checked);
        let v_precis = maybe::<F>(&v_precis, &checked);
        let v_quats = v_quats.slice::<F>(&checked);
        let v_scales = v_scales.slice::<F>(&checked);
        run(py, &checked, || quat_scale::backward(&input, v_covars, v_precis, v_quats, v_scales))
    })
}
