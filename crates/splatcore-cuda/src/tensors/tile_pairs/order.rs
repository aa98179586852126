//! The order of splats by depth, in which pairs are written before they are sorted by tile alone.
//! There are several times more pairs than splats.

use super::program::{SCAN_ITEMS, SumCountsParams, TakeDepthsParams};
use super::program::{TouchedTiles, blocks, program};
use super::sort::{Sort, memory_of};
use crate::device::Kernel;
use crate::device::error::device_error;
use crate::ops::intersect::MAX_PAIRS;
use crate::ops::sort::ALL_BITS;
use crate::tensors::{BLOCK, Floats, Ints, Longs, OnStream};
use splatcore_core::BackendError;

/// How many tiles each splat touches, `[M]`.
#[derive(Clone, Copy, Debug)]
pub enum Touched {
    /// What [`super::count`] writes.
    Counts(Ints),
    /// Its inclusive sums.
    Ends(Longs),
}

impl Touched {
    pub(super) fn params(self, count: usize) -> Result<TouchedTiles, BackendError> {
        let mut params = TouchedTiles { counts: 0, ends: 0 };
        match self {
            Self::Counts(counts) => params.counts = counts.with_len("tiles_per_gauss", count)?,
            Self::Ends(ends) => params.ends = ends.with_len("ends", count)?,
        }
        Ok(params)
    }
}

/// Splats by depth. To find it takes no number of pairs, which a program waits for.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// `[M]`: splats, nearest first, those without tiles last, those of equal depths as they are.
    pub splats: Ints,
    /// `[M]`: inclusive sums of the numbers of their tiles, in that order.
    pub sums: Ints,
}

impl Order {
    /// Two halves of `[2, M]`.
    pub fn halves(both: Ints) -> Self {
        let (splats, sums) = both.halves();
        Self { splats, sums }
    }
}

/// Writes the order of splats of depths `[M]`.
///
/// # Errors
/// If lengths do not agree, there are more than 2^30 - 1 splats, the sort finds no memory, or the
/// device failed.
pub fn order(
    on: &OnStream,
    depths: Floats,
    touched: Touched,
    out: &Order,
) -> Result<(), BackendError> {
    let count = depths.len();
    let touched = touched.params(count)?;
    let order = out.splats.with_len("order", count)?;
    let sums = out.sums.with_len("sums", count)?;
    if count as u64 > MAX_PAIRS {
        return Err(device_error(format!(
            "{count} splats cannot be sorted, at most {MAX_PAIRS}: use fewer Gaussians"
        )));
    }
    if count == 0 {
        return Ok(());
    }
    let mut sort = Sort::new(on, ALL_BITS, count)?;
    let [histograms, states] = sort.bytes();
    let sum_blocks = count.div_ceil((BLOCK * SCAN_ITEMS) as usize);
    let words = 4 * count;
    let sizes = [histograms, 4 * sum_blocks, 4, states, words, words, words];
    let (memory, at) = memory_of(on, sizes)?;
    let [_, sum_states, counts, _, depth, other_depth, other] = at;
    [sort.histograms, _, sort.count, sort.states, ..] = at;
    sort.set_places([depth, other_depth], [order, other]);
    let [_, take_depths, sum_counts, ..]: [Kernel; 6] = on.kernels(&program())?;
    let params = TakeDepthsParams {
        depths: depths.address(),
        touched,
        splats: count as u32,
        most: MAX_PAIRS as u32,
        keys: sort.keys[0],
        order: sort.values[0],
        // Of the histograms and the states of the sums.
        zeros: memory.address(),
        zero_count: ((counts - memory.address()) / 4) as u32,
        count: counts,
    };
    on.queue
        .launch(take_depths, blocks(count)?, BLOCK, &params)?;
    sort.run(on)?;
    let params = SumCountsParams {
        order,
        touched,
        splats: count as u32,
        most: MAX_PAIRS as u32,
        sums,
        states: sum_states,
    };
    on.queue
        .launch(sum_counts, sum_blocks as u32, BLOCK, &params)
}
