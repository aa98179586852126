//! The numbers of the last refinements, which stay on the device until the host looks.

use crate::device::{Buffer, Device};
use bytemuck::{Pod, Zeroable};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, RefineReport};
use std::sync::Arc;

// Places of a refinement's numbers.
/// Gaussians cloned, before pruning.
pub(super) const CLONED: usize = 0;
/// Gaussians split, before pruning.
pub(super) const SPLIT: usize = 1;
/// MCMC: dead Gaussians relocated.
pub(super) const MOVED: usize = 2;
/// Gaussians that stay as they are.
pub(super) const KEPT: usize = 3;
/// Gaussians of which a copy is appended.
pub(super) const CLONES: usize = 4;
/// Gaussians of which children are appended.
pub(super) const PARENTS: usize = 5;
/// Gaussians of a list that only the next kernels need.
pub(super) const LISTED: usize = 6;
/// MCMC: sum of the weights.
pub(super) const WEIGHT: usize = 7;
/// MCMC: copies appended.
pub(super) const ADDED: usize = 8;
/// Gaussians before, 0 if a buffer overflowed.
pub(super) const ALL: usize = 9;
/// Children appended.
pub(super) const CHILDREN: usize = 10;
/// Clones and children appended.
pub(super) const APPENDED: usize = 11;
/// Rows after compaction, 0 if all Gaussians stay.
pub(super) const COMPACTED: usize = 12;
/// Gaussians after.
pub(super) const AFTER: usize = 13;
/// Places of a refinement, some unused.
pub(super) const PLACES: usize = 16;

/// The places that kernels name, as their constants; they have the addresses of the others.
pub(super) fn constants() -> [(&'static str, String); 12] {
    [
        ("TOTAL_CLONED", CLONED),
        ("TOTAL_SPLIT", SPLIT),
        ("TOTAL_KEPT", KEPT),
        ("TOTAL_CLONES", CLONES),
        ("TOTAL_PARENTS", PARENTS),
        ("TOTAL_ADDED", ADDED),
        ("TOTAL_ALL", ALL),
        ("TOTAL_CHILDREN", CHILDREN),
        ("TOTAL_APPENDED", APPENDED),
        ("TOTAL_COMPACTED", COMPACTED),
        ("TOTAL_AFTER", AFTER),
        ("TOTALS", PLACES),
    ]
    .map(|(name, place)| (name, place.to_string()))
}

/// So many refinements can be told apart: at least as many as steps and refinements can be in the
/// queue.
pub const REFINEMENTS: usize = 32;

/// The numbers of the last refinements.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Totals([[u64; PLACES]; REFINEMENTS]);

impl Totals {
    /// Those of one.
    pub(super) fn of(&self, place: usize) -> &[u64; PLACES] {
        &self.0[place]
    }
}

/// A refinement in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Launched {
    /// Where its numbers are.
    pub(super) place: usize,
    /// Gaussians before it.
    pub before: usize,
}

/// Where the numbers of a refinement are on the device.
#[derive(Clone, Copy)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// All of them.
    pub(super) fn address(self) -> u64 {
        self.0
    }

    /// One of them.
    pub(super) fn at(self, place: usize) -> u64 {
        self.0 + (place * size_of::<u64>()) as u64
    }
}

/// [`Totals`] on the device, and which is the next.
pub(super) struct Ring {
    buffer: Buffer,
    next: usize,
}

impl Ring {
    pub(super) fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        Ok(Self {
            buffer: Buffer::from_slice(device, "numbers of the refinements", &[Totals::zeroed()])?,
            next: 0,
        })
    }

    pub(super) fn address(&self) -> u64 {
        self.buffer.address()
    }

    pub(super) fn bytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// The next ones, and which of [`Totals`] they are.
    pub(super) fn take(&mut self) -> (usize, Numbers) {
        let place = self.next;
        self.next = (place + 1) % REFINEMENTS;
        let address = self.buffer.address() + (place * size_of::<[u64; PLACES]>()) as u64;
        (place, Numbers(address))
    }

    /// The numbers of one refinement. Waits for the device.
    pub(super) fn read_one(&self, numbers: Numbers) -> Result<[u64; PLACES], BackendError> {
        let mut of_one = [0; PLACES];
        let at = (numbers.0 - self.buffer.address()) as usize;
        self.buffer.read(at, &mut of_one)?;
        Ok(of_one)
    }

    /// Waits for the device.
    pub(super) fn read(&self) -> Result<Totals, BackendError> {
        let mut totals = [Totals::zeroed()];
        self.buffer.read(0, &mut totals)?;
        Ok(totals[0])
    }
}

/// What a refinement did, by its numbers.
pub(super) fn report(refine: &Refine, numbers: &[u64; PLACES]) -> RefineReport {
    let number = |place: usize| numbers[place] as usize;
    let (before, count) = (number(ALL), number(AFTER));
    let report = RefineReport {
        count,
        ..RefineReport::default()
    };
    match refine {
        Refine::Adc { .. } => RefineReport {
            cloned: number(CLONED),
            split: number(SPLIT),
            // Each split puts two in the place of one.
            pruned: (before + number(CLONED) + number(SPLIT)).saturating_sub(count),
            ..report
        },
        Refine::PruneFloaters { .. } | Refine::PruneByColumn(_) => RefineReport {
            pruned: before.saturating_sub(count),
            ..report
        },
        Refine::Mcmc { .. } => RefineReport {
            relocated: number(MOVED),
            added: number(ADDED),
            ..report
        },
        Refine::ComputeColumn(_)
        | Refine::LimitScales { .. }
        | Refine::ResetOpacity { .. }
        | Refine::FadeOpacity { .. } => report,
    }
}
