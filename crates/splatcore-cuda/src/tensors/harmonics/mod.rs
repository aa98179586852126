//! Colours from spherical harmonics, and gradients: launches harmonics.cu.

#[cfg(test)]
mod tests;

use super::slice::optional;
use super::{BLOCK, Bools, Floats, OnStream, grid, word};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `harmonics` (harmonics.cu).
    pub struct HarmonicsParams {
        dirs: Address,
        coeffs: Address,
        masks: Address,
        count: u32,
        coefficients: u32,
        channels: u32,
        as_colors: u32,
        colors: Address,
    }

    /// Parameters of `harmonics_backward` (harmonics.cu).
    pub struct HarmonicsBackwardParams {
        dirs: Address,
        coeffs: Address,
        masks: Address,
        colors: Address,
        v_colors: Address,
        count: u32,
        coefficients: u32,
        channels: u32,
        v_coeffs: Address,
        v_dirs: Address,
    }
}

/// The highest degree.
pub const MAX_DEGREE: usize = 4;

/// What [`forward`] and [`backward`] launch.
pub(super) fn program(degree: usize) -> Program {
    sources::program(
        "harmonics.cu",
        vec![("BLOCK", BLOCK.to_string()), ("DEGREE", degree.to_string())],
        [
            HarmonicsParams::kernel("harmonics"),
            HarmonicsBackwardParams::kernel("harmonics_backward"),
        ],
    )
}

/// Directions and coefficients of n rows.
#[derive(Clone, Copy, Debug)]
pub struct Harmonics {
    /// The degree up to which is evaluated, 4 at most.
    pub degree: usize,
    /// K: coefficients of a channel, (degree + 1)^2 at least.
    pub coefficients: usize,
    /// D.
    pub channels: usize,
    /// `[n, 3]`, of any length.
    pub dirs: Floats,
    /// `[n, K, D]`.
    pub coeffs: Floats,
    /// `[n]`: rows that are 0 get zeros.
    pub masks: Option<Bools>,
}

impl Harmonics {
    fn count(&self) -> usize {
        self.dirs.len() / 3
    }

    /// Blocks with a thread for each row of this many values.
    fn blocks(&self, values: usize) -> Result<u32, BackendError> {
        grid((self.count() * values).div_ceil(BLOCK as usize))
    }

    /// Addresses of directions, coefficients and masks, and sizes as kernels take them.
    fn params(&self) -> Result<([Address; 3], [u32; 3]), BackendError> {
        if self.degree > MAX_DEGREE {
            return Err(device_error(format!(
                "degree is {}, but may be 0 to {MAX_DEGREE}",
                self.degree
            )));
        }
        let needed = (self.degree + 1).pow(2);
        if self.coefficients < needed {
            return Err(device_error(format!(
                "coeffs has {} coefficients a channel, degree {} needs {needed}",
                self.coefficients, self.degree
            )));
        }
        let count = self.count();
        let addresses = [
            self.dirs.with_len("dirs", 3 * count)?,
            self.coeffs
                .with_len("coeffs", count * self.coefficients * self.channels)?,
            optional(self.masks, "masks", count)?,
        ];
        let words = [
            word("the number of rows", count)?,
            word("the number of coefficients", self.coefficients)?,
            word("the number of channels", self.channels)?,
        ];
        Ok((addresses, words))
    }
}

/// Writes sums of harmonics `[n, D]`; with `as_colors` max(sum + 1/2, 0).
///
/// # Errors
/// If the degree is too high, lengths do not agree, or the device failed.
pub fn forward(
    on: &OnStream,
    rows: &Harmonics,
    as_colors: bool,
    colors: Floats,
) -> Result<(), BackendError> {
    let ([dirs, coeffs, masks], [count, coefficients, channels]) = rows.params()?;
    let params = HarmonicsParams {
        dirs,
        coeffs,
        masks,
        count,
        coefficients,
        channels,
        as_colors: as_colors.into(),
        colors: colors.with_len("colors", rows.count() * rows.channels)?,
    };
    let [forward, _] = on.kernels(&program(rows.degree))?;
    on.queue
        .launch(forward, rows.blocks(rows.channels)?, BLOCK, &params)
}

/// Writes the gradients of coefficients `[n, K, D]` and, if asked for, of directions `[n, 3]`, from
/// those of what [`forward`] wrote, `[n, D]`. `colors`: what that was, if it was with `as_colors`.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    on: &OnStream,
    rows: &Harmonics,
    colors: Option<Floats>,
    v_colors: Floats,
    v_coeffs: Floats,
    v_dirs: Option<Floats>,
) -> Result<(), BackendError> {
    let ([dirs, coeffs, masks], [count, coefficients, channels]) = rows.params()?;
    let params = HarmonicsBackwardParams {
        dirs,
        coeffs,
        masks,
        colors: optional(colors, "colors", rows.count() * rows.channels)?,
        v_colors: v_colors.with_len("v_colors", rows.count() * rows.channels)?,
        count,
        coefficients,
        channels,
        v_coeffs: v_coeffs.with_len("v_coeffs", rows.coeffs.len())?,
        v_dirs: optional(v_dirs, "v_dirs", 3 * rows.count())?,
    };
    let [_, backward] = on.kernels(&program(rows.degree))?;
    on.queue.launch(backward, rows.blocks(1)?, BLOCK, &params)
}
