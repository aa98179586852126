//! The number of pairs on its way from the device, so that a program can put more work into the
//! stream before it waits for the number.

use crate::device::driver::RestoreContext;
use crate::device::params::Address;
use crate::tensors::OnStream;
use crate::tensors::slots::{Slot, Slots};
use splatcore_core::BackendError;
use std::sync::Arc;

/// The number of pairs that kernels in a stream count.
pub struct Total {
    slots: Arc<Slots>,
    /// None once the number was read.
    slot: Option<Slot>,
    is_card: bool,
}

impl Total {
    /// Has kernels that `count` launches add to a number, which is zero before.
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

    /// Waits for the number, but not for what is in the stream behind it.
    ///
    /// # Errors
    /// If the device failed.
    pub fn wait(mut self) -> Result<u64, BackendError> {
        self.read()
    }

    /// Gives the slot back; 0 if that was done.
    fn read(&mut self) -> Result<u64, BackendError> {
        let Some(slot) = self.slot.take() else {
            return Ok(0);
        };
        let _restored = self.is_card.then(RestoreContext::new);
        let number = slot.wait()?;
        self.slots.give_back(slot);
        Ok(number)
    }
}

impl Drop for Total {
    fn drop(&mut self) {
        // A copy that is on its way must not find another's number in its slot.
        let _ = self.read();
    }
}
