//! Covariances and projections.

use super::call::Side::{Is, Named};
use super::call::{Call, Checked, Input, Object, Side, for_float, maybe, maybe_out, run, size};
use super::view::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::tensors::projection::{
    Backward, CameraModel, Culling, Gradients, RadiusRule, Scene, Simple, Splats,
};
use splatcore::tensors::quat_scale::{QuatScale, Shapes};
use splatcore::tensors::{Real, projection, quat_scale};

const B: Side = Named("B");
const C: Side = Named("C");
const I: Side = Named("I");
const N: Side = Named("N");
const ROWS: Side = Named("n");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(quat_scale_to_covar_preci_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(quat_scale_to_covar_preci_bwd, module)?)?;
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

fn radius_rule(rule: &str) -> PyResult<RadiusRule> {
    match rule {
        "gsplat-1.5" => Ok(RadiusRule::Gsplat15),
        "three-sigma" => Ok(RadiusRule::ThreeSigma),
        other => Err(PyValueError::new_err(format!(
            "radius_rule must be \"gsplat-1.5\" or \"three-sigma\", found {other:?}"
        ))),
    }
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
    let (mut call, _) = (Call::default(), stream);
    let quats = call.floats("quats", quats, &[ROWS, Is(4)])?;
    let scales = call.floats("scales", scales, &[ROWS, Is(3)])?;
    let mut covars = call.maybe_floats_out("covars", covars, &matrix(triu))?;
    let mut precis = call.maybe_floats_out("precis", precis, &matrix(triu))?;
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
    let (mut call, _) = (Call::default(), stream);
    let quats = call.floats("quats", quats, &[ROWS, Is(4)])?;
    let scales = call.floats("scales", scales, &[ROWS, Is(3)])?;
    let v_covars = call.maybe_floats("v_covars", v_covars, &matrix(triu))?;
    let v_precis = call.maybe_floats("v_precis", v_precis, &matrix(triu))?;
    let mut v_quats = call.floats_out("v_quats", v_quats, &[ROWS, Is(4)])?;
    let mut v_scales = call.floats_out("v_scales", v_scales, &[ROWS, Is(3)])?;
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
    let (mut call, _) = (Call::default(), stream);
    let means = call.floats("means", means, &[I, ROWS, Is(3)])?;
    let covars = call.floats("covars", covars, &[I, ROWS, Is(3), Is(3)])?;
    let ks = call.floats("Ks", Ks, &[I, Is(3), Is(3)])?;
    let mut means2d = call.floats_out("means2d", means2d, &[I, ROWS, Is(2)])?;
    let mut covars2d = call.floats_out("covars2d", covars2d, &[I, ROWS, Is(2), Is(2)])?;
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
    let (mut call, _) = (Call::default(), stream);
    let means = call.floats("means", means, &[I, ROWS, Is(3)])?;
    let covars = call.floats("covars", covars, &[I, ROWS, Is(3), Is(3)])?;
    let ks = call.floats("Ks", Ks, &[I, Is(3), Is(3)])?;
    let v_means2d = call.floats("v_means2d", v_means2d, &[I, ROWS, Is(2)])?;
    let v_covars2d = call.floats("v_covars2d", v_covars2d, &[I, ROWS, Is(2), Is(2)])?;
    let mut v_means = call.floats_out("v_means", v_means, &[I, ROWS, Is(3)])?;
    let mut v_covars = call.floats_out("v_covars", v_covars, &[I, ROWS, Is(3), Is(3)])?;
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
        run(py, &checked, || {
            projection::simple_backward(&input, v_means2d, v_covars2d, v_means, v_covars)
        })
    })
}

/// What both passes of a projection read.
struct SceneArguments<'a> {
    means: Input<'a>,
    covars: Option<Input<'a>>,
    quats: Option<Input<'a>>,
    scales: Option<Input<'a>>,
    viewmats: Input<'a>,
    ks: Input<'a>,
}

impl<'a> SceneArguments<'a> {
    fn read(
        call: &mut Call,
        [means, viewmats, ks]: [Object<'a, '_>; 3],
        [covars, quats, scales]: [Option<Object<'a, '_>>; 3],
    ) -> PyResult<Self> {
        Ok(Self {
            means: call.floats("means", means, &[B, N, Is(3)])?,
            covars: call.maybe_floats("covars", covars, &[B, N, Is(6)])?,
            quats: call.maybe_floats("quats", quats, &[B, N, Is(4)])?,
            scales: call.maybe_floats("scales", scales, &[B, N, Is(3)])?,
            viewmats: call.floats("viewmats", viewmats, &[B, C, Is(4), Is(4)])?,
            ks: call.floats("Ks", ks, &[B, C, Is(3), Is(3)])?,
        })
    }

    fn scene<'b, F: Real + Value>(
        &'b self,
        call: &Call,
        checked: &Checked,
        [width, height]: [u32; 2],
        eps2d: f64,
        model: CameraModel,
    ) -> PyResult<Scene<'b, F>> {
        let shapes = Shapes::given(
            maybe(&self.covars, checked),
            maybe(&self.quats, checked),
            maybe(&self.scales, checked),
        );
        Ok(Scene {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: self.means.slice(checked),
            shapes: shapes.map_err(|error| PyValueError::new_err(error.to_string()))?,
            viewmats: self.viewmats.slice(checked),
            ks: self.ks.slice(checked),
            width,
            height,
            eps2d: F::of(eps2d),
            model,
        })
    }
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
    let (mut call, _) = (Call::default(), stream);
    let scene = [means, viewmats, Ks];
    let scene = SceneArguments::read(&mut call, scene, [covars, quats, scales])?;
    let opacities = call.maybe_floats("opacities", opacities, &[B, N])?;
    let mut radii = call.values_out::<i32>("radii", radii, &[B, C, N, Is(2)])?;
    let mut means2d = call.floats_out("means2d", means2d, &[B, C, N, Is(2)])?;
    let mut depths = call.floats_out("depths", depths, &[B, C, N])?;
    let mut conics = call.floats_out("conics", conics, &[B, C, N, Is(3)])?;
    let mut compensations = call.maybe_floats_out("compensations", compensations, &[B, C, N])?;
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let sizes = [size("width", width)?, size("height", height)?];
        let model = camera(camera_model)?;
        let scene = scene.scene::<F>(&call, &checked, sizes, eps2d, model)?;
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
        run(py, &checked, || projection::forward(&scene, opacities, &culling, out))
    })
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
    let (mut call, _) = (Call::default(), stream);
    let scene = [means, viewmats, Ks];
    let scene = SceneArguments::read(&mut call, scene, [covars, quats, scales])?;
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
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let sizes = [size("width", width)?, size("height", height)?];
        let model = camera(camera_model)?;
        let scene = scene.scene::<F>(&call, &checked, sizes, eps2d, model)?;
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
        run(py, &checked, || projection::backward(&scene, &input, out))
    })
}
