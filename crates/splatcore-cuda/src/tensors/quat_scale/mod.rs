//! Covariances and precisions from quaternions and scales: launches quat_scale.cu.

#[cfg(test)]
mod tests;

use super::slice::optional;
use super::{BLOCK, Floats, OnStream, grid, word};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `quat_scale` (quat_scale.cu).
    pub struct QuatScaleParams {
        quats: Address,
        scales: Address,
        count: u32,
        is_triangle: u32,
        covars: Address,
        precis: Address,
    }

    /// Parameters of `quat_scale_backward` (quat_scale.cu).
    pub struct QuatScaleBackwardParams {
        quats: Address,
        scales: Address,
        count: u32,
        is_triangle: u32,
        v_covars: Address,
        v_precis: Address,
        v_quats: Address,
        v_scales: Address,
    }
}

/// What [`forward`] and [`backward`] launch.
pub(super) fn program() -> Program {
    sources::program(
        "quat_scale.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            QuatScaleParams::kernel("quat_scale"),
            QuatScaleBackwardParams::kernel("quat_scale_backward"),
        ],
    )
}

/// The shapes of n Gaussians.
#[derive(Clone, Copy, Debug)]
pub struct QuatScale {
    /// `[n, 4]`, of any length.
    pub quats: Floats,
    /// `[n, 3]`.
    pub scales: Floats,
    /// Matrices are upper triangles, `[n, 6]` (00, 01, 02, 11, 12, 22), else `[n, 3, 3]`.
    pub triu: bool,
}

impl QuatScale {
    fn count(&self) -> usize {
        self.scales.len() / 3
    }

    /// Values of a matrix.
    fn width(&self) -> usize {
        if self.triu { 6 } else { 9 }
    }

    fn blocks(&self) -> Result<u32, BackendError> {
        grid(self.count().div_ceil(BLOCK as usize))
    }

    /// The addresses, and the number as kernels take it.
    fn params(&self) -> Result<([Address; 2], u32), BackendError> {
        let count = self.count();
        let addresses = [
            self.quats.with_len("quats", 4 * count)?,
            self.scales.with_len("scales", 3 * count)?,
        ];
        Ok((addresses, word("the number of Gaussians", count)?))
    }
}

/// Writes the covariances and the precisions that are asked for.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn forward(
    on: &OnStream,
    shapes: &QuatScale,
    covars: Option<Floats>,
    precis: Option<Floats>,
) -> Result<(), BackendError> {
    let ([quats, scales], count) = shapes.params()?;
    let values = shapes.count() * shapes.width();
    let params = QuatScaleParams {
        quats,
        scales,
        count,
        is_triangle: shapes.triu.into(),
        covars: optional(covars, "covars", values)?,
        precis: optional(precis, "precis", values)?,
    };
    let [forward, _] = on.kernels(&program())?;
    on.queue.launch(forward, shapes.blocks()?, BLOCK, &params)
}

/// Writes the gradients of quaternions `[n, 4]` and scales `[n, 3]` from those of covariances and
/// precisions.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn backward(
    on: &OnStream,
    shapes: &QuatScale,
    [v_covars, v_precis]: [Option<Floats>; 2],
    [v_quats, v_scales]: [Floats; 2],
) -> Result<(), BackendError> {
    let ([quats, scales], count) = shapes.params()?;
    let values = shapes.count() * shapes.width();
    let params = QuatScaleBackwardParams {
        quats,
        scales,
        count,
        is_triangle: shapes.triu.into(),
        v_covars: optional(v_covars, "v_covars", values)?,
        v_precis: optional(v_precis, "v_precis", values)?,
        v_quats: v_quats.with_len("v_quats", 4 * shapes.count())?,
        v_scales: v_scales.with_len("v_scales", 3 * shapes.count())?,
    };
    let [_, backward] = on.kernels(&program())?;
    on.queue.launch(backward, shapes.blocks()?, BLOCK, &params)
}
