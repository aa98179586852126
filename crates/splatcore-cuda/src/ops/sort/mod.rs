//! `sort`: launches ops/sort/sort.cu, which says how.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Kernel, Program};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `count_digits` (sort.cu).
    pub struct CountDigitsParams {
        keys: Address,
        count: Address,
        capacity: u32,
        histograms: Address,
        states: Address,
    }

    /// Parameters of `sort_digit` (sort.cu).
    pub struct SortDigitParams {
        keys_in: Address,
        values_in: Address,
        keys_out: Address,
        values_out: Address,
        count: Address,
        capacity: u32,
        pass: u32,
        histograms: Address,
        states: Address,
        ranges: Address,
        lists: u32,
    }
}

const BLOCK: usize = 256;
const COUNT_BLOCK: usize = 512;
/// Keys of a thread of `count_digits` at a time.
const COUNT_ITEMS: usize = 4;
/// Bits of keys that are any u32.
pub const ALL_BITS: u32 = u32::BITS;
/// Bits of depths as keys (`depth_key` of ops/project/project.cu): three digits in place of four.
pub const DEPTH_BITS: u32 = 27;
/// Bits of the widest digit.
const WIDE: u32 = 9;
/// Bits of the narrowest digit; fewer are no faster.
const NARROW: u32 = 5;
/// Up to so many pairs all pieces are at work at once.
const SMALL: usize = 1 << 19;
/// Beyond so many pairs there are pieces enough, and larger ones cost less.
const LARGE: usize = 1 << 22;

/// How keys are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Bits of a digit.
    pub bits: u32,
    /// Digits of a key.
    pub passes: u32,
    /// Keys a thread.
    pub items: usize,
    /// Pieces that a look-back reads at once.
    pub window: usize,
}

/// Bits of keys 0..count; one at least.
pub fn key_bits(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}

impl Plan {
    /// For keys below `2^key_bits` and at most `capacity` pairs.
    pub fn new(key_bits: u32, capacity: usize) -> Self {
        let passes = key_bits.div_ceil(WIDE);
        let bits = key_bits.div_ceil(passes).max(NARROW);
        // Half the keys a thread keep twice the multiprocessors busy.
        let items = if capacity <= LARGE { 8 } else { 16 };
        // What a round of the look-back costs grows with the digits.
        let window = if capacity <= SMALL && bits < WIDE {
            16
        } else {
            8
        };
        Self {
            bits,
            passes,
            items,
            window,
        }
    }

    /// Every plan that [`Plan::new`] makes.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for capacity in [SMALL, LARGE, 1 << 30] {
            for key_bits in 1..=ALL_BITS {
                let plan = Self::new(key_bits, capacity);
                if !all.contains(&plan) {
                    all.push(plan);
                }
            }
        }
        all
    }

    fn pieces(self, capacity: usize) -> usize {
        capacity.div_ceil(BLOCK * self.items).max(1)
    }

    /// Bytes of the histograms and tickets, to be zero before the sort.
    pub fn histogram_bytes(self) -> usize {
        self.passes as usize * ((1 << self.bits) + 1) * 4
    }

    /// Bytes of states that a sort of at most `capacity` pairs needs; it zeroes them itself.
    pub fn state_bytes(self, capacity: usize) -> usize {
        (self.pieces(capacity) * self.passes as usize * 4) << self.bits
    }
}

/// `count_digits` and `sort_digit`.
pub fn program(plan: Plan) -> Program {
    sources::program(
        "sort.cu",
        vec![
            ("BLOCK", BLOCK.to_string()),
            ("COUNT_BLOCK", COUNT_BLOCK.to_string()),
            ("COUNT_ITEMS", COUNT_ITEMS.to_string()),
            ("BITS", plan.bits.to_string()),
            ("PASSES", plan.passes.to_string()),
            ("ITEMS", plan.items.to_string()),
            ("WINDOW", plan.window.to_string()),
        ],
        [
            CountDigitsParams::kernel("count_digits"),
            SortDigitParams::kernel("sort_digit"),
        ],
    )
}

/// Pairs to be sorted, as addresses.
#[derive(Clone, Copy)]
pub struct Input {
    /// Two places for u32 keys, the first of which holds them.
    pub keys: [u64; 2],
    /// Two places for u32 values, likewise.
    pub values: [u64; 2],
    /// Where the number of pairs is.
    pub count: u64,
    /// Pairs that there is room for.
    pub capacity: usize,
    /// All `capacity` places are read, whatever the count, and those with key `NO_KEY` are left
    /// out.
    pub has_gaps: bool,
    /// Where to note, for each key below `lists`, the places of
    /// its pairs (`list_range` of ops/shared/splat.cuh), zero before; or 0.
    pub ranges: u64,
    /// Keys that have a place there.
    pub lists: usize,
}

/// Sorts by the bits that the plan covers, stable. `histograms` are zero; the kernels are those of
/// `[`program`]`. Returns which of the two places holds the result.
///
/// # Errors
/// If a launch failed.
pub fn sort(
    queue: &Queue,
    kernels: &[Kernel],
    plan: Plan,
    input: Input,
    [histograms, states]: [u64; 2],
) -> Result<usize, BackendError> {
    let &[count_digits, sort_digit] = kernels else {
        return Err(wrong_program("sort"));
    };
    let Input {
        keys,
        values,
        count,
        capacity,
        has_gaps,
        ranges,
        lists,
    } = input;
    let (capacity_word, lists) = (capacity as u32, lists as u32);
    let all = if has_gaps { 0 } else { count };
    // Every block adds its histogram to the one of all: no more of them than are at work at once.
    let counting = capacity.div_ceil(COUNT_BLOCK * COUNT_ITEMS).max(1) as u32;
    queue.launch(
        count_digits,
        counting.min(2 * queue.device.multiprocessors()),
        COUNT_BLOCK as u32,
        &CountDigitsParams {
            keys: keys[0],
            count: all,
            capacity: capacity_word,
            histograms,
            states,
        },
    )?;
    for pass in 0..plan.passes {
        let (from, to) = (pass as usize % 2, 1 - pass as usize % 2);
        let here = if pass == 0 { all } else { count };
        queue.launch(
            sort_digit,
            plan.pieces(capacity) as u32,
            BLOCK as u32,
            &SortDigitParams {
                keys_in: keys[from],
                values_in: values[from],
                keys_out: keys[to],
                values_out: values[to],
                count: here,
                capacity: capacity_word,
                pass,
                histograms,
                states,
                ranges,
                lists,
            },
        )?;
    }
    Ok(plan.passes as usize % 2)
}

#[cfg(test)]
mod tests;
