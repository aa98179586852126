//! Spherical harmonics.

use super::call::Side::{Is, Named};
use super::call::{Call, Object, Side, for_float, maybe, maybe_out, run, size};
use pyo3::prelude::*;
use splatcore::tensors::harmonics::{self, Harmonics};

const ROWS: Side = Named("n");
const K: Side = Named("K");
const D: Side = Named("D");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(spherical_harmonics_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(spherical_harmonics_bwd, module)?)
}

/// Writes colours ``[n, D]`` of directions ``[n, 3]`` and coefficients ``[n, K, D]``, up to a
/// degree of 4. Rows that ``masks`` leaves out become 0.
#[pyfunction]
#[pyo3(signature = (degree, dirs, coeffs, masks, colors, *, stream=0))]
fn spherical_harmonics_fwd(
    py: Python<'_>,
    degree: i64,
    dirs: Object<'_, '_>,
    coeffs: Object<'_, '_>,
    masks: Option<Object<'_, '_>>,
    colors: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let (mut call, _) = (Call::default(), stream);
    let dirs = call.floats("dirs", dirs, &[ROWS, Is(3)])?;
    let coeffs = call.floats("coeffs", coeffs, &[ROWS, K, D])?;
    let masks = call.maybe_values::<u8>("masks", masks, &[ROWS])?;
    let mut colors = call.floats_out("colors", colors, &[ROWS, D])?;
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = Harmonics::<F> {
            degree: size("degree", degree)?,
            coefficients: call.side("K"),
            channels: call.side("D"),
            dirs: dirs.slice(&checked),
            coeffs: coeffs.slice(&checked),
            masks: maybe(&masks, &checked),
        };
        let colors = colors.slice(&checked);
        run(py, &checked, || harmonics::forward(&input, colors))
    })
}

/// Writes the gradients of ``coeffs`` and, if asked for, ``dirs``.
#[pyfunction]
#[pyo3(signature = (degree, dirs, coeffs, masks, v_colors, v_coeffs, v_dirs, *, stream=0))]
fn spherical_harmonics_bwd(
    py: Python<'_>,
    degree: i64,
    dirs: Object<'_, '_>,
    coeffs: Object<'_, '_>,
    masks: Option<Object<'_, '_>>,
    v_colors: Object<'_, '_>,
    v_coeffs: Object<'_, '_>,
    v_dirs: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let (mut call, _) = (Call::default(), stream);
    let dirs = call.floats("dirs", dirs, &[ROWS, Is(3)])?;
    let coeffs = call.floats("coeffs", coeffs, &[ROWS, K, D])?;
    let masks = call.maybe_values::<u8>("masks", masks, &[ROWS])?;
    let v_colors = call.floats("v_colors", v_colors, &[ROWS, D])?;
    let mut v_coeffs = call.floats_out("v_coeffs", v_coeffs, &[ROWS, K, D])?;
    let mut v_dirs = call.maybe_floats_out("v_dirs", v_dirs, &[ROWS, Is(3)])?;
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = Harmonics::<F> {
            degree: size("degree", degree)?,
            coefficients: call.side("K"),
            channels: call.side("D"),
            dirs: dirs.slice(&checked),
            coeffs: coeffs.slice(&checked),
            masks: maybe(&masks, &checked),
        };
        let v_colors = v_colors.slice(&checked);
        let v_coeffs = v_coeffs.slice(&checked);
        let v_dirs = maybe_out(&mut v_dirs, &checked);
        run(py, &checked, || harmonics::backward(&input, v_colors, v_coeffs, v_dirs))
    })
}
