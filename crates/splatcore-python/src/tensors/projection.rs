//! Projections of Gaussians in world space.

use super::call::Side::{Folded, Is, Named};
use super::call::{Call, Checked, Input, Object, Output, Side, for_float, maybe, maybe_on};
use super::call::{maybe_out, maybe_out_on, run, size};
use super::cameras::ModelArgument;
use super::card::Card;
use super::element::Value;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::cuda::tensors::{Floats, projection as on_card};
use splatcore::tensors::projection::{
    Backward, Culling, Gradients, Model, RadiusRule, Scene, Splats,
};
use splatcore::tensors::quat_scale::Shapes;
use splatcore::tensors::{Real, projection};

pub const B: Side = Folded("B");
pub const C: Side = Named("C");
pub const N: Side = Named("N");

/// Adds the functions.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(projection_fwd, module)?)?;
    module.add_function(wrap_pyfunction!(projection_bwd, module)?)
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

fn rule_on_card(rule: &str) -> PyResult<on_card::RadiusRule> {
    Ok(match radius_rule(rule)? {
        RadiusRule::Gsplat15 => on_card::RadiusRule::Gsplat15,
        RadiusRule::ThreeSigma => on_card::RadiusRule::ThreeSigma,
    })
}

/// What both passes of a projection read.
pub struct SceneArguments<'a> {
    means: Input<'a>,
    covars: Option<Input<'a>>,
    quats: Option<Input<'a>>,
    scales: Option<Input<'a>>,
    viewmats: Input<'a>,
    ks: Input<'a>,
}

impl<'a> SceneArguments<'a> {
    /// Reads them, as the first arguments.
    pub fn read(
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

    /// As the CPU takes them.
    pub fn scene<'b, F: Real + Value>(
        &'b self,
        call: &Call,
        checked: &Checked,
        [width, height]: [u32; 2],
        eps2d: f64,
        model: Model<'b>,
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

impl SceneArguments<'_> {
    /// As a card takes them.
    pub fn on_card<'b>(
        &self,
        call: &Call,
        card: &Card,
        [width, height]: [u32; 2],
        eps2d: f64,
        model: on_card::Model<'b>,
    ) -> PyResult<on_card::Scene<'b>> {
        let shapes = match (&self.covars, &self.quats, &self.scales) {
            (Some(covars), None, None) => on_card::Shapes::Covars(covars.on(card)),
            (None, Some(quats), Some(scales)) => {
                on_card::Shapes::QuatScale(quats.on(card), scales.on(card))
            }
            _ => {
                return Err(PyValueError::new_err(
                    "covars must be given without quats and scales, or None with both of them",
                ));
            }
        };
        Ok(on_card::Scene {
            batches: call.side("B"),
            cameras: call.side("C"),
            gaussians: call.side("N"),
            means: self.means.on(card),
            shapes,
            viewmats: self.viewmats.on(card),
            ks: self.ks.on(card),
            width: width as usize,
            height: height as usize,
            eps2d: eps2d as f32,
            model,
        })
    }
}

/// What is not drawn, in world units and pixels.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub near_plane: f64,
    pub far_plane: f64,
    pub radius_clip: f64,
    pub radius_rule: &'a str,
}

impl Limits<'_> {
    /// As the CPU takes them.
    pub fn culling<F: Real>(self) -> PyResult<Culling<F>> {
        Ok(Culling {
            near_plane: F::of(self.near_plane),
            far_plane: F::of(self.far_plane),
            radius_clip: F::of(self.radius_clip),
            rule: radius_rule(self.radius_rule)?,
        })
    }

    /// As a card takes them.
    pub fn on_card(self, opacities: Option<Floats>) -> PyResult<on_card::Culling> {
        Ok(on_card::Culling {
            near_plane: self.near_plane as f32,
            far_plane: self.far_plane as f32,
            radius_clip: self.radius_clip as f32,
            radius_rule: rule_on_card(self.radius_rule)?,
            opacities,
        })
    }
}

/// What a projection writes.
pub struct SplatOutputs<'a> {
    pub radii: Output<'a>,
    pub means2d: Output<'a>,
    pub depths: Output<'a>,
    pub conics: Output<'a>,
    pub compensations: Option<Output<'a>>,
}

impl<'a> SplatOutputs<'a> {
    /// Reads them, behind the scene.
    pub fn read(
        call: &mut Call,
        [radii, means2d, depths, conics]: [Object<'a, '_>; 4],
        compensations: Option<Object<'a, '_>>,
    ) -> PyResult<Self> {
        Ok(Self {
            radii: call.values_out::<i32>("radii", radii, &[B, C, N, Is(2)])?,
            means2d: call.floats_out("means2d", means2d, &[B, C, N, Is(2)])?,
            depths: call.floats_out("depths", depths, &[B, C, N])?,
            conics: call.floats_out("conics", conics, &[B, C, N, Is(3)])?,
            compensations: call.maybe_floats_out("compensations", compensations, &[B, C, N])?,
        })
    }

    /// To be written on the CPU.
    pub fn slices<F: Real + Value>(&mut self, checked: &Checked) -> Splats<'_, F> {
        Splats {
            radii: self.radii.slice(checked),
            means2d: self.means2d.slice(checked),
            depths: self.depths.slice(checked),
            conics: self.conics.slice(checked),
            compensations: maybe_out(&mut self.compensations, checked),
        }
    }

    /// To be written on a card.
    pub fn on_card(&self, card: &Card) -> on_card::Splats {
        on_card::Splats {
            radii: self.radii.on(card),
            means2d: self.means2d.on(card),
            depths: self.depths.on(card),
            conics: self.conics.on(card),
            compensations: maybe_out_on(&self.compensations, card),
        }
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
    camera_model: ModelArgument,
    radius_rule: &str,
    radii: Object<'_, '_>,
    means2d: Object<'_, '_>,
    depths: Object<'_, '_>,
    conics: Object<'_, '_>,
    compensations: Option<Object<'_, '_>>,
    stream: usize,
) -> PyResult<()> {
    let mut call = Call::default();
    let sizes = [size("width", width)?, size("height", height)?];
    let scene = [means, viewmats, Ks];
    let scene = SceneArguments::read(&mut call, scene, [covars, quats, scales])?;
    let opacities = call.maybe_floats("opacities", opacities, &[B, N])?;
    let splats = [radii, means2d, depths, conics];
    let mut out = SplatOutputs::read(&mut call, splats, compensations)?;
    let limits = Limits {
        near_plane,
        far_plane,
        radius_clip,
        radius_rule,
    };
    if let Some(card) = call.card(stream)? {
        let model = camera_model.on_card()?;
        let scene = scene.on_card(&call, &card, sizes, eps2d, model)?;
        let culling = limits.on_card(maybe_on(&opacities, &card))?;
        let out = out.on_card(&card);
        return card.run(py, |on| on_card::forward(on, &scene, &culling, &out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let model = camera_model.on_cpu()?;
        let scene = scene.scene::<F>(&call, &checked, sizes, eps2d, model)?;
        let (culling, out) = (limits.culling::<F>()?, out.slices::<F>(&checked));
        let opacities = maybe(&opacities, &checked);
        run(py, &checked, || projection::forward(&scene, opacities, &culling, out))
    })
}

/// What the forward pass wrote, and the gradients of that.
struct SplatArguments<'a> {
    radii: Input<'a>,
    conics: Input<'a>,
    compensations: Option<Input<'a>>,
    v_means2d: Input<'a>,
    v_depths: Option<Input<'a>>,
    v_conics: Input<'a>,
    v_compensations: Option<Input<'a>>,
}

impl SplatArguments<'_> {
    fn slices<'b, F: Real + Value>(&'b self, checked: &Checked) -> Backward<'b, F> {
        Backward {
            radii: self.radii.slice(checked),
            conics: self.conics.slice(checked),
            compensations: maybe(&self.compensations, checked),
            v_means2d: self.v_means2d.slice(checked),
            v_depths: maybe(&self.v_depths, checked),
            v_conics: self.v_conics.slice(checked),
            v_compensations: maybe(&self.v_compensations, checked),
        }
    }

    fn on_card(&self, card: &Card) -> on_card::SplatGradients {
        on_card::SplatGradients {
            radii: self.radii.on(card),
            conics: self.conics.on(card),
            compensations: maybe_on(&self.compensations, card),
            v_means2d: self.v_means2d.on(card),
            v_depths: maybe_on(&self.v_depths, card),
            v_conics: self.v_conics.on(card),
            v_compensations: maybe_on(&self.v_compensations, card),
        }
    }
}

/// The gradients that are asked for.
struct GradientArguments<'a> {
    v_means: Option<Output<'a>>,
    v_covars: Option<Output<'a>>,
    v_quats: Option<Output<'a>>,
    v_scales: Option<Output<'a>>,
    v_viewmats: Option<Output<'a>>,
    v_ks: Option<Output<'a>>,
}

impl GradientArguments<'_> {
    fn slices<'b, F: Real + Value>(&'b mut self, checked: &Checked) -> Gradients<'b, F> {
        Gradients {
            v_means: maybe_out(&mut self.v_means, checked),
            v_covars: maybe_out(&mut self.v_covars, checked),
            v_quats: maybe_out(&mut self.v_quats, checked),
            v_scales: maybe_out(&mut self.v_scales, checked),
            v_viewmats: maybe_out(&mut self.v_viewmats, checked),
            v_ks: maybe_out(&mut self.v_ks, checked),
        }
    }

    fn on_card(&self, card: &Card) -> on_card::GaussianGradients {
        on_card::GaussianGradients {
            v_means: maybe_out_on(&self.v_means, card),
            v_covars: maybe_out_on(&self.v_covars, card),
            v_quats: maybe_out_on(&self.v_quats, card),
            v_scales: maybe_out_on(&self.v_scales, card),
            v_viewmats: maybe_out_on(&self.v_viewmats, card),
            v_ks: maybe_out_on(&self.v_ks, card),
        }
    }
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
    camera_model: ModelArgument,
    radii: Object<'_, '_>,
    conics: Object<'_, '_>,
    compensations: Option<Object<'_, '_>>,
    v_means2d: Object<'_, '_>,
    v_depths: Option<Object<'_, '_>>,
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
    let sizes = [size("width", width)?, size("height", height)?];
    let scene = [means, viewmats, Ks];
    let scene = SceneArguments::read(&mut call, scene, [covars, quats, scales])?;
    let input = SplatArguments {
        radii: call.values::<i32>("radii", radii, &[B, C, N, Is(2)])?,
        conics: call.floats("conics", conics, &[B, C, N, Is(3)])?,
        compensations: call.maybe_floats("compensations", compensations, &[B, C, N])?,
        v_means2d: call.floats("v_means2d", v_means2d, &[B, C, N, Is(2)])?,
        v_depths: call.maybe_floats("v_depths", v_depths, &[B, C, N])?,
        v_conics: call.floats("v_conics", v_conics, &[B, C, N, Is(3)])?,
        v_compensations: call.maybe_floats("v_compensations", v_compensations, &[B, C, N])?,
    };
    let mut out = GradientArguments {
        v_means: call.maybe_floats_out("v_means", v_means, &[B, N, Is(3)])?,
        v_covars: call.maybe_floats_out("v_covars", v_covars, &[B, N, Is(6)])?,
        v_quats: call.maybe_floats_out("v_quats", v_quats, &[B, N, Is(4)])?,
        v_scales: call.maybe_floats_out("v_scales", v_scales, &[B, N, Is(3)])?,
        v_viewmats: call.maybe_floats_out("v_viewmats", v_viewmats, &[B, C, Is(4), Is(4)])?,
        v_ks: call.maybe_floats_out("v_Ks", v_Ks, &[B, C, Is(3), Is(3)])?,
    };
    if let Some(card) = call.card(stream)? {
        let model = camera_model.on_card()?;
        let scene = scene.on_card(&call, &card, sizes, eps2d, model)?;
        let (input, out) = (input.on_card(&card), out.on_card(&card));
        return card.run(py, |on| on_card::backward(on, &scene, &input, &out));
    }
    let (checked, float) = call.check()?;
    for_float!(float, F => {
        let model = camera_model.on_cpu()?;
        let scene = scene.scene::<F>(&call, &checked, sizes, eps2d, model)?;
        let (input, out) = (input.slices::<F>(&checked), out.slices::<F>(&checked));
        run(py, &checked, || projection::backward(&scene, &input, out))
    })
}
