//! Means and covariances in camera space to those in the image: launches projection_simple.cu.

use super::scene::CameraModel;
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use crate::tensors::{BLOCK, Floats, OnStream, grid, word};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `projection_simple` (projection_simple.cu).
    pub struct ProjectionSimpleParams {
        means: Address,
        covars: Address,
        ks: Address,
        images: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        camera_model: u32,
        means2d: Address,
        covars2d: Address,
    }

    /// Parameters of `projection_simple_backward` (projection_simple.cu).
    pub struct ProjectionSimpleBackwardParams {
        means: Address,
        covars: Address,
        ks: Address,
        images: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        camera_model: u32,
        v_means2d: Address,
        v_covars2d: Address,
        v_means: Address,
        v_covars: Address,
    }
}

/// What [`simple_forward`] and [`simple_backward`] launch.
pub(in crate::tensors) fn program() -> Program {
    sources::program(
        "projection_simple.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            ProjectionSimpleParams::kernel("projection_simple"),
            ProjectionSimpleBackwardParams::kernel("projection_simple_backward"),
        ],
    )
}

/// I cameras and the n Gaussians of each, in its space.
#[derive(Clone, Copy, Debug)]
pub struct Simple {
    /// I.
    pub images: usize,
    /// n.
    pub gaussians: usize,
    /// `[I, n, 3]`.
    pub means: Floats,
    /// `[I, n, 3, 3]`.
    pub covars: Floats,
    /// Pixels, `[I, 3, 3]`; focal lengths and principal point are read.
    pub ks: Floats,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// How the cameras project.
    pub camera_model: CameraModel,
}

impl Simple {
    fn rows(&self) -> usize {
        self.images * self.gaussians
    }

    fn blocks(&self) -> Result<u32, BackendError> {
        grid(self.rows().div_ceil(BLOCK as usize))
    }

    /// The addresses of means, covariances and Ks, then sizes as kernels take them.
    fn params(&self) -> Result<([Address; 3], [u32; 4]), BackendError> {
        let rows = self.rows();
        let addresses = [
            self.means.with_len("means", 3 * rows)?,
            self.covars.with_len("covars", 9 * rows)?,
            self.ks.with_len("Ks", 9 * self.images)?,
        ];
        let words = [
            word("the number of images", self.images)?,
            word("the number of Gaussians", self.gaussians)?,
            word("width", self.width)?,
            word("height", self.height)?,
        ];
        Ok((addresses, words))
    }
}

/// Writes means `[I, n, 2]` in pixels and covariances `[I, n, 2, 2]` in square pixels.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn simple_forward(
    on: &OnStream,
    simple: &Simple,
    means2d: Floats,
    covars2d: Floats,
) -> Result<(), BackendError> {
    let ([means, covars, ks], [images, gaussians, width, height]) = simple.params()?;
    let params = ProjectionSimpleParams {
        means,
        covars,
        ks,
        images,
        gaussians,
        width,
        height,
        camera_model: simple.camera_model as u32,
        means2d: means2d.with_len("means2d", 2 * simple.rows())?,
        covars2d: covars2d.with_len("covars2d", 4 * simple.rows())?,
    };
    let [forward, _] = on.kernels(&program())?;
    on.queue.launch(forward, simple.blocks()?, BLOCK, &params)
}

/// Writes the gradients of means `[I, n, 3]` and covariances `[I, n, 3, 3]` from those of what
/// [`simple_forward`] writes.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn simple_backward(
    on: &OnStream,
    simple: &Simple,
    [v_means2d, v_covars2d]: [Floats; 2],
    [v_means, v_covars]: [Floats; 2],
) -> Result<(), BackendError> {
    let ([means, covars, ks], [images, gaussians, width, height]) = simple.params()?;
    let rows = simple.rows();
    let params = ProjectionSimpleBackwardParams {
        means,
        covars,
        ks,
        images,
        gaussians,
        width,
        height,
        camera_model: simple.camera_model as u32,
        v_means2d: v_means2d.with_len("v_means2d", 2 * rows)?,
        v_covars2d: v_covars2d.with_len("v_covars2d", 4 * rows)?,
        v_means: v_means.with_len("v_means", 3 * rows)?,
        v_covars: v_covars.with_len("v_covars", 9 * rows)?,
    };
    let [_, backward] = on.kernels(&program())?;
    on.queue.launch(backward, simple.blocks()?, BLOCK, &params)
}
