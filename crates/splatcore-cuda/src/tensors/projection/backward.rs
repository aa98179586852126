//! Gradients of the projection: launches projection_backward.cu.

use super::kernels::{BACKWARD_BLOCK as BLOCK, ProjectionBackwardParams, backward_program};
use super::lens;
use super::scene::{GaussianGradients, Scene, Shapes, SplatGradients};
use crate::device::error::device_error;
use crate::ops::camera::KernelCamera;
use crate::ops::lens::{KernelLens, LensKind};
use crate::tensors::OnStream;
use crate::tensors::slice::optional;
use bytemuck::Zeroable;
use splatcore_core::BackendError;

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
    let lenses = lens::checked(scene)?;
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
        camera_model: scene.model.number(),
        adds: 0,
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
        camera: KernelCamera::zeroed(),
        lens: KernelLens::zeroed(),
    };
    let mut zeroed = vec![out.v_viewmats, out.v_ks, others[0], others[1]];
    if lenses.as_ref().is_some_and(Vec::is_empty) {
        zeroed.extend([out.v_means, out.v_quats, out.v_scales]);
    }
    let mut zeroed = zeroed.into_iter().flatten();
    zeroed.try_for_each(|slice| on.zero(slice))?;
    let blocks = scene.gaussians.div_ceil(BLOCK as usize);
    let Some(lenses) = lenses else {
        let program = backward_program(LensKind::Pinhole, false);
        return on.launch_one(&program, blocks * scene.batches, BLOCK, &params);
    };
    for (image, (camera, lens)) in lenses.into_iter().enumerate() {
        let of_image = ProjectionBackwardParams {
            camera,
            lens,
            adds: (image % scene.cameras != 0).into(),
            ..params.of_image(scene, image)
        };
        let program = backward_program(lens.kind(), params.v_ks != 0);
        on.launch_one(&program, blocks, BLOCK, &of_image)?;
    }
    Ok(())
}

/// An error if a gradient is asked for what is not given.
fn refuse(is_wrong: bool, words: &str) -> Result<(), BackendError> {
    match is_wrong {
        true => Err(device_error(words.into())),
        false => Ok(()),
    }
}
