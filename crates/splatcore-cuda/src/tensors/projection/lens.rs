//! What launches of the projections through lenses and rolling shutters take, one for each camera.

use super::kernels::{ProjectionBackwardParams, ProjectionParams};
use super::scene::{Model, Scene, Shapes};
use crate::device::error::device_error;
use crate::device::params::Address;
use crate::ops::camera::KernelCamera;
use crate::ops::lens::KernelLens;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{BackendError, Camera};

/// The cameras of a scene of the unscented transform, as kernels take them; `None` of another.
///
/// # Errors
/// If there is another number of them, one cannot be, or shapes are covariances.
pub(super) fn checked(
    scene: &Scene<'_>,
) -> Result<Option<Vec<(KernelCamera, KernelLens)>>, BackendError> {
    let Model::Unscented(cameras) = scene.model else {
        return Ok(None);
    };
    let wanted = scene.batches * scene.cameras;
    if cameras.len() != wanted {
        let words = format!("there are {} cameras, but must be {wanted}", cameras.len());
        return Err(device_error(words));
    }
    if let Shapes::Covars(_) = scene.shapes {
        let words = "the unscented transform takes quaternions and scales, not covariances";
        return Err(device_error(words.into()));
    }
    let all: Result<_, _> = cameras.iter().map(kernel_camera).collect();
    all.map(Some)
}

fn kernel_camera(camera: &Camera) -> Result<(KernelCamera, KernelLens), BackendError> {
    if let Some(defect) = camera.defect() {
        return Err(device_error(format!("a camera cannot be: {defect}")));
    }
    let lens = KernelLens::unscented(camera)
        .ok_or_else(|| device_error(format!("{} is no polynomial lens", camera.lens.name())))?;
    Ok((KernelCamera::new(camera, &RenderOptions::default()), lens))
}

/// An address so many values of four bytes further on; null stays null.
fn at(address: Address, values: usize) -> Address {
    match address {
        0 => 0,
        address => address + 4 * values as u64,
    }
}

/// The first Gaussian of an image's batch and the first of its splats.
fn rows(scene: &Scene<'_>, image: usize) -> (usize, usize) {
    let n = scene.gaussians;
    (image / scene.cameras.max(1) * n, image * n)
}

impl ProjectionParams {
    /// For one of the images, whose camera is to be added.
    pub(super) fn of_image(&self, scene: &Scene<'_>, image: usize) -> Self {
        let (row, splat) = rows(scene, image);
        Self {
            means: at(self.means, 3 * row),
            quats: at(self.quats, 4 * row),
            scales: at(self.scales, 3 * row),
            opacities: at(self.opacities, row),
            batches: 1,
            cameras: 1,
            radii: at(self.radii, 2 * splat),
            means2d: at(self.means2d, 2 * splat),
            depths: at(self.depths, splat),
            conics: at(self.conics, 3 * splat),
            compensations: at(self.compensations, splat),
            ..*self
        }
    }
}

impl ProjectionBackwardParams {
    /// For one of the images, whose camera is to be added.
    pub(super) fn of_image(&self, scene: &Scene<'_>, image: usize) -> Self {
        let (row, splat) = rows(scene, image);
        Self {
            means: at(self.means, 3 * row),
            quats: at(self.quats, 4 * row),
            scales: at(self.scales, 3 * row),
            batches: 1,
            cameras: 1,
            radii: at(self.radii, 2 * splat),
            conics: at(self.conics, 3 * splat),
            compensations: at(self.compensations, splat),
            v_means2d: at(self.v_means2d, 2 * splat),
            v_depths: at(self.v_depths, splat),
            v_conics: at(self.v_conics, 3 * splat),
            v_compensations: at(self.v_compensations, splat),
            v_means: at(self.v_means, 3 * row),
            v_quats: at(self.v_quats, 4 * row),
            v_scales: at(self.v_scales, 3 * row),
            v_viewmats: at(self.v_viewmats, 16 * image),
            v_ks: at(self.v_ks, 9 * image),
            ..*self
        }
    }
}
