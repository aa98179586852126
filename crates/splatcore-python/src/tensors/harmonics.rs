//! Spherical harmonics.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Object, Side, for_float, maybe, maybe_on, maybe_out, maybe_out_on};
use super::call::{run, size};
use super::projection::{B, C, N};
use pyo3::prelude::*;
use splatcore::cuda::tensors::{directions as directions_on_card, harmonics as on_card};
use splatcore::tensors::directions::{self, Views};
use splatcore::tensors::harmonics::{self, Harmonics, Upstream};

const ROWS: Side = Folded("n");
const K: Side = Named("K");
const D: Side = Named("D");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(spherical_harmonics_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(spherical_harmonics_bwd, module)?)?;
    module.add_function(wrap_pyfunction!(view_colors_fwd, module)?)
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
    let mut call = Call::default();
    let dirs = call.floats("dirs", dirs, &[ROWS, Is(3)])?;
    let coeffs = call.floats("coeffs", coeffs, &[ROWS, K, D])?;
    let masks = call.maybe_values::<u8>("masks", masks, &[ROWS])?;
    let mut colors = call.floats_out("colors", colors, &[ROWS, D])?;
    if let Some(card) = call.card(stream)? {
        let rows = on_card::Harmonics {
            degree: size("degree", degree)? as usize,
            coefficients: call.side("K"),
            channels: call.side("D"),
            dirs: dirs.on(&card),
            coeffs: coeffs.on(&card),
            masks: maybe_on(&masks, &card),
        };
        let colors = colors.on(&card);
        return card.run(py, |on| on_card::forward(on, &rows, false, colors));
    }
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
        run(py, &checked, || harmonics::forward(&input, false, colors))
    })
}

/// Writes the gradients of ``coeffs`` and, if asked for, ``dirs``. ``colors``: what
/// ``view_colors_fwd`` wrote, if that made them.
#[pyfunction]
#[pyo3(signature = (
    degree, dirs, coeffs, masks, v_colors, v_coeffs, v_dirs, colors=None, *, stream=0
))]
fn spherical_harmonics_bwd(
    py: Python<'_>,
    degree: i64,
    dirs: Object<'_, '_>,
    coeffs: Object<'_, '_>,
    masks: Option<Object<'_, '_>>,
    v_colors: Object<'_, '_>,
    v_coeffs: Object<'_, '_>,
    v_dirs: Option<Object<'_, '_>>,
    colors: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let dirs = call.floats("dirs", dirs, &[ROWS, Is(3)])?;
    let coeffs = call.floats("coeffs", coeffs, &[ROWS, K, D])?;
    let masks = call.maybe_values::<u8>("masks", masks, &[ROWS])?;
    let colors = call.maybe_floats("colors", colors, &[ROWS, D])?;
    let v_colors = call.floats("v_colors", v_colors, &[ROWS, D])?;
    let mut v_coeffs = call.floats_out("v_coeffs", v_coeffs, &[ROWS, K, D])?;
    let mut v_dirs = call.maybe_floats_out("v_dirs", v_dirs, &[ROWS, Is(3)])?;
    if let Some(card) = call.card(stream)? {
        let rows = on_card::Harmonics {
            degree: size("degree", degree)? as usize,
            coefficients: call.side("K"),
            channels: call.side("D"),
            dirs: dirs.on(&card),
            coeffs: coeffs.on(&card),
            masks: maybe_on(&masks, &card),
        };
        let (v_colors, v_coeffs) = (v_colors.on(&card), v_coeffs.on(&card));
        let (colors, v_dirs) = (maybe_on(&colors, &card), maybe_out_on(&v_dirs, &card));
        return card.run(py, |on| {
            on_card::backward(on, &rows, colors, v_colors, v_coeffs, v_dirs)
        });
    }
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
        let upstream = Upstream {
            v_colors: v_colors.slice(&checked),
            colors: maybe(&colors, &checked),
        };
        let v_coeffs = v_coeffs.slice(&checked);
        let v_dirs = maybe_out(&mut v_dirs, &checked);
        run(py, &checked, || harmonics::backward(&input, &upstream, v_coeffs, v_dirs))
    })
}

/// Writes colours ``[B, C, N, D]``, max(sum + 1/2, 0) of the harmonics ``[B, C, N, K, D]`` in the
/// directions of view. These, means less the centres of cameras ``[B, C, N, 3]``, and whether
/// ``radii`` are positive, bool ``[B, C, N]``, are written too.
#[pyfunction]
#[pyo3(signature = (degree, means, viewmats, radii, coeffs, dirs, masks, colors, *, stream=0))]
fn view_colors_fwd(
    py: Python<'_>,
    degree: i64,
    means: Object<'_, '_>,
    viewmats: Object<'_, '_>,
    radii: Option<Object<'_, '_>>,
    coeffs: Object<'_, '_>,
    dirs: Object<'_, '_>,
    masks: Option<Object<'_, '_>>,
    colors: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let means = call.floats("means", means, &[B, N, Is(3)])?;
    let viewmats = call.floats("viewmats", viewmats, &[B, C, Is(4), Is(4)])?;
    let radii = call.maybe_values::<i32>("radii", radii, &[B, C, N, Is(2)])?;
    let mut dirs = call.floats_out("dirs", dirs, &[B, C, N, Is(3)])?;
    let mut masks = call.maybe_values_out::<u8>("masks", masks, &[B, C, N])?;
    let [batches, cameras, gaussians] = ["B", "C", "N"].map(|side| call.side(side));
    call.bind("n", batches * cameras * gaussians);
    let coeffs = call.floats("coeffs", coeffs, &[ROWS, K, D])?;
    let mut colors = call.floats_out("colors", colors, &[B, C, N, D])?;
    let [coefficients, channels] = ["K", "D"].map(|side| call.side(side));
    if let Some(card) = call.card(stream)? {
        let views = directions_on_card::Views {
            batches,
            cameras,
            gaussians,
            means: means.on(&card),
            viewmats: viewmats.on(&card),
            radii: maybe_on(&radii, &card),
        };
        let (dirs, masks, colors) = (
            dirs.on(&card),
            maybe_out_on(&masks, &card),
            colors.on(&card),
        );
        let rows = on_card::Harmonics {
            degree: size("degree", degree)? as usize,
            coefficients,
            channels,
            dirs,
            coeffs: coeffs.on(&card),
            masks,
        };
        return card.run(py, |on| {
            directions_on_card::forward(on, &views, dirs, masks)?;
            on_card::forward(on, &rows, true, colors)
        });
    }
    let (checked, float) = call.check()?;
    let degree = size("degree", degree)?;
    for_float!(float, F => {
        let views = Views::<F> {
            batches,
            cameras,
            gaussians,
            means: means.slice(&checked),
            viewmats: viewmats.slice(&checked),
            radii: maybe(&radii, &checked),
        };
        let coeffs = coeffs.slice(&checked);
        let (dirs, colors) = (dirs.slice(&checked), colors.slice(&checked));
        let mut masks = maybe_out(&mut masks, &checked);
        run(py, &checked, || {
            directions::forward(&views, dirs, masks.as_deref_mut())?;
            let rows = Harmonics {
                degree,
                coefficients,
                channels,
                dirs,
                coeffs,
                masks: masks.as_deref(),
            };
            harmonics::forward(&rows, true, colors)
        })
    })
}
