//! What projections take, and what a camera sees of a Gaussian.

use super::camera::{CameraModel, Intrinsics};
use crate::Real;
use crate::linear::{Mat2, Mat3, Mat23, Vec3, apply, mul, transposed};
use crate::quat_scale::Shapes;
use splatcore_core::Camera;

/// How Gaussians become splats.
#[derive(Clone, Copy, Debug)]
pub enum Model<'a> {
    /// EWA splatting by a camera model, of `viewmats` and `ks`.
    Ewa(CameraModel),
    /// The unscented transform ([`splatcore_core::lens::Unscented`]), as `splatcore train` projects
    /// through lenses and rolling shutters, of these cameras, `[B, C]`: `viewmats` and `ks` are not
    /// read. Depths are those of the engine: through a wide fisheye the distance.
    /// Shapes must be quaternions and scales.
    Unscented(&'a [Camera]),
}

/// Gaussians and the cameras that see them.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a, F> {
    /// B: batches.
    pub batches: usize,
    /// C: cameras of each batch.
    pub cameras: usize,
    /// N: Gaussians of each batch.
    pub gaussians: usize,
    /// `[B, N, 3]`, in world space.
    pub means: &'a [F],
    /// `[B, N, ..]`.
    pub shapes: Shapes<'a, F>,
    /// World to camera, `[B, C, 4, 4]`; the last row is not read.
    pub viewmats: &'a [F],
    /// Intrinsics in pixels, `[B, C, 3, 3]`; only focal lengths and principal point are read.
    pub ks: &'a [F],
    /// Of the image, in pixels.
    pub width: u32,
    /// Of the image, in pixels.
    pub height: u32,
    /// Added to both diagonal entries of a projected covariance, in square pixels.
    pub eps2d: F,
    /// How the cameras project.
    pub model: Model<'a>,
}

impl<F: Real> Scene<'_, F> {
    /// The camera with this number among the B C.
    pub(super) fn view(&self, camera: usize) -> View<F> {
        let m = &self.viewmats[16 * camera..][..16];
        View {
            rotation: [0, 1, 2].map(|i| [m[4 * i], m[4 * i + 1], m[4 * i + 2]]),
            translation: [m[3], m[7], m[11]],
            intrinsics: Intrinsics::new(&self.ks[9 * camera..][..9], self.width, self.height),
        }
    }

    pub(super) fn mean(&self, gaussian: usize) -> Vec3<F> {
        [0, 1, 2].map(|k| self.means[3 * gaussian + k])
    }
}

/// A camera.
pub(super) struct View<F> {
    pub rotation: Mat3<F>,
    pub translation: Vec3<F>,
    pub intrinsics: Intrinsics<F>,
}

/// A Gaussian's place and shape in the image.
pub(super) struct Flat<F> {
    pub depth: F,
    pub mean2d: [F; 2],
    /// Without the blur.
    pub covariance: Mat2<F>,
}

/// The gradients of a splat with respect to its Gaussian and to its camera.
pub(super) struct Of<F> {
    pub mean: Vec3<F>,
    /// By EWA splatting of the covariance, through a lens of its factor (`Eyes::shape`).
    pub shape: Mat3<F>,
    pub rotation: Mat3<F>,
    pub translation: Vec3<F>,
    pub intrinsics: [F; 4],
}

/// The gradients of a splat.
pub(super) struct Upstream<F> {
    pub mean2d: [F; 2],
    pub depth: F,
    /// Of the covariance in the image.
    pub covariance: Mat2<F>,
}

impl<F: Real> View<F> {
    /// A point in camera space.
    pub fn place(&self, mean: &Vec3<F>) -> Vec3<F> {
        let rotated = apply(&self.rotation, mean);
        [0, 1, 2].map(|k| rotated[k] + self.translation[k])
    }

    /// A covariance in camera space.
    pub fn turn(&self, covariance: &Mat3<F>) -> Mat3<F> {
        let right = mul(covariance, &transposed(&self.rotation));
        mul(&self.rotation, &right)
    }
}

/// `J V Jᵀ`.
pub(super) fn flatten<F: Real>(jacobian: &Mat23<F>, covariance: &Mat3<F>) -> Mat2<F> {
    mul(&mul(jacobian, covariance), &transposed(jacobian))
}

/// How far a splat reaches from its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadiusRule {
    /// gsplat 1.5's: for each axis, as far as alpha can reach 1/255 (StopThePop, Radl et al. 2024,
    /// appendix B.2). Without opacities, 3.33 standard deviations.
    Gsplat15,
    /// INRIA's: three standard deviations along the longer axis, in both directions.
    ThreeSigma,
}

/// What is not drawn.
#[derive(Clone, Copy, Debug)]
pub struct Culling<F> {
    /// Gaussians whose depth is below.
    pub near_plane: F,
    /// Gaussians whose depth is above.
    pub far_plane: F,
    /// Splats whose radii both do not exceed it, in pixels.
    pub radius_clip: F,
    /// How radii are found.
    pub rule: RadiusRule,
}

impl<F: Real> Culling<F> {
    /// Whether a depth is between the planes; false of what is not a number.
    pub(super) fn keeps(&self, depth: F) -> bool {
        depth >= self.near_plane && depth <= self.far_plane
    }
}
