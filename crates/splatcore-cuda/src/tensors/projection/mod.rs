//! Splats of Gaussians for each camera, and their gradients: launches projection.cu and
//! projection_backward.cu; through lenses and rolling shutters projection_lens.cu and
//! projection_lens_backward.cu; without culling and blur, projection_simple.cu.

mod backward;
mod lens;
mod scene;
mod simple;
#[cfg(test)]
mod tests;

pub use backward::backward;
pub use scene::{
    CameraModel, Culling, GaussianGradients, Model, RadiusRule, Scene, Shapes, SplatGradients,
    Splats,
};
pub use simple::{Simple, simple_backward, simple_forward};
pub(super) use {
    backward::program as backward_program, lens::programs as lens_programs,
    simple::program as simple_program,
};

use super::slice::optional;
use super::{BLOCK, OnStream};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `projection` (projection.cu).
    pub struct ProjectionParams {
        means: Address,
        covars: Address,
        quats: Address,
        scales: Address,
        opacities: Address,
        viewmats: Address,
        ks: Address,
        batches: u32,
        cameras: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        eps2d: f32,
        near_plane: f32,
        far_plane: f32,
        radius_clip: f32,
        camera_model: u32,
        radius_rule: u32,
        radii: Address,
        means2d: Address,
        depths: Address,
        conics: Address,
        compensations: Address,
    }
}

/// What [`forward`] launches.
pub(super) fn program() -> Program {
    sources::program(
        "projection.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [ProjectionParams::kernel("projection")],
    )
}

/// Projects each Gaussian into each camera of its batch.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn forward(
    on: &OnStream,
    scene: &Scene<'_>,
    culling: &Culling,
    out: &Splats,
) -> Result<(), BackendError> {
    let model = match scene.model {
        Model::Ewa(model) => model,
        Model::Unscented(cameras) => return lens::forward(on, scene, cameras, culling, out),
    };
    let [means, viewmats, ks] = scene.addresses()?;
    let [covars, quats, scales] = scene.shapes.addresses(scene.rows())?;
    let [batches, cameras, gaussians, width, height] = scene.words()?;
    let splats = scene.splats();
    let params = ProjectionParams {
        means,
        covars,
        quats,
        scales,
        opacities: optional(culling.opacities, "opacities", scene.rows())?,
        viewmats,
        ks,
        batches,
        cameras,
        gaussians,
        width,
        height,
        eps2d: scene.eps2d,
        near_plane: culling.near_plane,
        far_plane: culling.far_plane,
        radius_clip: culling.radius_clip,
        camera_model: model as u32,
        radius_rule: culling.radius_rule as u32,
        radii: out.radii.with_len("radii", 2 * splats)?,
        means2d: out.means2d.with_len("means2d", 2 * splats)?,
        depths: out.depths.with_len("depths", splats)?,
        conics: out.conics.with_len("conics", 3 * splats)?,
        compensations: optional(out.compensations, "compensations", splats)?,
    };
    on.launch_one(&program(), splats.div_ceil(BLOCK as usize), BLOCK, &params)
}
