//! Splats of Gaussians for each camera, and their gradients: launches projection.cu and
//! projection_backward.cu; without culling and blur, projection_simple.cu.

mod backward;
mod simple;
#[cfg(test)]
mod tests;

pub use backward::{GaussianGradients, SplatGradients, backward};
pub use simple::{Simple, simple_backward, simple_forward};
pub(super) use {backward::program as backward_program, simple::program as simple_program};

use super::slice::optional;
use super::{BLOCK, Floats, Ints, OnStream, word};
use crate::device::Program;
use crate::device::error::device_error;
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

/// How a camera projects; the numbers of camera_models.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameraModel {
    /// Perspective. The Jacobian is evaluated within 1.3 times the half field of view.
    Pinhole = 0,
    /// Orthographic: focal lengths are pixels a unit of length.
    Ortho = 1,
    /// Equidistant fisheye: the distance from the centre is the focal length times the angle.
    Fisheye = 2,
}

/// How far a splat reaches from its mean; the numbers of projection.cu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadiusRule {
    /// gsplat 1.5's: for each axis as far as alpha can reach 1/255, 3.33 standard deviations at
    /// most.
    Gsplat15 = 0,
    /// INRIA's: three standard deviations along the longer axis, on both axes.
    ThreeSigma = 1,
}

/// The covariances of Gaussians.
#[derive(Clone, Copy, Debug)]
pub enum Shapes {
    /// Upper triangles, `[B, N, 6]`.
    Covars(Floats),
    /// Quaternions `[B, N, 4]` and scales `[B, N, 3]`.
    QuatScale(Floats, Floats),
}

impl Shapes {
    /// Addresses of covariances, quaternions and scales; those that there are not are null.
    fn addresses(&self, rows: usize) -> Result<[Address; 3], BackendError> {
        Ok(match self {
            Self::Covars(covars) => [covars.with_len("covars", 6 * rows)?, 0, 0],
            Self::QuatScale(quats, scales) => [
                0,
                quats.with_len("quats", 4 * rows)?,
                scales.with_len("scales", 3 * rows)?,
            ],
        })
    }
}

/// Gaussians in B batches of N, and the C cameras of each batch.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// B.
    pub batches: usize,
    /// C.
    pub cameras: usize,
    /// N.
    pub gaussians: usize,
    /// `[B, N, 3]`, world space.
    pub means: Floats,
    /// `[B, N, ..]`.
    pub shapes: Shapes,
    /// World to camera, `[B, C, 4, 4]`; the last row is not read.
    pub viewmats: Floats,
    /// Pixels, `[B, C, 3, 3]`; focal lengths and principal point are read.
    pub ks: Floats,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Added to both diagonal values of a covariance in the image, square pixels.
    pub eps2d: f32,
    /// How the cameras project.
    pub camera_model: CameraModel,
}

impl Scene {
    /// B N.
    fn rows(&self) -> usize {
        self.batches * self.gaussians
    }

    /// B C N.
    fn splats(&self) -> usize {
        self.rows() * self.cameras
    }

    /// The addresses of means, viewmats and Ks.
    fn addresses(&self) -> Result<[Address; 3], BackendError> {
        let cameras = self.batches * self.cameras;
        word("the number of cameras", cameras)?;
        Ok([
            self.means.with_len("means", 3 * self.rows())?,
            self.viewmats.with_len("viewmats", 16 * cameras)?,
            self.ks.with_len("Ks", 9 * cameras)?,
        ])
    }

    /// B, C, N, width and height as kernels take them.
    fn words(&self) -> Result<[u32; 5], BackendError> {
        Ok([
            word("the number of batches", self.batches)?,
            word("the number of cameras", self.cameras)?,
            word("the number of Gaussians", self.gaussians)?,
            word("width", self.width)?,
            word("height", self.height)?,
        ])
    }
}

/// What is not drawn.
#[derive(Clone, Copy, Debug)]
pub struct Culling {
    /// Gaussians of a lower depth.
    pub near_plane: f32,
    /// Gaussians of a higher depth.
    pub far_plane: f32,
    /// Splats both of whose radii are this or less, pixels.
    pub radius_clip: f32,
    /// How radii are found.
    pub radius_rule: RadiusRule,
    /// `[B, N]`: they narrow the radii of [`RadiusRule::Gsplat15`], and Gaussians below 1/255 are
    /// culled; multiplied by the compensations if those are asked for.
    pub opacities: Option<Floats>,
}

/// What [`forward`] writes; zeros for a splat that is culled.
#[derive(Clone, Copy, Debug)]
pub struct Splats {
    /// `[B, C, N, 2]`, pixels.
    pub radii: Ints,
    /// `[B, C, N, 2]`, pixels; the middle of the first pixel is (0.5, 0.5).
    pub means2d: Floats,
    /// `[B, C, N]`, z in camera space.
    pub depths: Floats,
    /// `[B, C, N, 3]`: the upper triangle of the inverse covariance with `eps2d`.
    pub conics: Floats,
    /// `[B, C, N]`: the root of det C / det (C + eps2d I).
    pub compensations: Option<Floats>,
}

/// Projects each Gaussian into each camera of its batch.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn forward(
    on: &OnStream,
    scene: &Scene,
    culling: &Culling,
    out: &Splats,
) -> Result<(), BackendError> {
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
        camera_model: scene.camera_model as u32,
        radius_rule: culling.radius_rule as u32,
        radii: out.radii.with_len("radii", 2 * splats)?,
        means2d: out.means2d.with_len("means2d", 2 * splats)?,
        depths: out.depths.with_len("depths", splats)?,
        conics: out.conics.with_len("conics", 3 * splats)?,
        compensations: optional(out.compensations, "compensations", splats)?,
    };
    on.launch_one(&program(), splats.div_ceil(BLOCK as usize), BLOCK, &params)
}

/// An error if a gradient is asked for what is not given.
fn refuse(is_wrong: bool, words: &str) -> Result<(), BackendError> {
    match is_wrong {
        true => Err(device_error(words.into())),
        false => Ok(()),
    }
}
