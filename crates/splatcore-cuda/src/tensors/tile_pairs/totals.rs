//! Numbers on their way from the device, so that a program can put more work into the stream before
//! it waits for them.

use crate::device::driver::RestoreContext;
use crate::device::params::Address;
use crate::tensors::OnStream;
use crate::tensors::slots::{Slot, Slots};
use splatcore_core::BackendError;
use std::sync::Arc;

/// What kernels in a stream count.
pub struct Totals {
    slots: Arc<Slots>,
    /// None once the numbers were read.
    slot: Option<Slot>,
    is_card: bool,
}

/// The numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Pairs of tile and splat.
    pub pairs: u64,
    /// Splats whose radii are positive.
    pub drawn: u64,
}

impl Totals {
    /// Has kernels that `count` launches add to two numbers, which are zero before.
    pub(super) fn of(
        on: &OnStream,
        count: impl FnOnce(Address) -> Result<(), BackendError>,
    ) -> Result<Self, BackendError> {
        let mut slot = on.slots.take(on.stream, &on.queue.device)?;
        count(slot.zero()?)?;
        slot.copy()?;
        Ok(Self {
            slots: on.slots.clone(),
            slot: Some(slot),
            is_card: on.restored.is_some(),
        })
    }

    /// Waits for the numbers, but not for what is in the stream behind them.
    ///
    /// # Errors
    /// If the device failed.
    pub fn wait(mut self) -> Result<Waited, BackendError> {
        self.read()
    }

    /// Gives the slot back; zeros if that was done.
    fn read(&mut self) -> Result<Waited, BackendError> {
        let Some(slot) = self.slot.take() else {
            return Ok(Waited::default());
        };
        let _restored = self.is_card.then(RestoreContext::new);
        let [pairs, drawn] = slot.wait()?;
        self.slots.give_back(slot);
        Ok(Waited { pairs, drawn })
    }
}

impl Drop for Totals {
    fn drop(&mut self) {
        // A copy that is on its way must not find another's numbers in its slot.
        let _ = self.read();
    }
}
