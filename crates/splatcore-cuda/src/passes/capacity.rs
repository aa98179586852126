//! Room for pairs: what grows when.

use super::both::Passes;
use crate::ops::bin;
use crate::ops::counters::Counters;
use crate::ops::intersect::MAX_PAIRS;
use splatcore_core::{BackendError, Choice};

/// Pairs that the first guess makes room for at most.
const MAX_GUESS: u64 = 1 << 22;

impl Passes {
    /// Whether there is room for any pairs: that for a binned frame's is known from the last one.
    pub fn has_room(&self) -> bool {
        match self.inference.binned.last {
            Some(_) => self.inference.binned.most_pairs > 0,
            None => self.sorted.pair_capacity() > 0,
        }
    }

    /// Makes room for what a frame that overflowed wanted, and starts counting anew.
    ///
    /// # Errors
    /// As [`Passes::reserve_pairs`].
    pub fn make_room(&mut self, counters: &Counters) -> Result<(), BackendError> {
        self.work.reset_counters()?;
        let Some(macro_tiles) = self.inference.binned.last else {
            return self.make_sorted_room(counters);
        };
        check_pairs(counters.needed, bin::most_pairs(macro_tiles.side))?;
        self.inference.binned.grow(counters);
        Ok(())
    }

    /// Makes room for what a frame wanted whose lists are made by sorting.
    ///
    /// # Errors
    /// As [`Passes::reserve_pairs`].
    pub fn make_sorted_room(&mut self, counters: &Counters) -> Result<(), BackendError> {
        self.work.widen(counters.most_splats as usize);
        self.reserve_pairs(counters.needed)
    }

    /// Gives back what has a place for each Gaussian. From now on frames have room for so many
    /// splats, and overflow and are taken again if they see more.
    ///
    /// # Errors
    /// If the device failed.
    pub fn narrow(&mut self, splats: usize) -> Result<(), BackendError> {
        self.work.narrow(splats)?;
        self.sorted.release_gaussians()?;
        self.sorted.release_pairs()?;
        self.training.release_splats()
    }

    /// Makes room for at least so many pairs, and for a quarter more if there is memory.
    ///
    /// # Errors
    /// If there are more than can be numbered, or no memory; there is as much room as before then.
    pub fn reserve_pairs(&mut self, pairs: u64) -> Result<(), BackendError> {
        check_pairs(pairs, MAX_PAIRS as usize)?;
        let (pairs, before) = (pairs as usize, self.sorted.pair_capacity());
        if pairs <= before {
            return Ok(());
        }
        self.allocate_pairs(roomy(pairs as u64) as usize)
            .or_else(|_| self.allocate_pairs(pairs))
            .or_else(|error| {
                self.allocate_pairs(before)?;
                Err(error)
            })
    }

    /// Room for the first sorted frame: a guess; the frame tells.
    pub(crate) fn reserve_first_pairs(&mut self, splats: usize) -> Result<(), BackendError> {
        if self.sorted.pair_capacity() > 0 {
            return Ok(());
        }
        self.reserve_pairs(guess(splats))
            .or_else(|_| self.reserve_pairs(1 << 12))
    }

    fn allocate_pairs(&mut self, capacity: usize) -> Result<(), BackendError> {
        // All old memory first: what is left between smaller buffers may not hold a larger one.
        self.sorted.release_pairs()?;
        self.training.release_pairs()?;
        self.inference.binned.release_tile_lists()?;
        let allocated = self
            .sorted
            .allocate_pairs(capacity)
            .and_then(|()| self.training.allocate_pairs(capacity));
        if allocated.is_err() {
            self.sorted.forget_pairs();
        }
        allocated
    }

    /// Leaves room for no more than so many pairs, to provoke what happens when there are more.
    #[cfg(test)]
    pub fn shrink_pairs(&mut self, capacity: usize) {
        self.sorted.shrink_pairs(capacity);
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        self.work.bytes() + self.sorted.bytes() + self.inference.bytes() + self.training.bytes()
    }
}

/// Room that is made for so many pairs if there is memory: for a quarter more.
pub(crate) fn roomy(pairs: u64) -> u64 {
    (pairs + pairs / 4).min(MAX_PAIRS)
}

/// Pairs of the first frame of so many splats, as far as that is known: the more Gaussians there
/// are the smaller they are.
pub(crate) fn guess(splats: usize) -> u64 {
    (8 * splats as u64).clamp(1 << 12, MAX_GUESS)
}

/// Refuses more pairs than can be numbered.
fn check_pairs(pairs: u64, most: usize) -> Result<(), BackendError> {
    if pairs <= most as u64 {
        return Ok(());
    }
    Err(BackendError::OutOfMemory {
        backend: "cuda",
        buffer: format!(
            "{pairs} (tile, Gaussian) pairs, more than the {most} that can be numbered,"
        ),
        bytes: pairs * 20,
        free: None,
        depends_on: &[Choice::ImageSize, Choice::GaussianCount, Choice::Pipeline],
    })
}
