//! The sort of pairs by their 64-bit ids: pairs are written in the order of their splats' depths
//! and sorted by the upper halves of their ids alone.

use super::order::Order;
use super::program::{FillPairsParams, WriteIdsParams, blocks};
use super::sort::{Sort, memory_of};
use crate::device::error::device_error;
use crate::device::{Buffer, Kernel};
use crate::ops::intersect::MAX_PAIRS;
use crate::tensors::{BLOCK, OnStream};
use splatcore_core::BackendError;

/// A sort of pairs.
pub struct Sorting {
    by_tile: Sort,
    _memory: Buffer,
    write: WriteIdsParams,
}

impl Sorting {
    /// For pairs whose ids have so many bits in the upper half. Has `fill_pairs` write them, in
    /// this order, to where they are sorted.
    pub fn new(
        on: &OnStream,
        fill: &mut FillPairsParams,
        order: &Order,
        key_bits: u32,
    ) -> Result<Self, BackendError> {
        let total = fill.pairs as usize;
        if u64::from(fill.pairs) > MAX_PAIRS {
            return Err(device_error(format!(
                "{total} pairs of splats and tiles cannot be sorted, at most {MAX_PAIRS}: use \
                 larger tiles, smaller images or fewer Gaussians"
            )));
        }
        let mut by_tile = Sort::new(on, key_bits, total)?;
        let [histograms, states] = by_tile.bytes();
        let (memory, at) = memory_of(on, [histograms, 4, states, 4 * total])?;
        let [_, _, _, key] = at;
        [by_tile.histograms, by_tile.count, by_tile.states, _] = at;
        // The other places lie in the output `isect_ids`, which is written last.
        let [other_key, other_value] = [0, 4 * total as u64].map(|at| fill.isect_ids + at);
        by_tile.set_places([key, other_key], [fill.flatten_ids, other_value]);
        let write = WriteIdsParams {
            keys: key,
            flatten_ids: fill.flatten_ids,
            depths: fill.depths,
            pairs: fill.pairs,
            isect_ids: fill.isect_ids,
        };
        fill.order = order.splats.with_len("order", fill.splats.count as usize)?;
        fill.sums = order.sums.with_len("sums", fill.splats.count as usize)?;
        (fill.keys, fill.flatten_ids) = (by_tile.keys[0], by_tile.values[0]);
        (fill.zeros, fill.zero_count) = (by_tile.histograms, (histograms / 4) as u32);
        fill.count = by_tile.count;
        Ok(Self {
            by_tile,
            _memory: memory,
            write,
        })
    }

    /// Sorts the pairs, and writes ids and splats to the outputs.
    pub fn run(&self, on: &OnStream, write_ids: Kernel) -> Result<(), BackendError> {
        self.by_tile.run(on)?;
        let grid = blocks(self.write.pairs as usize)?;
        on.queue.launch(write_ids, grid, BLOCK, &self.write)
    }
}
