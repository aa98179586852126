//! Means and covariances in camera space to those in the image, without culling or blur.

use super::camera::{CameraModel, Intrinsics};
use super::scene::flatten;
use crate::error::check_len;
use crate::linear::{Mat2, Mat3, Vec3, sandwich_backward};
use crate::parallel::{ROWS, Work};
use crate::{Real, Result};
use rayon::prelude::*;

/// Gaussians in camera space and their cameras.
#[derive(Clone, Copy, Debug)]
pub struct Simple<'a, F> {
    /// I: cameras.
    pub images: usize,
    /// N: Gaussians of each camera.
    pub gaussians: usize,
    /// `[I, N, 3]`.
    pub means: &'a [F],
    /// `[I, N, 3, 3]`.
    pub covars: &'a [F],
    /// `[I, 3, 3]`.
    pub ks: &'a [F],
    /// Of the image, in pixels.
    pub width: u32,
    /// Of the image, in pixels.
    pub height: u32,
    /// How the cameras project.
    pub model: CameraModel,
}

impl<F: Real> Simple<'_, F> {
    fn check(&self) -> Result {
        let (i, n) = (self.images, self.gaussians);
        check_len("means", self.means, &[i, n, 3])?;
        check_len("covars", self.covars, &[i, n, 3, 3])?;
        check_len("Ks", self.ks, &[i, 3, 3])
    }

    fn row(&self, row: usize) -> (Intrinsics<F>, Vec3<F>, Mat3<F>) {
        let k = &self.ks[9 * (row / self.gaussians)..][..9];
        let covar = &self.covars[9 * row..][..9];
        (
            Intrinsics::new(k, self.width, self.height),
            [0, 1, 2].map(|k| self.means[3 * row + k]),
            std::array::from_fn(|i| std::array::from_fn(|j| covar[3 * i + j])),
        )
    }
}

/// Writes means `[I, N, 2]` in pixels and covariances `[I, N, 2, 2]` in square pixels.
///
/// # Errors
/// A length that does not fit.
pub fn simple_forward<F: Real>(
    input: &Simple<'_, F>,
    means2d: &mut [F],
    covars2d: &mut [F],
) -> Result {
    input.check()?;
    let (i, n) = (input.images, input.gaussians);
    check_len("means2d", means2d, &[i, n, 2])?;
    check_len("covars2d", covars2d, &[i, n, 2, 2])?;
    let (means2d, _) = means2d.as_chunks_mut::<2>();
    let (covars2d, _) = covars2d.as_chunks_mut::<4>();
    let rows = means2d.par_iter_mut().zip(covars2d).enumerate();
    rows.with_min_len(ROWS).each(|(row, (mean2d, covar2d))| {
        let (intrinsics, mean, covar) = input.row(row);
        let seen = intrinsics.project(input.model, &mean);
        *mean2d = seen.mean2d;
        covar2d.copy_from_slice(flatten(&seen.jacobian, &covar).as_flattened());
    });
    Ok(())
}

/// The gradients of means `[I, N, 3]` and covariances `[I, N, 3, 3]` from those of what
/// [`simple_forward`] writes.
///
/// # Errors
/// A length that does not fit.
pub fn simple_backward<F: Real>(
    input: &Simple<'_, F>,
    v_means2d: &[F],
    v_covars2d: &[F],
    v_means: &mut [F],
    v_covars: &mut [F],
) -> Result {
    input.check()?;
    let (i, n) = (input.images, input.gaussians);
    check_len("v_means2d", v_means2d, &[i, n, 2])?;
    check_len("v_covars2d", v_covars2d, &[i, n, 2, 2])?;
    check_len("v_means", v_means, &[i, n, 3])?;
    check_len("v_covars", v_covars, &[i, n, 3, 3])?;
    let (v_means, _) = v_means.as_chunks_mut::<3>();
    let (v_covars, _) = v_covars.as_chunks_mut::<9>();
    let rows = v_means.par_iter_mut().zip(v_covars).enumerate();
    rows.with_min_len(ROWS).each(|(row, (v_mean, v_covar))| {
        let (intrinsics, mean, covar) = input.row(row);
        let jacobian = intrinsics.project(input.model, &mean).jacobian;
        let g = &v_covars2d[4 * row..][..4];
        let g: Mat2<F> = [[g[0], g[1]], [g[2], g[3]]];
        let (v_jacobian, of_covar) = sandwich_backward(&jacobian, &covar, &g);
        let v_mean2d = [v_means2d[2 * row], v_means2d[2 * row + 1]];
        *v_mean = intrinsics
            .backward(input.model, &mean, v_mean2d, &v_jacobian)
            .mean;
        v_covar.copy_from_slice(of_covar.as_flattened());
    });
    Ok(())
}
