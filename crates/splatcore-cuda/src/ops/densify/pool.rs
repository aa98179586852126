//! Memory beside the state, kept from one refinement to the next where memory is plenty: allocating
//! takes the driver some 50 us, and freeing waits for the device.

use super::reserve::is_plenty;
use crate::device::{Buffer, Device};
use splatcore_core::BackendError;
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

/// Buffers that are not lent at the moment.
pub struct Pool {
    device: Arc<dyn Device>,
    buffers: RefCell<Vec<Buffer>>,
}

/// A buffer of a pool, which comes back by itself.
pub struct Lent<'a> {
    pool: &'a Pool,
    /// `None` only while it is dropped.
    buffer: Option<Buffer>,
}

impl Pool {
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            buffers: RefCell::default(),
        }
    }

    /// At least `bytes` with undefined content: the smallest buffer that has them, or a new one,
    /// somewhat larger if memory is plenty, since the next refinement will want more.
    ///
    /// # Errors
    /// If memory is short.
    pub fn take(&self, name: &'static str, bytes: usize) -> Result<Lent<'_>, BackendError> {
        let mut buffers = self.buffers.borrow_mut();
        let fits = |(_, buffer): &(usize, &Buffer)| buffer.bytes() >= bytes;
        let smallest = buffers
            .iter()
            .enumerate()
            .filter(fits)
            .min_by_key(|(_, buffer)| buffer.bytes());
        let buffer = match smallest.map(|(place, _)| place) {
            Some(place) => buffers.swap_remove(place),
            None if is_plenty(&self.device, 2 * bytes as u64) => {
                Buffer::new(&self.device, name, bytes + bytes / 2)?
            }
            None => Buffer::new(&self.device, name, bytes)?,
        };
        Ok(Lent {
            pool: self,
            buffer: Some(buffer),
        })
    }

    /// At the end of a refinement: frees everything, unless it takes little of what is free.
    pub fn trim(&self) {
        let mut buffers = self.buffers.borrow_mut();
        let bytes: u64 = buffers.iter().map(|buffer| buffer.bytes() as u64).sum();
        if !is_plenty(&self.device, bytes) {
            buffers.clear();
        }
    }
}

impl Deref for Lent<'_> {
    type Target = Buffer;
    fn deref(&self) -> &Buffer {
        match &self.buffer {
            Some(buffer) => buffer,
            None => unreachable!("a buffer is taken out only when it is dropped"),
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.pool.buffers.borrow_mut().extend(self.buffer.take());
    }
}
