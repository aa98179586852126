//! Gradients of the projection: launches projection_backward.cu.

use super::lens;
use super::scene::{GaussianGradients, Model, Scene, Shapes, SplatGradients};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use crate::tensors::OnStream;
use crate::tensors::slice::optional;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `projection_backward` (projection_backward.cu).
    pub struct ProjectionBackwardParams {
        means: Address,
        covars: Address,
        quats: Address,
        scales: Address,
        viewmats: Address,
        ks: Address,
        batches: u32,
        cameras: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        eps2d: f32,
        camera_model: u32,
        radii: Address,
        conics: Address,
        compensations: Address,
        v_means2d: Address,
        v_depths: Address,
        v_conics: Address,
        v_compensations: Address,
        v_means: Address,
        v_covars: Address,
        v_quats: Address,
        v_scales: Address,
        v_viewmats: Address,
        v_ks: Address,
    }
}

/// Threads of a block: fewer than elsewhere, as each needs many registers.
const BLOCK: u32 = 128;

/// What [`backward`] launches.
pub(in crate::tensors) fn program() -> Program {
    sources::program(
        "projection_backward.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [ProjectionBackwardParams::kernel("projection_backward")],
    )
}

/// Gradients of [`super::forward`]: those of Gaussians summed over cameras, those of cameras over
/// Gaussians, in an order that changes from call to call.
///
/// # Errors
/// If lengths do not agree, compensations are missing, or the device failed.
pub fn backward(
    on: &OnStream,
    scene: &Scene<'_>,
    splats: &SplatGradients,
    out: &GaussianGradients,
) -> Result<(), BackendError> {
    refuse(
        splats.v_compensations.is_some() && splats.compensations.is_none(),
        "v_compensations is given, but compensations is not",
    )?;
    let model = match scene.model {
        Model::Ewa(model) => model,
        Model::Unscented(cameras) => return lens::backward(on, scene, cameras, splats, out),
    };
    let [means, viewmats, ks] = scene.addresses()?;
    let [covars, quats, scales] = scene.shapes.addresses(scene.rows())?;
    let [batches, cameras, gaussians, width, height] = scene.words()?;
    let (rows, count) = (scene.rows(), scene.splats());
    let shapes = [
        optional(out.v_covars, "v_covars", 6 * rows)?,
        optional(out.v_quats, "v_quats", 4 * rows)?,
        optional(out.v_scales, "v_scales", 3 * rows)?,
    ];
    // The kernel writes the gradients of the shapes that were given; those of the others are 0.
    let ([v_covars, v_quats, v_scales], others) = match scene.shapes {
        Shapes::Covars(_) => ([shapes[0], 0, 0], [out.v_quats, out.v_scales]),
        Shapes::QuatScale(..) => ([0, shapes[1], shapes[2]], [out.v_covars, None]),
    };
    let all_cameras = scene.batches * scene.cameras;
    let params = ProjectionBackwardParams {
        means,
        covars,
        quats,
        scales,
        viewmats,
        ks,
        batches,
        cameras,
        gaussians,
        width,
        height,
        eps2d: scene.eps2d,
        camera_model: model as u32,
        radii: splats.radii.with_len("radii", 2 * count)?,
        conics: splats.conics.with_len("conics", 3 * count)?,
        compensations: optional(splats.compensations, "compensations", count)?,
        v_means2d: splats.v_means2d.with_len("v_means2d", 2 * count)?,
        v_depths: optional(splats.v_depths, "v_depths", count)?,
        v_conics: splats.v_conics.with_len("v_conics", 3 * count)?,
        v_compensations: optional(splats.v_compensations, "v_compensations", count)?,
        v_means: optional(out.v_means, "v_means", 3 * rows)?,
        v_covars,
        v_quats,
        v_scales,
        v_viewmats: optional(out.v_viewmats, "v_viewmats", 16 * all_cameras)?,
        v_ks: optional(out.v_ks, "v_Ks", 9 * all_cameras)?,
    };
    let sums = [out.v_viewmats, out.v_ks];
    for zeroed in sums.into_iter().chain(others).flatten() {
        on.zero(zeroed)?;
    }
    let blocks = scene.gaussians.div_ceil(BLOCK as usize) * scene.batches;
    on.launch_one(&program(), blocks, BLOCK, &params)
}

/// An error if a gradient is asked for what is not given.
fn refuse(is_wrong: bool, words: &str) -> Result<(), BackendError> {
    match is_wrong {
        true => Err(device_error(words.into())),
        false => Ok(()),
    }
}
