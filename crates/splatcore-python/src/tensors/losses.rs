//! Structural similarity.

use super::call::Side::{Is, Named};
use super::call::{Call, Input, Object, Side, for_float, maybe_out, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core::metrics::SSIM_RADIUS;
use splatcore::tensors::ssim::{self, Images, Padding};

const STACK: [Side; 4] = [Named("B"), Named("C"), Named("H"), Named("W")];
const PARTIALS: [Side; 5] = [Is(3), Named("B"), Named("C"), Named("H"), Named("W")];

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ssim_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(ssim_bwd, module)?)
}

fn padding(name: &str) -> PyResult<Padding> {
    match name {
        "same" => Ok(Padding::Same),
        "valid" => Ok(Padding::Valid),
        other => Err(PyValueError::new_err(format!(
            "padding must be \"same\" or \"valid\", found {other:?}"
        ))),
    }
}

/// The shape of a map of these images. Smaller images than the window have none.
fn map_sides(images: &Input<'_>, padding: Padding) -> [Side; 4] {
    let margin = match padding {
        Padding::Same => 0,
        Padding::Valid => 2 * SSIM_RADIUS,
    };
    let side = |i: usize| images.shape().get(i).copied().unwrap_or(0);
    [
        Is(side(0)),
        Is(side(1)),
        Is(side(2).saturating_sub(margin)),
        Is(side(3).saturating_sub(margin)),
    ]
}

/// Writes the similarity of two stacks of images ``[B, C, H, W]`` for each pixel, with ``padding``
/// ``"same"`` of their shape and with ``"valid"`` ``[B, C, H - 10, W - 10]``, and for the backward
/// pass ``partials`` ``[3, B, C, H, W]``.
#[pyfunction]
#[pyo3(signature = (img1, img2, padding, map, partials, *, stream=0))]
fn ssim_fwd(
    py: Python<'_>,
    img1: Object<'_, '_>,
    img2: Object<'_, '_>,
    padding: &str,
    map: Object<'_, '_>,
    partials: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let (mut call, _) = (Call::default(), stream);
    let padding = self::padding(padding)?;
    let img1 = call.floats("img1", img1, &STACK)?;
    let img2 = call.floats("img2", img2, &STACK)?;
    let mut map = call.floats_out("map", map, &map_sides(&img1, padding))?;
    let mut partials = call.maybe_floats_out("partials", partials, &PARTIALS)?;
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let images = Images::<F> {
            planes: call.side("B").saturating_mul(call.side("C")),
            height: call.side("H"),
            width: call.side("W"),
            img1: img1.slice(&checked),
            img2: img2.slice(&checked),
            padding,
        };
        let map = map.slice(&checked);
        let partials = maybe_out(&mut partials, &checked);
        run(py, &checked, || ssim::forward(&images, map, partials))
    })
}

/// Writes the gradient of ``img1``, with the partials that ``ssim_fwd`` wrote.
#[pyfunction]
#[pyo3(signature = (img1, img2, padding, partials, v_map, v_img1, *, stream=0))]
fn ssim_bwd(
    py: Python<'_>,
    img1: Object<'_, '_>,
    img2: Object<'_, '_>,
    padding: &str,
    partials: Object<'_, '_>,
    v_map: Object<'_, '_>,
    v_img1: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let (mut call, _) = (Call::default(), stream);
    let padding = self::padding(padding)?;
    let img1 = call.floats("img1", img1, &STACK)?;
    let img2 = call.floats("img2", img2, &STACK)?;
    let partials = call.floats("partials", partials, &PARTIALS)?;
    let v_map = call.floats("v_map", v_map, &map_sides(&img1, padding))?;
    let mut v_img1 = call.floats_out("v_img1", v_img1, &STACK)?;
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let images = Images::<F> {
            planes: call.side("B").saturating_mul(call.side("C")),
            height: call.side("H"),
            width: call.side("W"),
            img1: img1.slice(&checked),
            img2: img2.slice(&checked),
            padding,
        };
        let (partials, v_map) = (partials.slice(&checked), v_map.slice(&checked));
        let v_img1 = v_img1.slice(&checked);
        run(py, &checked, || ssim::backward(&images, partials, v_map, v_img1))
    })
}
