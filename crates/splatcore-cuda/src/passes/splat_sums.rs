//! The sums of each splat, which the backward pass makes: where they lie while others read them.

use crate::device::{Address, Buffer, Device};
use crate::ops::blend_backward::SUM_BYTES;
use splatcore_core::BackendError;
use std::sync::Arc;

/// Rows of sums, by compacted index.
pub struct SplatSums {
    /// Of the last backward pass.
    last: Buffer,
    /// Of one before it, to which others are added.
    kept: Buffer,
    /// On their way to other ranks.
    sent: Buffer,
}

impl SplatSums {
    /// Empty.
    ///
    /// # Errors
    /// If not even that fits.
    pub(super) fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = || Buffer::new(device, "gradient sums of the projected Gaussians", 0);
        Ok(Self {
            last: empty()?,
            kept: empty()?,
            sent: empty()?,
        })
    }

    /// Gives the memory back.
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn clear(&mut self) -> Result<(), BackendError> {
        let mut all = [&mut self.last, &mut self.kept, &mut self.sent].into_iter();
        all.try_for_each(Buffer::clear)
    }

    /// Makes room for a backward pass.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn reserve(&mut self, splats: usize) -> Result<(), BackendError> {
        self.last.reserve(SUM_BYTES * splats).map(drop)
    }

    /// Address of the sums of the last backward pass.
    pub(super) fn address(&self) -> Address {
        self.last.address()
    }

    /// Keeps the sums of the last backward pass, so that another one leaves them alone.
    ///
    /// # Errors
    /// If memory is short; the sums are where they were then.
    pub(super) fn keep(&mut self, splats: usize) -> Result<(), BackendError> {
        self.kept.reserve(SUM_BYTES * splats)?;
        std::mem::swap(&mut self.kept, &mut self.last);
        Ok(())
    }

    /// Address of the sums that were kept.
    pub(super) fn kept(&self) -> Address {
        self.kept.address()
    }

    /// Leaves the sums at an address alone until others are set aside.
    pub fn set_aside(&mut self, sums: Address) {
        for buffer in [&mut self.last, &mut self.kept] {
            if buffer.address() == sums {
                std::mem::swap(buffer, &mut self.sent);
                return;
            }
        }
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> u64 {
        let all = [&self.last, &self.kept, &self.sent];
        all.map(|buffer| buffer.bytes() as u64).iter().sum()
    }
}
