//! Splats of Gaussians for each camera, and their gradients: launches projection.cu and
//! projection_backward.cu, through lenses and rolling shutters once for each camera.

mod backward;
mod kernels;
mod lens;
mod scene;
#[cfg(test)]
mod tests;

pub use backward::backward;
pub(super) use kernels::programs;
pub use scene::{
    CameraModel, Culling, GaussianGradients, Model, RadiusRule, Scene, Shapes, SplatGradients,
    Splats,
};

use super::slice::optional;
use super::{BLOCK, OnStream};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::{KernelLens, LensKind};
use bytemuck::Zeroable;
use kernels::{ProjectionParams, forward_program};
use splatcore_core::BackendError;

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
    let lenses = lens::checked(scene)?;
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
        camera_model: scene.model.number(),
        radius_rule: culling.radius_rule as u32,
        radii: out.radii.with_len("radii", 2 * splats)?,
        means2d: out.means2d.with_len("means2d", 2 * splats)?,
        depths: out.depths.with_len("depths", splats)?,
        conics: out.conics.with_len("conics", 3 * splats)?,
        compensations: optional(out.compensations, "compensations", splats)?,
        camera: KernelCamera::zeroed(),
        lens: KernelLens::zeroed(),
    };
    let Some(lenses) = lenses else {
        let blocks = splats.div_ceil(BLOCK as usize);
        return on.launch_one(&forward_program(LensKind::Pinhole), blocks, BLOCK, &params);
    };
    for (image, (camera, lens)) in lenses.into_iter().enumerate() {
        let of_image = ProjectionParams {
            camera,
            lens,
            ..params.of_image(scene, image)
        };
        let blocks = scene.gaussians.div_ceil(BLOCK as usize);
        on.launch_one(&forward_program(lens.kind()), blocks, BLOCK, &of_image)?;
    }
    Ok(())
}
