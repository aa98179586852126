//! Gaussians to splats in the image: [`forward`] and [`backward`] from world space with everything
//! that gsplat's fused projection does, [`simple_forward`] and [`simple_backward`] from camera
//! space to means and covariances alone.

mod backward;
mod camera;
mod forward;
mod simple;

pub use backward::{Backward, Gradients, backward};
pub use camera::CameraModel;
pub use forward::{Culling, RadiusRule, Splats, forward};
pub use simple::{Simple, simple_backward, simple_forward};

use crate::error::check_len;
use crate::linear::{Mat2, Mat3, Mat23, Vec3, apply, mul, transposed};
use crate::quat_scale::Shapes;
use crate::{Real, Result};
use camera::Intrinsics;

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
    pub model: CameraModel,
}

impl<F: Real> Scene<'_, F> {
    fn check(&self) -> Result {
        let (b, c, n) = (self.batches, self.cameras, self.gaussians);
        check_len("means", self.means, &[b, n, 3])?;
        self.shapes.check(b, n)?;
        check_len("viewmats", self.viewmats, &[b, c, 4, 4])?;
        check_len("Ks", self.ks, &[b, c, 3, 3])
    }

    /// The camera with this number among the B C.
    fn view(&self, camera: usize) -> View<F> {
        let m = &self.viewmats[16 * camera..][..16];
        View {
            rotation: [0, 1, 2].map(|i| [m[4 * i], m[4 * i + 1], m[4 * i + 2]]),
            translation: [m[3], m[7], m[11]],
            intrinsics: Intrinsics::new(&self.ks[9 * camera..][..9], self.width, self.height),
        }
    }

    fn mean(&self, gaussian: usize) -> Vec3<F> {
        [0, 1, 2].map(|k| self.means[3 * gaussian + k])
    }
}

/// A camera.
struct View<F> {
    rotation: Mat3<F>,
    translation: Vec3<F>,
    intrinsics: Intrinsics<F>,
}

impl<F: Real> View<F> {
    /// A point in camera space.
    fn place(&self, mean: &Vec3<F>) -> Vec3<F> {
        let rotated = apply(&self.rotation, mean);
        [0, 1, 2].map(|k| rotated[k] + self.translation[k])
    }

    /// A covariance in camera space.
    fn turn(&self, covariance: &Mat3<F>) -> Mat3<F> {
        let right = mul(covariance, &transposed(&self.rotation));
        mul(&self.rotation, &right)
    }
}

/// `J V Jᵀ`.
fn flatten<F: Real>(jacobian: &Mat23<F>, covariance: &Mat3<F>) -> Mat2<F> {
    mul(&mul(jacobian, covariance), &transposed(jacobian))
}
