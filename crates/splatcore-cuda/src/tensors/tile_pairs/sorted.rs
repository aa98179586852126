//! The sort of pairs by their 64-bit ids.

use crate::device::error::{device_error, failed};
use crate::device::params::{Address, kernel_params};
use crate::device::{Buffer, Kernel};
use crate::ops::intersect::MOST_PAIRS;
use crate::ops::sort::{self, ALL_BITS, PieceSizes, Plan};
use crate::tensors::{BLOCK, OnStream, grid};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `take_keys` (tile_pairs.cu).
    pub struct TakeKeysParams {
        ids: Address,
        keys: Address,
        places: Address,
        pairs: u32,
        is_upper: u32,
        count: Address,
    }

    /// Parameters of `gather_pairs` (tile_pairs.cu).
    pub struct GatherPairsParams {
        ids: Address,
        splats: Address,
        places: Address,
        pairs: u32,
        isect_ids: Address,
        flatten_ids: Address,
    }
}

/// The plans of both sorts for pairs with keys of so many bits.
fn plans(total: usize, key_bits: u32) -> [Plan; 2] {
    [ALL_BITS, key_bits.max(1)].map(|bits| Plan::new(bits, total))
}

/// A sort of pairs and the memory that it takes, which is taken and given back in the stream's
/// order.
pub(super) struct Sorting {
    total: usize,
    plans: [Plan; 2],
    kernels: [Vec<Kernel>; 2],
    /// All that follow, in one piece: each allocation is a call of the driver. Histograms lie in
    /// front.
    memory: Buffer,
    states: Address,
    count: Address,
    ids: Address,
    splats: Address,
    keys: [Address; 2],
    places: [Address; 2],
}

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

impl Sorting {
    /// For `total` pairs whose ids have so many bits in the upper half.
    pub fn new(on: &OnStream, total: usize, key_bits: u32) -> Result<Self, BackendError> {
        if total as u64 > MOST_PAIRS {
            return Err(device_error(format!(
                "{total} pairs of splats and tiles cannot be sorted, at most {MOST_PAIRS}: use \
                 larger tiles, smaller images or fewer Gaussians"
            )));
        }
        let plans = plans(total, key_bits);
        let load = |plan| on.kernels.get(&sort::program(plan)).map_err(failed);
        let kernels = [load(plans[0])?, load(plans[1])?];
        let mut states = 0;
        for (plan, kernels) in plans.iter().zip(&kernels) {
            let tuned = kernels.last().map(|kernel| kernel.tuned);
            let sizes = tuned.map_or(
                Err(crate::device::queue::wrong_program("sort")),
                PieceSizes::of,
            )?;
            states = states.max(plan.state_bytes(total, sizes));
        }
        let [lower, upper] = plans.map(Plan::histogram_bytes);
        let histograms = lower.max(upper);
        let words = 4 * total;
        let sizes = [
            histograms,
            states,
            4,
            2 * words,
            words,
            words,
            words,
            words,
            words,
        ];
        let (starts, end) = places_of(sizes);
        let memory = Buffer::new(&on.queue.device, "memory of a sort of pairs", end)?;
        let [
            _,
            states,
            count,
            ids,
            splats,
            keys,
            other_keys,
            places,
            other_places,
        ] = starts.map(|start| memory.address() + start as u64);
        Ok(Self {
            total,
            plans,
            kernels,
            memory,
            states,
            count,
            ids,
            splats,
            keys: [keys, other_keys],
            places: [places, other_places],
        })
    }

    /// Where the unsorted ids and splats are to be written.
    pub fn unsorted(&self) -> (Address, Address) {
        (self.ids, self.splats)
    }

    /// Sorts them and writes ids and splats to these addresses.
    pub fn run(
        &self,
        on: &OnStream,
        [take_keys, gather_pairs]: [Kernel; 2],
        [isect_ids, flatten_ids]: [Address; 2],
    ) -> Result<(), BackendError> {
        let blocks = grid(self.total.div_ceil(BLOCK as usize))?;
        let pairs = self.total as u32;
        let (mut keys, mut places) = (self.keys, self.places);
        for (is_upper, (plan, kernels)) in self.plans.iter().zip(&self.kernels).enumerate() {
            let params = TakeKeysParams {
                ids: self.ids,
                keys: keys[0],
                places: places[0],
                pairs,
                is_upper: is_upper as u32,
                count: self.count,
            };
            on.queue.launch(take_keys, blocks, BLOCK, &params)?;
            self.memory.fill(0, plan.histogram_bytes())?;
            let input = sort::Input {
                keys,
                values: places,
                count: self.count,
                capacity: self.total,
                has_gaps: false,
                ranges: 0,
                lists: 0,
            };
            let scratch = [self.memory.address(), self.states];
            if sort::sort(&on.queue, kernels, *plan, input, scratch)? == 1 {
                keys.reverse();
                places.reverse();
            }
        }
        let params = GatherPairsParams {
            ids: self.ids,
            splats: self.splats,
            places: places[0],
            pairs,
            isect_ids,
            flatten_ids,
        };
        on.queue.launch(gather_pairs, blocks, BLOCK, &params)
    }
}
