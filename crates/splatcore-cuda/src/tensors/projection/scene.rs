//! What projections take and write.

use crate::device::params::Address;
use crate::tensors::{Floats, Ints, word};
use splatcore_core::{BackendError, Camera};

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

/// How Gaussians become splats.
#[derive(Clone, Copy, Debug)]
pub enum Model<'a> {
    /// EWA splatting by a camera model, of `viewmats` and `ks`.
    Ewa(CameraModel),
    /// The unscented transform of the engine (ops/shared/unscented.cuh), of these cameras, `[B,
    /// C]`: `viewmats` and `ks` are not read. Through a wide fisheye depths are distances from
    /// the camera. Shapes must be quaternions and scales.
    Unscented(&'a [Camera]),
}

impl Model<'_> {
    /// `camera_model` of kernels.
    pub(super) fn number(&self) -> u32 {
        match self {
            Self::Ewa(model) => *model as u32,
            Self::Unscented(_) => 0,
        }
    }
}

/// How far a splat reaches from its mean; the numbers of make_splat.cuh.
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
    pub(super) fn addresses(&self, rows: usize) -> Result<[Address; 3], BackendError> {
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
pub struct Scene<'a> {
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
    pub model: Model<'a>,
}

impl Scene<'_> {
    /// B N.
    pub(super) fn rows(&self) -> usize {
        self.batches * self.gaussians
    }

    /// B C N.
    pub(super) fn splats(&self) -> usize {
        self.rows() * self.cameras
    }

    /// The addresses of means, viewmats and Ks.
    pub(super) fn addresses(&self) -> Result<[Address; 3], BackendError> {
        let cameras = self.batches * self.cameras;
        word("the number of cameras", cameras)?;
        Ok([
            self.means.with_len("means", 3 * self.rows())?,
            self.viewmats.with_len("viewmats", 16 * cameras)?,
            self.ks.with_len("Ks", 9 * cameras)?,
        ])
    }

    /// B, C, N, width and height as kernels take them.
    pub(super) fn words(&self) -> Result<[u32; 5], BackendError> {
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

/// What [`super::forward`] writes; zeros for a splat that is culled.
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

/// What the forward pass wrote, and the gradients of that.
#[derive(Clone, Copy, Debug)]
pub struct SplatGradients {
    /// `[B, C, N, 2]`; a splat with a radius of 0 has no gradient.
    pub radii: Ints,
    /// `[B, C, N, 3]`.
    pub conics: Floats,
    /// `[B, C, N]`, with `v_compensations`.
    pub compensations: Option<Floats>,
    /// `[B, C, N, 2]`.
    pub v_means2d: Floats,
    /// `[B, C, N]`; without it, 0.
    pub v_depths: Option<Floats>,
    /// `[B, C, N, 3]`.
    pub v_conics: Floats,
    /// `[B, C, N]`.
    pub v_compensations: Option<Floats>,
}

/// The gradients that are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct GaussianGradients {
    /// `[B, N, 3]`.
    pub v_means: Option<Floats>,
    /// `[B, N, 6]`; zero if the shapes are quaternions and scales.
    pub v_covars: Option<Floats>,
    /// `[B, N, 4]`; zero if the shapes are covariances.
    pub v_quats: Option<Floats>,
    /// `[B, N, 3]`; zero if the shapes are covariances.
    pub v_scales: Option<Floats>,
    /// `[B, C, 4, 4]`; the last row is zero.
    pub v_viewmats: Option<Floats>,
    /// `[B, C, 3, 3]`; zero but for focal lengths and principal point.
    pub v_ks: Option<Floats>,
}
