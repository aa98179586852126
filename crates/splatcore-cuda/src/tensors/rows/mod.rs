//! Rows of tensors, taken out and put back: launches rows.cu.

#[cfg(test)]
mod tests;

use super::{BLOCK, DeviceSlice, Longs, OnStream, grid};
use crate::device::error::device_error;
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::device::{Kernel, Program};
use crate::ops::sources;
use splatcore_core::BackendError;

/// Most tensors of a call.
pub const PARTS: usize = 8;

kernel_params! {
    /// A tensor and its packed rows (rows.cu).
    pub struct MovedRows {
        from: Address,
        to: Address,
        end: u64,
        width: u32,
    }

    /// Parameters of `gather_rows` and `scatter_rows` (rows.cu).
    pub struct MoveRowsParams {
        rows: Address,
        all: u64,
        words: u64,
        parts: [MovedRows; PARTS],
    }
}

/// Structs that kernels' parameters hold.
static SHARED: &[(&str, &Layout)] = &[("rows.cu", MovedRows::LAYOUT)];

/// What this module launches.
pub(super) fn program() -> Program {
    let kernels = ["gather_rows", "scatter_rows"].map(MoveRowsParams::kernel);
    let constants = vec![("BLOCK", BLOCK.to_string())];
    let mut program = sources::program("rows.cu", constants, kernels);
    program.shared = SHARED;
    program
}

/// A tensor whose rows are moved.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// `[M, width]` for [`gather`], `[n, width]` for [`scatter`].
    pub from: DeviceSlice<u32>,
    /// The other.
    pub to: DeviceSlice<u32>,
}

/// Writes the rows of each `from`, `[M, width]`, that `rows` names, to `to`, `[n, width]`. A row
/// that is not there is left out.
///
/// # Errors
/// If lengths do not agree, there are more than [`PARTS`] parts, or the device failed.
pub fn gather(on: &OnStream, rows: Longs, all: usize, parts: &[Moved]) -> Result<(), BackendError> {
    let params = params(rows, all, parts, |part| [part.to, part.from])?;
    let [gather_rows, _] = on.kernels(&program())?;
    launch(on, gather_rows, &params)
}

/// Writes each `from`, `[n, width]`, to the rows of `to`, `[M, width]`, that `rows` names, and
/// zeros to the others. A row that is not there is left out.
///
/// # Errors
/// As [`gather`].
pub fn scatter(
    on: &OnStream,
    rows: Longs,
    all: usize,
    parts: &[Moved],
) -> Result<(), BackendError> {
    let params = params(rows, all, parts, |part| [part.from, part.to])?;
    for part in parts {
        on.zero(part.to)?;
    }
    let [_, scatter_rows] = on.kernels(&program())?;
    launch(on, scatter_rows, &params)
}

/// `packed` gives a part's packed tensor and the other one.
fn params(
    rows: Longs,
    all: usize,
    parts: &[Moved],
    packed: impl Fn(&Moved) -> [DeviceSlice<u32>; 2],
) -> Result<MoveRowsParams, BackendError> {
    if parts.len() > PARTS {
        let count = parts.len();
        return Err(device_error(format!(
            "{count} tensors, but at most {PARTS} a call"
        )));
    }
    let mut params = MoveRowsParams {
        rows: rows.address(),
        all: all as u64,
        words: 0,
        parts: bytemuck::Zeroable::zeroed(),
    };
    for (part, out) in parts.iter().zip(&mut params.parts) {
        let [packed, other] = packed(part);
        let width = other.len().checked_div(all).unwrap_or(0);
        other.with_len("a tensor of all rows", all * width)?;
        packed.with_len("a packed tensor", rows.len() * width)?;
        params.words += packed.len() as u64;
        *out = MovedRows {
            from: part.from.address(),
            to: part.to.address(),
            end: params.words,
            width: width as u32,
        };
    }
    Ok(params)
}

fn launch(on: &OnStream, kernel: Kernel, params: &MoveRowsParams) -> Result<(), BackendError> {
    match params.words {
        0 => Ok(()),
        words => {
            let blocks = grid(words.div_ceil(u64::from(BLOCK)) as usize)?;
            on.queue.launch(kernel, blocks, BLOCK, params)
        }
    }
}
