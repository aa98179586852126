//! Opacities and scales after a relocation: launches relocation.cu.

#[cfg(test)]
mod tests;

use super::{BLOCK, Floats, Ints, OnStream, word};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `relocation` (relocation.cu).
    pub struct RelocationParams {
        opacities: Address,
        scales: Address,
        ratios: Address,
        binoms: Address,
        n_max: u32,
        count: u32,
        new_opacities: Address,
        new_scales: Address,
    }
}

/// What [`relocate`] launches.
pub(super) fn program() -> Program {
    sources::program(
        "relocation.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [RelocationParams::kernel("relocation")],
    )
}

/// n Gaussians that are split, each into `ratios` copies.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// `[n]`.
    pub opacities: Floats,
    /// `[n, 3]`.
    pub scales: Floats,
    /// `[n]`, 1 to n_max; others are taken for the nearest of these.
    pub ratios: Ints,
    /// `[n_max, n_max]`: binomial coefficients.
    pub binoms: Floats,
}

/// Writes the opacity `[n]` and the scales `[n, 3]` that each copy gets.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn relocate(
    on: &OnStream,
    split: &Split,
    new_opacities: Floats,
    new_scales: Floats,
) -> Result<(), BackendError> {
    let (count, n_max) = (split.opacities.len(), split.binoms.len().isqrt());
    if n_max == 0 {
        return Err(device_error(
            "binoms is empty, but needs a row at least".into(),
        ));
    }
    let params = RelocationParams {
        opacities: split.opacities.address(),
        scales: split.scales.with_len("scales", 3 * count)?,
        ratios: split.ratios.with_len("ratios", count)?,
        binoms: split.binoms.with_len("binoms", n_max * n_max)?,
        n_max: word("the side of binoms", n_max)?,
        count: word("the number of Gaussians", count)?,
        new_opacities: new_opacities.with_len("new_opacities", count)?,
        new_scales: new_scales.with_len("new_scales", 3 * count)?,
    };
    on.launch_one(&program(), count.div_ceil(BLOCK as usize), BLOCK, &params)
}
