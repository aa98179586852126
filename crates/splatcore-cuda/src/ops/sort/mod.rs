//! `sort`: launches ops/sort/sort.cu, which says how.

use super::sources;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Kernel, Program, Tuned};
use crate::ops::constants::flag;
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
    /// Threads have more keys each: `ITEMS_LARGE` of sort.cu in place of `ITEMS_SMALL`.
    pub is_large: bool,
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
        let is_large = capacity > LARGE;
        // What a round of the look-back costs grows with the digits.
        let window = if capacity <= SMALL && bits < WIDE {
            16
        } else {
            8
        };
        Self {
            bits,
            passes,
            is_large,
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

    fn pieces(self, capacity: usize, sizes: PieceSizes) -> usize {
        capacity
            .div_ceil(sizes.0[usize::from(self.is_large)])
            .max(1)
    }

    /// Bytes of the histograms and tickets, to be zero before the sort.
    pub fn histogram_bytes(self) -> usize {
        self.passes as usize * ((1 << self.bits) + 1) * 4
    }

    /// Bytes of states that a sort of at most `capacity` pairs needs; it zeroes them itself.
    pub fn state_bytes(self, capacity: usize, sizes: PieceSizes) -> usize {
        (self.pieces(capacity, sizes) * self.passes as usize * 4) << self.bits
    }
}

/// Keys of a piece of small and of large plans, as sort.cu says.
#[derive(Clone, Copy, Debug)]
pub struct PieceSizes(pub [usize; 2]);

impl PieceSizes {
    /// By the tunables of a program of any plan.
    ///
    /// # Errors
    /// If it declares them not.
    pub fn of(tuned: Tuned) -> Result<Self, BackendError> {
        let value = |name| tuned.get(name).map_err(device_error);
        let block = value("BLOCK")? as usize;
        let [small, large] = [value("ITEMS_SMALL")?, value("ITEMS_LARGE")?];
        Ok(Self([small, large].map(|items| block * items as usize)))
    }
}

/// `count_digits` and `sort_digit`.
pub fn program(plan: Plan) -> Program {
    sources::program(
        "sort.cu",
        vec![
            ("BITS", plan.bits.to_string()),
            ("PASSES", plan.passes.to_string()),
            flag("LARGE", plan.is_large),
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
    /// Pairs that are not left out, at most: the second places have room for so many.
    pub room: usize,
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
        room,
        ranges,
        lists,
    } = input;
    let sizes = PieceSizes::of(sort_digit.tuned)?;
    let block = sort_digit.tuned("BLOCK")?;
    let (count_block, count_items) = (
        count_digits.tuned("COUNT_BLOCK")?,
        count_digits.tuned("COUNT_ITEMS")? as usize,
    );
    let (capacity_word, lists) = (capacity as u32, lists as u32);
    let all = if has_gaps { 0 } else { count };
    // Every block adds its histogram to the one of all: no more of them than are at work at once.
    let counting = capacity.div_ceil(count_block as usize * count_items).max(1) as u32;
    queue.launch(
        count_digits,
        counting.min(2 * queue.device.multiprocessors()),
        count_block,
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
        let (here, places) = match pass {
            0 => (all, capacity),
            _ => (count, room),
        };
        queue.launch(
            sort_digit,
            plan.pieces(places, sizes) as u32,
            block,
            &SortDigitParams {
                keys_in: keys[from],
                values_in: values[from],
                keys_out: keys[to],
                values_out: values[to],
                count: here,
                capacity: places as u32,
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
