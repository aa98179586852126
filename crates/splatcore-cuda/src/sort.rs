//! `sort`: launches kernels/sort.cu, which says how.

use crate::device::Kernel;
use crate::device::buffer::device_error;
use crate::launch::{Queue, arguments};
use splatcore_core::BackendError;

const BLOCK: usize = 256;
const DIGITS: usize = 256;
const MOST_PASSES: usize = 4;
/// Bytes of the histograms and tickets of all passes.
pub const HISTOGRAM_BYTES: usize = MOST_PASSES * (DIGITS + 1) * 4;
/// Keys a thread for small inputs, which then occupy more of the card.
pub const SMALL: usize = 4;
/// Keys a thread for large inputs.
pub const LARGE: usize = 8;
/// Blocks that a multiprocessor holds, by registers and shared memory.
const BLOCKS_A_MULTIPROCESSOR: u32 = 4;

/// Keys a thread for at most `capacity` pairs.
pub fn items(capacity: usize) -> usize {
    if capacity < 1 << 20 { SMALL } else { LARGE }
}

fn pieces(capacity: usize) -> usize {
    capacity.div_ceil(BLOCK * items(capacity)).max(1)
}

/// Bytes of states that one pass over at most `capacity` pairs needs.
pub fn state_bytes(capacity: usize) -> usize {
    pieces(capacity) * DIGITS * 4
}

/// Passes for keys 0..count; one at least.
pub fn passes(count: usize) -> u32 {
    let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
    bits.div_ceil(8).max(1)
}

/// Two places for keys and two for values, as addresses; the first of each holds the input.
#[derive(Clone, Copy)]
pub struct PingPong {
    /// u32 keys.
    pub keys: [u64; 2],
    /// u32 values.
    pub values: [u64; 2],
}

/// Sorts by the lowest `8 * passes` bits, stable. `count` is the address of the number of pairs; if the input `has_gaps`, it
/// has `capacity` places, and those with key `NO_KEY` are left out. `histograms` and `states`
/// (of all passes) are zero; the kernels are those of `programs::sort(items(capacity))`. Returns which of the two places holds the result.
///
/// # Errors
/// If a launch failed.
#[allow(clippy::too_many_arguments)]
pub fn sort(
    queue: &Queue,
    kernels: &[Kernel],
    data: PingPong,
    count: u64,
    capacity: usize,
    has_gaps: bool,
    passes: u32,
    histograms: u64,
    states: u64,
) -> Result<usize, BackendError> {
    let &[count_digits, sort_digit] = kernels else {
        return Err(device_error(
            "the program of sort has other kernels than asked for".into(),
        ));
    };
    let capacity_word = capacity as u32;
    let all = if has_gaps { 0 } else { count };
    let grid = (pieces(capacity) as u32).min(BLOCKS_A_MULTIPROCESSOR * queue.device.multiprocessors());
    let counting = grid;
    queue.launch(
        count_digits,
        counting,
        256,
        &mut arguments![data.keys[0], all, capacity_word, passes, histograms],
    )?;
    for pass in 0..passes {
        let (from, to) = (pass as usize % 2, 1 - pass as usize % 2);
        let here = if pass == 0 { all } else { count };
        let own_states = states + pass as u64 * state_bytes(capacity) as u64;
        queue.launch(
            sort_digit,
            grid,
            256,
            &mut arguments![
                data.keys[from],
                data.values[from],
                data.keys[to],
                data.values[to],
                here,
                capacity_word,
                pass,
                histograms,
                own_states
            ],
        )?;
    }
    Ok(passes as usize % 2)
}
