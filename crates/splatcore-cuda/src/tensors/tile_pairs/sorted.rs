//! The sort of pairs by their 64-bit ids. Splats are sorted by depth first; the pairs, written in
//! that order, are sorted by the upper halves of their ids alone. There are several times more
//! pairs than splats.

use super::program::{FillPairsParams, SCAN_ITEMS, SumCountsParams, TakeDepthsParams};
use super::program::{WriteIdsParams, blocks};
use crate::device::error::{device_error, failed};
use crate::device::params::Address;
use crate::device::queue::wrong_program;
use crate::device::{Buffer, Kernel};
use crate::ops::intersect::MOST_PAIRS;
use crate::ops::sort::{self, ALL_BITS, PieceSizes, Plan};
use crate::tensors::{BLOCK, OnStream};
use splatcore_core::BackendError;

/// Bytes to which parts of a piece of memory are aligned.
const ALIGNMENT: usize = 256;

/// Where parts of these sizes begin, and the end of the last.
fn places_of<const N: usize>(sizes: [usize; N]) -> ([usize; N], usize) {
    let mut end = 0;
    let starts = sizes.map(|size| {
        let start = end;
        end += size.next_multiple_of(ALIGNMENT);
        start
    });
    (starts, end)
}

/// One of the two sorts.
struct Sort {
    plan: Plan,
    kernels: Vec<Kernel>,
    /// At most, and the number that the device reads at `count`.
    capacity: usize,
    count: Address,
    histograms: Address,
    states: Address,
}

impl Sort {
    /// Of so many keys of so many bits, without its addresses; and the bytes of its states.
    fn new(on: &OnStream, key_bits: u32, capacity: usize) -> Result<(Self, usize), BackendError> {
        let plan = Plan::new(key_bits.max(1), capacity);
        let kernels = on.kernels.get(&sort::program(plan)).map_err(failed)?;
        let Some(kernel) = kernels.last() else {
            return Err(wrong_program("sort"));
        };
        let states = plan.state_bytes(capacity, PieceSizes::of(kernel.tuned)?);
        let sort = Self {
            plan,
            kernels,
            capacity,
            count: 0,
            histograms: 0,
            states: 0,
        };
        Ok((sort, states))
    }

    /// Which of two places holds the result.
    fn result(&self) -> usize {
        self.plan.passes as usize % 2
    }

    /// Sorts what is in the first places.
    fn run(
        &self,
        on: &OnStream,
        keys: [Address; 2],
        values: [Address; 2],
    ) -> Result<(), BackendError> {
        let input = sort::Input {
            keys,
            values,
            count: self.count,
            capacity: self.capacity,
            has_gaps: false,
            ranges: 0,
            lists: 0,
        };
        let scratch = [self.histograms, self.states];
        sort::sort(&on.queue, &self.kernels, self.plan, input, scratch).map(|_| ())
    }
}

/// A sort of pairs and the memory that it takes, which is taken and given back in the stream's
/// order.
pub(super) struct Sorting {
    /// What `fill_pairs` would be launched with for pairs that are not sorted.
    fill: FillPairsParams,
    by_depth: Sort,
    by_tile: Sort,
    /// All that follow, in one piece: each allocation is a call of the driver. In front lie
    /// `zero_bytes` that are zeroed: the sorts' histograms and the states of `sum_counts`.
    memory: Buffer,
    zero_bytes: usize,
    sum_states: Address,
    /// Two words: of splats and pairs.
    counts: Address,
    /// `[M]`: depths, then the sums of tiles.
    depths: [Address; 2],
    /// `[M]`: splats.
    splats: [Address; 2],
    /// `[pairs]`: the upper halves of ids, and splats. The results are a part of the memory and
    /// the output `flatten_ids`; the other places lie in the output `isect_ids`, which is written
    /// last.
    keys: [Address; 2],
    values: [Address; 2],
}

impl Sorting {
    /// For pairs whose ids have so many bits in the upper half.
    pub fn new(on: &OnStream, fill: &FillPairsParams, key_bits: u32) -> Result<Self, BackendError> {
        let (count, total) = (fill.splats.count as usize, fill.pairs as usize);
        if total.max(count) as u64 > MOST_PAIRS {
            return Err(device_error(format!(
                "{total} pairs of {count} splats and tiles cannot be sorted, at most {MOST_PAIRS}: \
                 use larger tiles, smaller images or fewer Gaussians"
            )));
        }
        let (mut by_depth, depth_states) = Sort::new(on, ALL_BITS, count)?;
        let (mut by_tile, tile_states) = Sort::new(on, key_bits, total)?;
        let (starts, end) = places_of([
            by_depth.plan.histogram_bytes(),
            by_tile.plan.histogram_bytes(),
            4 * sum_blocks(count) as usize,
            8,
            // One sort after the other.
            depth_states.max(tile_states),
            4 * count,
            4 * count,
            4 * count,
            4 * count,
            4 * total,
        ]);
        let memory = Buffer::new(&on.queue.device, "memory of a sort of pairs", end)?;
        let at = starts.map(|start| memory.address() + start as u64);
        let [
            _,
            _,
            sum_states,
            counts,
            states,
            depth,
            other_depth,
            splat,
            other_splat,
            key,
        ] = at;
        let zero_bytes = starts[3];
        (by_depth.histograms, by_tile.histograms) = (at[0], at[1]);
        (by_depth.states, by_tile.states) = (states, states);
        (by_depth.count, by_tile.count) = (counts, counts + 4);
        let mut keys = [key, fill.isect_ids];
        let mut values = [fill.flatten_ids, fill.isect_ids + 4 * total as u64];
        if by_tile.result() == 1 {
            keys.reverse();
            values.reverse();
        }
        Ok(Self {
            fill: *fill,
            by_depth,
            by_tile,
            memory,
            zero_bytes,
            sum_states,
            counts,
            depths: [depth, other_depth],
            splats: [splat, other_splat],
            keys,
            values,
        })
    }

    /// Sorts splats by depth. Returns where they are, and inclusive sums of the numbers of their
    /// tiles in that order.
    pub fn order_splats(
        &self,
        on: &OnStream,
        [take_depths, sum_counts]: [Kernel; 2],
    ) -> Result<(Address, Address), BackendError> {
        let FillPairsParams {
            splats,
            depths,
            touched,
            pairs,
            ..
        } = self.fill;
        let count = splats.count;
        let params = TakeDepthsParams {
            depths,
            touched,
            splats: count,
            pairs,
            keys: self.depths[0],
            order: self.splats[0],
            zeros: self.memory.address(),
            zero_count: (self.zero_bytes / 4) as u32,
            counts: self.counts,
        };
        let grid = blocks(count as usize)?;
        on.queue.launch(take_depths, grid, BLOCK, &params)?;
        self.by_depth.run(on, self.depths, self.splats)?;
        let order = self.splats[self.by_depth.result()];
        let params = SumCountsParams {
            order,
            touched,
            splats: count,
            pairs,
            sums: self.depths[0],
            states: self.sum_states,
        };
        let grid = sum_blocks(count as usize);
        on.queue.launch(sum_counts, grid, BLOCK, &params)?;
        Ok((order, self.depths[0]))
    }

    /// Where the unsorted upper halves of ids and the splats are to be written.
    pub fn unsorted(&self) -> (Address, Address) {
        (self.keys[0], self.values[0])
    }

    /// Sorts them, and writes ids and splats to the outputs.
    pub fn sort_pairs(&self, on: &OnStream, write_ids: Kernel) -> Result<(), BackendError> {
        self.by_tile.run(on, self.keys, self.values)?;
        let FillPairsParams {
            depths,
            pairs,
            isect_ids,
            flatten_ids,
            ..
        } = self.fill;
        let params = WriteIdsParams {
            keys: self.keys[self.by_tile.result()],
            flatten_ids,
            depths,
            pairs,
            isect_ids,
        };
        let grid = blocks(pairs as usize)?;
        on.queue.launch(write_ids, grid, BLOCK, &params)
    }
}

/// Blocks of `sum_counts`.
fn sum_blocks(count: usize) -> u32 {
    count.div_ceil((BLOCK * SCAN_ITEMS) as usize) as u32
}
