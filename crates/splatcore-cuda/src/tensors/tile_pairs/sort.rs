//! A sort of ops/sort/sort.cu in memory that another holds.

use crate::device::error::failed;
use crate::device::params::Address;
use crate::device::queue::wrong_program;
use crate::device::{Buffer, Kernel};
use crate::ops::sort::{self, PieceSizes, Plan};
use crate::tensors::OnStream;
use splatcore_core::BackendError;

/// Bytes to which parts of a piece of memory are aligned.
const ALIGNMENT: usize = 256;

/// Several parts in one piece of memory, as each allocation is a call of the driver: the piece, and
/// the addresses of parts of these sizes. Taken and given back in the stream's order.
pub fn memory_of<const N: usize>(
    on: &OnStream,
    sizes: [usize; N],
) -> Result<(Buffer, [Address; N]), BackendError> {
    let mut end = 0;
    let starts = sizes.map(|size| {
        let start = end;
        end += size.next_multiple_of(ALIGNMENT);
        start
    });
    let memory = Buffer::new(&on.queue.device, "memory of a sort of pairs", end)?;
    let addresses = starts.map(|start| memory.address() + start as u64);
    Ok((memory, addresses))
}

/// A sort of keys with values. What runs in front of the sort zeroes the histograms.
pub struct Sort {
    plan: Plan,
    kernels: Vec<Kernel>,
    /// At most, and the number that the device reads at `count`.
    capacity: usize,
    state_bytes: usize,
    pub count: Address,
    pub histograms: Address,
    pub states: Address,
    /// Two places; the first holds what is sorted.
    pub keys: [Address; 2],
    pub values: [Address; 2],
}

impl Sort {
    /// Of so many keys of so many bits, without its addresses.
    pub fn new(on: &OnStream, key_bits: u32, capacity: usize) -> Result<Self, BackendError> {
        let plan = Plan::new(key_bits.max(1), capacity);
        let kernels = on.kernels.get(&sort::program(plan)).map_err(failed)?;
        let Some(kernel) = kernels.last() else {
            return Err(wrong_program("sort"));
        };
        Ok(Self {
            state_bytes: plan.state_bytes(capacity, PieceSizes::of(kernel.tuned)?),
            plan,
            kernels,
            capacity,
            count: 0,
            histograms: 0,
            states: 0,
            keys: [0; 2],
            values: [0; 2],
        })
    }

    /// Bytes of the histograms and of the states.
    pub fn bytes(&self) -> [usize; 2] {
        [self.plan.histogram_bytes(), self.state_bytes]
    }

    /// Sets the places. The results will be in the first of each pair.
    pub fn set_places(&mut self, mut keys: [Address; 2], mut values: [Address; 2]) {
        if !self.plan.passes.is_multiple_of(2) {
            keys.reverse();
            values.reverse();
        }
        (self.keys, self.values) = (keys, values);
    }

    /// Sorts what is in the first places.
    pub fn run(&self, on: &OnStream) -> Result<(), BackendError> {
        let input = sort::Input {
            keys: self.keys,
            values: self.values,
            count: self.count,
            capacity: self.capacity,
            has_gaps: false,
            room: self.capacity,
            ranges: 0,
            lists: 0,
        };
        let scratch = [self.histograms, self.states];
        sort::sort(&on.queue, &self.kernels, self.plan, input, scratch).map(|_| ())
    }
}
