//! Projections.

use super::call::Side::{Is, Named};
use super::call::{Call, Input, Object, Side, for_float, maybe, maybe_on, maybe_out, maybe_out_on};
use super::call::{run, size};
use super::card::Card;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::cuda::tensors::projection as on_card;
use splatcore::tensors::projection::{
    Backward, CameraModel, Culling, Gradients, RadiusRule, Scene, Simple, Splats,
};
use splatcore::tensors::quat_scale::Shapes;
use splatcore::tensors::{Real, projection};

const B: Side = Named("B");
const C: Side = Named("C");
const I: Side = Named("I");
const N: Side = Named("N");
const ROWS: Side = Named("n");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(projection_simple_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(projection_simple_bwd, module)?)?;
    module.add_function(wrap_pyfunction!(projection_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(projection_bwd, module)?)
}

fn camera(model: &str) -> PyResult<CameraModel> {
    match model {
        "pinhole" => Ok(CameraModel::Pinhole),
        "ortho" => Ok(CameraModel::Ortho),
        "fisheye" => Ok(CameraModel::Fisheye),
        other => Err(PyValueError::new_err(format!(
            "camera_model must be \"pinhole\", \"ortho\" or \"fisheye\", found {other:?}"
        ))),
    }
}

fn model_on_card(model: CameraModel) -> on_card::CameraModel {
    match model {
        CameraModel::Pinhole => on_card::CameraModel::Pinhole,
        CameraModel::Ortho => on_card::CameraModel::Ortho,
        CameraModel::Fisheye => on_card::CameraModel::Fisheye,
    }
}

fn shapes_on_card(
    card: &Card,
    covars: &Option<Input<'_>>,
    quats: &Option<Input<'_>>,
    scales: &Option<Input<'_>>,
) -> PyResult<on_card::Shapes> {
    match (covars, quats, scales) {
        (Some(covars), None, None) => Ok(on_card::Shapes::Covars(covars.on(card))),
        (None, Some(quats), Some(scales)) => {
            Ok(on_card::Shapes::QuatScale(quats.on(card), scales.on(card)))
        }
        _ => {
            // Without values, for the error alone.
            let given = |input: &Option<Input<'_>>| input.as_ref().map(|_| &[][..]);
            shapes::<f32>(given(covars), given(quats), given(scales))?;
            Err(PyValueError::new_err(
                "covars do not go with quats and scales",
            ))
        }
    }
}

fn radius_rule(rule: &str) -> PyResult<RadiusRule> {
    match rule {
        "gsplat-1.5" => Ok(RadiusRule::Gsplat15),
        "three-sigma" => Ok(RadiusRule::ThreeSigma),
        other => Err(PyValueError::new_err(format!(
            "radius_rule must be \"gsplat-1.5\" or \"three-sigma\", found {other:?}"
        ))),
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
    let means = call.floats("means", means, &[I, ROWS, Is(3)])?;
    let covars = call.floats("covars", covars, &[I, ROWS, Is(3), Is(3)])?;
    let ks = call.floats("Ks", Ks, &[I, Is(3), Is(3)])?;
    let mut means2d = call.floats_out("means2d", means2d, &[I, ROWS, Is(2)])?;
    let mut covars2d = call.floats_out("covars2d", covars2d, &[I, ROWS, Is(2), Is(2)])?;
    if let Some(card) = call.card(stream)? {
        let input = on_card::Simple {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: means.on(&card),
            covars: covars.on(&card),
            ks: ks.on(&card),
            width: size("width", width)? as usize,
            height: size("height", height)? as usize,
            camera_model: model_on_card(camera(camera_model)?),
        };
        let (means2d, covars2d) = (means2d.on(&card), covars2d.on(&card));
        return card.run(py, |on| {
            on_card::simple_forward(on, &input, means2d, covars2d)
        });
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = Simple::<F> {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: means.slice(&checked),
            covars: covars.slice(&checked),
            ks: ks.slice(&checked),
            width: size("width", width)?,
            height: size("height", height)?,
            model: camera(camera_model)?,
        };
        let (means2d, covars2d) = (means2d.slice::<F>(&checked), covars2d.slice::<F>(&checked));
        run(py, || projection::simple_forward(&input, means2d, covars2d))
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
    let means = call.floats("means", means, &[I, ROWS, Is(3)])?;
    let covars = call.floats("covars", covars, &[I, ROWS, Is(3), Is(3)])?;
    let ks = call.floats("Ks", Ks, &[I, Is(3), Is(3)])?;
    let v_means2d = call.floats("v_means2d", v_means2d, &[I, ROWS, Is(2)])?;
    let v_covars2d = call.floats("v_covars2d", v_covars2d, &[I, ROWS, Is(2), Is(2)])?;
    let mut v_means = call.floats_out("v_means", v_means, &[I, ROWS, Is(3)])?;
    let mut v_covars = call.floats_out("v_covars", v_covars, &[I, ROWS, Is(3), Is(3)])?;
    if let Some(card) = call.card(stream)? {
        let input = on_card::Simple {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: means.on(&card),
            covars: covars.on(&card),
            ks: ks.on(&card),
            width: size("width", width)? as usize,
            height: size("height", height)? as usize,
            camera_model: model_on_card(camera(camera_model)?),
        };
        let v = [&v_means2d, &v_covars2d].map(|v| v.on(&card));
        let out = [&v_means, &v_covars].map(|v| v.on(&card));
        return card.run(py, |on| on_card::simple_backward(on, &input, v, out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let input = Simple::<F> {
            images: call.side("I"),
            gaussians: call.side("n"),
            means: means.slice(&checked),
            covars: covars.slice(&checked),
            ks: ks.slice(&checked),
            width: size("width", width)?,
            height: size("height", height)?,
            model: camera(camera_model)?,
        };
        let v_means2d = v_means2d.slice::<F>(&checked);
        let v_covars2d = v_covars2d.slice::<F>(&checked);
        let (v_means, v_covars) = (v_means.slice::<F>(&checked), v_covars.slice::<F>(&checked));
        run(py, || {
            projection::simple_backward(&input, v_means2d, v_covars2d, v_means, v_covars)
        })
    })
}

/// Writes what each camera sees of each Gaussian. ``radius_rule`` is ``"gsplat-1.5"`` or
/// ``"three-sigma"``. A splat that is culled has radii of 0.
#[pyfunction]
#[pyo3(signature = (
    means, covars, quats, scales, opacities, viewmats, Ks, width, height, eps2d, near_plane,
    far_plane, radius_clip, camera_model, radius_rule, radii, means2d, depths, conics,
    compensations, *, stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn projection_fwd(
    py: Python<'_>,
    means: Object<'_, '_>,
    covars: Option<Object<'_, '_>>,
    quats: Option<Object<'_, '_>>,
    scales: Option<Object<'_, '_>>,
    opacities: Option<Object<'_, '_>>,
    viewmats: Object<'_, '_>,
    Ks: Object<'_, '_>,
    width: i64,
    height: i64,
    eps2d: f64,
    near_plane: f64,
    far_plane: f64,
    radius_clip: f64,
    camera_model: &str,
    radius_rule: &str,
    radii: Object<'_, '_>,
    means2d: Object<'_, '_>,
    depths: Object<'_, '_>,
    conics: Object<'_, '_>,
    compensations: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let means = call.floats("means", means, &[B, N, Is(3)])?;
    let covars = call.maybe_floats("covars", covars, &[B, N, Is(6)])?;
    let quats = call.maybe_floats("quats", quats, &[B, N, Is(4)])?;
    let scales = call.maybe_floats("scales", scales, &[B, N, Is(3)])?;
    let opacities = call.maybe_floats("opacities", opacities, &[B, N])?;
    let viewmats = call.floats("viewmats", viewmats, &[B, C, Is(4), Is(4)])?;
    let ks = call.floats("Ks", Ks, &[B, C, Is(3), Is(3)])?;
    let mut radii = call.values_out::<i32>("radii", radii, &[B, C, N, Is(2)])?;
    let mut means2d = call.floats_out("means2d", means2d, &[B, C, N, Is(2)])?;
    let mut depths = call.floats_out("depths", depths, &[B, C, N])?;
    let mut conics = call.floats_out("conics", conics, &[B, C, N, Is(3)])?;
    let mut compensations = call.maybe_floats_out("compensations", compensations, &[B, C, N])?;
    if let Some(card) = call.card(stream)? {
        let scene = on_card::Scene {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: means.on(&card),
            shapes: shapes_on_card(&card, &covars, &quats, &scales)?,
            viewmats: viewmats.on(&card),
            ks: ks.on(&card),
            width: size("width", width)? as usize,
            height: size("height", height)? as usize,
            eps2d: eps2d as f32,
            camera_model: model_on_card(camera(camera_model)?),
        };
        let culling = on_card::Culling {
            near_plane: near_plane as f32,
            far_plane: far_plane as f32,
            radius_clip: radius_clip as f32,
            radius_rule: match self::radius_rule(radius_rule)? {
                RadiusRule::Gsplat15 => on_card::RadiusRule::Gsplat15,
                RadiusRule::ThreeSigma => on_card::RadiusRule::ThreeSigma,
            },
            opacities: maybe_on(&opacities, &card),
        };
        let out = on_card::Splats {
            radii: radii.on(&card),
            means2d: means2d.on(&card),
            depths: depths.on(&card),
            conics: conics.on(&card),
            compensations: maybe_out_on(&compensations, &card),
        };
        return card.run(py, |on| on_card::forward(on, &scene, &culling, &out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let scene = Scene::<F> {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: means.slice(&checked),
            shapes: shapes(
                maybe(&covars, &checked),
                maybe(&quats, &checked),
                maybe(&scales, &checked),
            )?,
            viewmats: viewmats.slice(&checked),
            ks: ks.slice(&checked),
            width: size("width", width)?,
            height: size("height", height)?,
            eps2d: F::of(eps2d),
            model: camera(camera_model)?,
        };
        let culling = Culling {
            near_plane: F::of(near_plane),
            far_plane: F::of(far_plane),
            radius_clip: F::of(radius_clip),
            rule: self::radius_rule(radius_rule)?,
        };
        let out = Splats {
            radii: radii.slice(&checked),
            means2d: means2d.slice(&checked),
            depths: depths.slice(&checked),
            conics: conics.slice(&checked),
            compensations: maybe_out(&mut compensations, &checked),
        };
        let opacities = maybe(&opacities, &checked);
        run(py, || projection::forward(&scene, opacities, &culling, out))
    })
}

fn shapes<'a, F: Real>(
    covars: Option<&'a [F]>,
    quats: Option<&'a [F]>,
    scales: Option<&'a [F]>,
) -> PyResult<Shapes<'a, F>> {
    Shapes::given(covars, quats, scales).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Writes the gradients that are asked for, those of Gaussians summed over cameras and those of
/// cameras over Gaussians. ``v_Ks`` is ``[B, C, 3, 3]``.
#[pyfunction]
#[pyo3(signature = (
    means, covars, quats, scales, viewmats, Ks, width, height, eps2d, camera_model, radii, conics,
    compensations, v_means2d, v_depths, v_conics, v_compensations, v_means, v_covars, v_quats,
    v_scales, v_viewmats, v_Ks, *, stream=0
))]
#[expect(non_snake_case, reason = "gsplat's name")]
fn projection_bwd(
    py: Python<'_>,
    means: Object<'_, '_>,
    covars: Option<Object<'_, '_>>,
    quats: Option<Object<'_, '_>>,
    scales: Option<Object<'_, '_>>,
    viewmats: Object<'_, '_>,
    Ks: Object<'_, '_>,
    width: i64,
    height: i64,
    eps2d: f64,
    camera_model: &str,
    radii: Object<'_, '_>,
    conics: Object<'_, '_>,
    compensations: Option<Object<'_, '_>>,
    v_means2d: Object<'_, '_>,
    v_depths: Object<'_, '_>,
    v_conics: Object<'_, '_>,
    v_compensations: Option<Object<'_, '_>>,
    v_means: Option<Object<'_, '_>>,
    v_covars: Option<Object<'_, '_>>,
    v_quats: Option<Object<'_, '_>>,
    v_scales: Option<Object<'_, '_>>,
    v_viewmats: Option<Object<'_, '_>>,
    v_Ks: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let means = call.floats("means", means, &[B, N, Is(3)])?;
    let covars = call.maybe_floats("covars", covars, &[B, N, Is(6)])?;
    let quats = call.maybe_floats("quats", quats, &[B, N, Is(4)])?;
    let scales = call.maybe_floats("scales", scales, &[B, N, Is(3)])?;
    let viewmats = call.floats("viewmats", viewmats, &[B, C, Is(4), Is(4)])?;
    let ks = call.floats("Ks", Ks, &[B, C, Is(3), Is(3)])?;
    let radii = call.values::<i32>("radii", radii, &[B, C, N, Is(2)])?;
    let conics = call.floats("conics", conics, &[B, C, N, Is(3)])?;
    let compensations = call.maybe_floats("compensations", compensations, &[B, C, N])?;
    let v_means2d = call.floats("v_means2d", v_means2d, &[B, C, N, Is(2)])?;
    let v_depths = call.floats("v_depths", v_depths, &[B, C, N])?;
    let v_conics = call.floats("v_conics", v_conics, &[B, C, N, Is(3)])?;
    let v_compensations = call.maybe_floats("v_compensations", v_compensations, &[B, C, N])?;
    let mut v_means = call.maybe_floats_out("v_means", v_means, &[B, N, Is(3)])?;
    let mut v_covars = call.maybe_floats_out("v_covars", v_covars, &[B, N, Is(6)])?;
    let mut v_quats = call.maybe_floats_out("v_quats", v_quats, &[B, N, Is(4)])?;
    let mut v_scales = call.maybe_floats_out("v_scales", v_scales, &[B, N, Is(3)])?;
    let mut v_viewmats = call.maybe_floats_out("v_viewmats", v_viewmats, &[B, C, Is(4), Is(4)])?;
    let mut v_ks = call.maybe_floats_out("v_Ks", v_Ks, &[B, C, Is(3), Is(3)])?;
    if let Some(card) = call.card(stream)? {
        let scene = on_card::Scene {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: means.on(&card),
            shapes: shapes_on_card(&card, &covars, &quats, &scales)?,
            viewmats: viewmats.on(&card),
            ks: ks.on(&card),
            width: size("width", width)? as usize,
            height: size("height", height)? as usize,
            eps2d: eps2d as f32,
            camera_model: model_on_card(camera(camera_model)?),
        };
        let input = on_card::SplatGradients {
            radii: radii.on(&card),
            conics: conics.on(&card),
            compensations: maybe_on(&compensations, &card),
            v_means2d: v_means2d.on(&card),
            v_depths: v_depths.on(&card),
            v_conics: v_conics.on(&card),
            v_compensations: maybe_on(&v_compensations, &card),
        };
        let out = on_card::GaussianGradients {
            v_means: maybe_out_on(&v_means, &card),
            v_covars: maybe_out_on(&v_covars, &card),
            v_quats: maybe_out_on(&v_quats, &card),
            v_scales: maybe_out_on(&v_scales, &card),
            v_viewmats: maybe_out_on(&v_viewmats, &card),
            v_ks: maybe_out_on(&v_ks, &card),
        };
        return card.run(py, |on| on_card::backward(on, &scene, &input, &out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let scene = Scene::<F> {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: means.slice(&checked),
            shapes: shapes(
                maybe(&covars, &checked),
                maybe(&quats, &checked),
                maybe(&scales, &checked),
            )?,
            viewmats: viewmats.slice(&checked),
            ks: ks.slice(&checked),
            width: size("width", width)?,
            height: size("height", height)?,
            eps2d: F::of(eps2d),
            model: camera(camera_model)?,
        };
        let input = Backward {
            radii: radii.slice(&checked),
            conics: conics.slice(&checked),
            compensations: maybe(&compensations, &checked),
            v_means2d: v_means2d.slice(&checked),
            v_depths: v_depths.slice(&checked),
            v_conics: v_conics.slice(&checked),
            v_compensations: maybe(&v_compensations, &checked),
        };
        let out = Gradients {
            v_means: maybe_out(&mut v_means, &checked),
            v_covars: maybe_out(&mut v_covars, &checked),
            v_quats: maybe_out(&mut v_quats, &checked),
            v_scales: maybe_out(&mut v_scales, &checked),
            v_viewmats: maybe_out(&mut v_viewmats, &checked),
            v_ks: maybe_out(&mut v_ks, &checked),
        };
        run(py, || projection::backward(&scene, &input, out))
    })
}
