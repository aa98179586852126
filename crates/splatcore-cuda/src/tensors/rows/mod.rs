//! Which splats are drawn, and rows of tensors, taken out and put back: launches rows.cu.

#[cfg(test)]
mod tests;

use super::{BLOCK, DeviceSlice, Ints, Longs, OnStream, grid, word};
use crate::device::error::device_error;
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::device::{Buffer, Kernel, Program};
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

    /// Parameters of `list_drawn` (rows.cu).
    pub struct ListDrawnParams {
        radii: Address,
        splats: u32,
        per_image: u32,
        drawn: u32,
        states: Address,
        rows: Address,
        images: Address,
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

/// Splats of a thread of `list_drawn`.
const ITEMS: u32 = 4;
/// Most splats that `list_drawn` counts: the states of its look-back have 30 bits for a number.
const MAX_SPLATS: usize = (1 << 30) - 1;

/// What this module launches.
pub(super) fn program() -> Program {
    let kernels = [
        ListDrawnParams::kernel("list_drawn"),
        MoveRowsParams::kernel("gather_rows"),
        MoveRowsParams::kernel("scatter_rows"),
    ];
    let constants = vec![("BLOCK", BLOCK.to_string()), ("ITEMS", ITEMS.to_string())];
    let mut program = sources::program("rows.cu", constants, kernels);
    program.shared = SHARED;
    program
}

/// Writes the splats whose radii, `[M, 2]`, are positive, in ascending order, and their images, of
/// which each has `per_image` splats in a row. Places that are left get 0.
///
/// # Errors
/// If lengths do not agree, there are too many splats, or the device failed.
pub fn list_drawn(
    on: &OnStream,
    radii: Ints,
    per_image: usize,
    rows: Longs,
    images: Longs,
) -> Result<(), BackendError> {
    let (splats, drawn) = (radii.len() / 2, rows.len());
    if splats > MAX_SPLATS {
        return Err(device_error(format!(
            "{splats} splats cannot be packed, at most {MAX_SPLATS}: draw fewer images at once"
        )));
    }
    let mut params = ListDrawnParams {
        radii: radii.with_len("radii", 2 * splats)?,
        splats: splats as u32,
        per_image: word("the number of splats of an image", per_image.max(1))?,
        drawn: word("the number of drawn splats", drawn)?,
        states: 0,
        rows: rows.address(),
        images: images.with_len("images", drawn)?,
    };
    if drawn == 0 {
        return Ok(());
    }
    let blocks = splats.div_ceil((BLOCK * ITEMS) as usize).max(1);
    let bytes = blocks * size_of::<u32>();
    let states = Buffer::new(&on.queue.device, "memory to list splats", bytes)?;
    states.fill(0, bytes)?;
    params.states = states.address();
    let [list_drawn, ..]: [Kernel; 3] = on.kernels(&program())?;
    on.queue.launch(list_drawn, grid(blocks)?, BLOCK, &params)
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
    let [_, gather_rows, _] = on.kernels(&program())?;
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
    let [.., scatter_rows]: [Kernel; 3] = on.kernels(&program())?;
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
