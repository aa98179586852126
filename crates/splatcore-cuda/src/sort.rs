//! `sort`: launches kernels/sort.cu, which says how.

use crate::device::Kernel;
use crate::launch::{Queue, arguments};
use splatcore_core::BackendError;

/// Keys of a block; as in the kernel file.
const BLOCK_ITEMS: usize = 2048;
const DIGITS: usize = 256;
/// Bytes of the histograms of all passes.
pub const HISTOGRAM_BYTES: usize = 4 * DIGITS * 4;

/// Bytes of states that one pass over at most `capacity` pairs needs.
pub fn state_bytes(capacity: usize) -> usize {
    capacity.div_ceil(BLOCK_ITEMS).max(1) * DIGITS * 4
}

/// Two places for keys and two for values, as addresses; the first of each holds the input.
#[derive(Clone, Copy)]
pub struct PingPong {
    /// u32 keys.
    pub keys: [u64; 2],
    /// u32 values.
    pub values: [u64; 2],
}

/// Sorts by the lowest `8 * passes` bits, stable. `count` is the address of the number of pairs, `histograms` and `states`
/// (of all passes) are zero. Returns which of the two places holds the result.
///
/// # Errors
/// If a launch failed.
#[allow(clippy::too_many_arguments)]
pub fn sort(
    queue: &Queue,
    [count_digits, sort_digit]: [Kernel; 2],
    data: PingPong,
    count: u64,
    capacity: usize,
    passes: u32,
    histograms: u64,
    states: u64,
) -> Result<usize, BackendError> {
    let capacity_word = capacity as u32;
    let grid = capacity.div_ceil(BLOCK_ITEMS).max(1) as u32;
    let counting = grid.min(4 * queue.device.multiprocessors());
    queue.launch(
        count_digits,
        counting,
        256,
        &mut arguments![data.keys[0], count, capacity_word, passes, histograms],
    )?;
    for pass in 0..passes {
        let (from, to) = (pass as usize % 2, 1 - pass as usize % 2);
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
                count,
                capacity_word,
                pass,
                histograms,
                own_states
            ],
        )?;
    }
    Ok(passes as usize % 2)
}
