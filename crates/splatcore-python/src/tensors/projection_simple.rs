//! Projections of Gaussians in camera space, without culling and blur.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Checked, Input, Object, Side, for_float, run, size};
use super::card::Card;
use super::element::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::cuda::tensors::projection as on_card;
use splatcore::tensors::Real;
use splatcore::tensors::projection::{self, CameraModel, Simple};

const I: Side = Folded("I");
const ROWS: Side = Named("n");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(projection_simple_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(projection_simple_bwd, module)?)
}

/// A camera model by its name.
///
/// # Errors
/// `ValueError` if there is none of this name.
pub fn camera(model: &str) -> PyResult<CameraModel> {
    match model {
        "pinhole" => Ok(CameraModel::Pinhole),
        "ortho" => Ok(CameraModel::Ortho),
        "fisheye" => Ok(CameraModel::Fisheye),
        other => Err(PyValueError::new_err(format!(
            "camera_model must be \"pinhole\", \"ortho\" or \"fisheye\", found {other:?}"
        ))),
    }
}

/// The same on a card.
pub fn camera_on_card(model: &str) -> PyResult<on_card::CameraModel> {
    Ok(match camera(model)? {
        CameraModel::Pinhole => on_card::CameraModel::Pinhole,
        CameraModel::Ortho => on_card::CameraModel::Ortho,
        CameraModel::Fisheye => on_card::CameraModel::Fisheye,
    })
}

/// What both passes read.
struct Arguments<'a> {
    means: Input<'a>,
    covars: Input<'a>,
    ks: Input<'a>,
    width: u32,
    height: u32,
}

impl<'a> Arguments<'a> {
    fn read(
        call: &mut Call,
        [means, covars, ks]: [Object<'a, '_>; 3],
        [width, height]: [i64; 2],
    ) -> PyResult<Self> {
        Ok(Self {
            means: call.floats("means", means, &[I, ROWS, Is(3)])?,
            covars: call.floats("covars", covars, &[I, ROWS, Is(3), Is(3)])?,
            ks: call.floats("Ks", ks, &[I, Is(3), Is(3)])?,
            width: size("width", width)?,
            height: size("height", height)?,
        })
    }

    fn simple<'b, F: Real + Value>(
        &'b self,
        call: &Call,
        checked: &Checked,
        model: CameraModel,
    ) -> Simple<'b, F> {
        Simple {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: self.means.slice(checked),
            covars: self.covars.slice(checked),
            ks: self.ks.slice(checked),
            width: self.width,
            height: self.height,
            model,
        }
    }

    fn on_card(&self, call: &Call, card: &Card, model: on_card::CameraModel) -> on_card::Simple {
        on_card::Simple {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: self.means.on(card),
            covars: self.covars.on(card),
            ks: self.ks.on(card),
            width: self.width as usize,
            height: self.height as usize,
            camera_model: model,
        }
    }
}

/// Writes means ``[I, n, 2]`` and covariances ``[I, n, 2, 2]`` in the image, of those in camera
/// space.
#[pyfunction]
#[pyo3(signature = (
    means, covars, Ks, width, height, camera_model, means2d, covars2d, *, stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn projection_simple_fwd(
    py: Python<'_>,
    means: Object<'_, '_>,
    covars: Object<'_, '_>,
    Ks: Object<'_, '_>,
    width: i64,
    height: i64,
    camera_model: &str,
    means2d: Object<'_, '_>,
    covars2d: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let input = Arguments::read(&mut call, [means, covars, Ks], [width, height])?;
    let mut means2d = call.floats_out("means2d", means2d, &[I, ROWS, Is(2)])?;
    let mut covars2d = call.floats_out("covars2d", covars2d, &[I, ROWS, Is(2), Is(2)])?;
    if let Some(card) = call.card(stream)? {
        let input = input.on_card(&call, &card, camera_on_card(camera_model)?);
        let (means2d, covars2d) = (means2d.on(&card), covars2d.on(&card));
        return card.run(py, |on| {
            on_card::simple_forward(on, &input, means2d, covars2d)
        });
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = input.simple::<F>(&call, &checked, camera(camera_model)?);
        let (means2d, covars2d) = (means2d.slice::<F>(&checked), covars2d.slice::<F>(&checked));
        run(py, &checked, || projection::simple_forward(&input, means2d, covars2d))
    })
}

/// Writes the gradients of ``means`` and ``covars``.
#[pyfunction]
#[pyo3(signature = (
    means, covars, Ks, width, height, camera_model, v_means2d, v_covars2d, v_means, v_covars, *,
    stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn projection_simple_bwd(
    py: Python<'_>,
    means: Object<'_, '_>,
    covars: Object<'_, '_>,
    Ks: Object<'_, '_>,
    width: i64,
    height: i64,
    camera_model: &str,
    v_means2d: Object<'_, '_>,
    v_covars2d: Object<'_, '_>,
    v_means: Object<'_, '_>,
    v_covars: Object<'_, '_>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let input = Arguments::read(&mut call, [means, covars, Ks], [width, height])?;
    let v_means2d = call.floats("v_means2d", v_means2d, &[I, ROWS, Is(2)])?;
    let v_covars2d = call.floats("v_covars2d", v_covars2d, &[I, ROWS, Is(2), Is(2)])?;
    let mut v_means = call.floats_out("v_means", v_means, &[I, ROWS, Is(3)])?;
    let mut v_covars = call.floats_out("v_covars", v_covars, &[I, ROWS, Is(3), Is(3)])?;
    if let Some(card) = call.card(stream)? {
        let input = input.on_card(&call, &card, camera_on_card(camera_model)?);
        let v = [&v_means2d, &v_covars2d].map(|v| v.on(&card));
        let out = [&v_means, &v_covars].map(|v| v.on(&card));
        return card.run(py, |on| on_card::simple_backward(on, &input, v, out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = input.simple::<F>(&call, &checked, camera(camera_model)?);
        let v_means2d = v_means2d.slice::<F>(&checked);
        let v_covars2d = v_covars2d.slice::<F>(&checked);
        let (v_means, v_covars) = (v_means.slice::<F>(&checked), v_covars.slice::<F>(&checked));
        run(py, &checked, || {
            projection::simple_backward(&input, v_means2d, v_covars2d, v_means, v_covars)
        })
    })
}
