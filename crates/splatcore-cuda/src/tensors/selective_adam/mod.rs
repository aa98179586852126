//! Adam for chosen rows, in place: launches selective_adam.cu.

#[cfg(test)]
mod tests;

use super::slice::optional;
use super::{BLOCK, Bools, Floats, OnStream, word};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `selective_adam` (selective_adam.cu).
    pub struct SelectiveAdamParams {
        param: Address,
        grad: Address,
        exp_avg: Address,
        exp_avg_sq: Address,
        valid: Address,
        count: u64,
        channels: u32,
        lr: f32,
        b1: f32,
        b2: f32,
        eps: f32,
    }
}

/// What [`step`] launches.
pub(super) fn program() -> Program {
    sources::program(
        "selective_adam.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [SelectiveAdamParams::kernel("selective_adam")],
    )
}

/// n rows of D parameters, with what Adam keeps of each.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// D.
    pub channels: usize,
    /// `[n, D]`, changed.
    pub param: Floats,
    /// `[n, D]`.
    pub grad: Floats,
    /// `[n, D]`, changed.
    pub exp_avg: Floats,
    /// `[n, D]`, changed.
    pub exp_avg_sq: Floats,
    /// `[n]`: rows that are 0 stay as they are.
    pub valid: Option<Bools>,
}

/// How a step is taken.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// The learning rate.
    pub lr: f32,
    /// The decay of the mean of gradients.
    pub b1: f32,
    /// The decay of the mean of squared gradients.
    pub b2: f32,
    /// Added to the root of the latter.
    pub eps: f32,
}

/// Takes a step.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn step(on: &OnStream, rows: &Rows, rates: &Rates) -> Result<(), BackendError> {
    let count = rows.param.len();
    let params = SelectiveAdamParams {
        param: rows.param.address(),
        grad: rows.grad.with_len("grad", count)?,
        exp_avg: rows.exp_avg.with_len("exp_avg", count)?,
        exp_avg_sq: rows.exp_avg_sq.with_len("exp_avg_sq", count)?,
        valid: optional(
            rows.valid,
            "valid",
            count.checked_div(rows.channels).unwrap_or(0),
        )?,
        count: count as u64,
        channels: word("the number of channels", rows.channels.max(1))?,
        lr: rates.lr,
        b1: rates.b1,
        b2: rates.b2,
        eps: rates.eps,
    };
    on.launch_one(&program(), count.div_ceil(BLOCK as usize), BLOCK, &params)
}
