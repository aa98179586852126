//! A stream beside a card's queue, for work that goes while the queue computes.

use super::Card;
use super::card::failed;
use crate::device::DeviceError;
use cudarc::driver::{result, sys};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// See the module's documentation. Blocks of its kernels come before those that the card's queue
/// has not begun. It lives as long as the process.
pub struct SecondStream {
    context: sys::CUcontext,
    queue: sys::CUstream,
    stream: sys::CUstream,
    /// Where the stream was when [`SecondStream::is_behind`] last found nothing to wait for.
    looked: Mutex<Option<usize>>,
}

// SAFETY: the driver's streams may be used by any thread.
unsafe impl Send for SecondStream {}
// SAFETY: as above.
unsafe impl Sync for SecondStream {}

impl SecondStream {
    /// An empty one beside the queue of a card.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn beside(card: &Card) -> Result<Self, DeviceError> {
        let (context, queue) = (card.context(), card.stream());
        let wrong = failed("a second stream");
        // SAFETY: the context is a card's, which stays for the life of the process.
        let stream = unsafe {
            result::ctx::set_current(context).map_err(&wrong)?;
            let (_, greatest) = result::stream::get_priority_range().map_err(&wrong)?;
            let kind = result::stream::StreamKind::NonBlocking;
            result::stream::create_with_priority(kind, greatest).map_err(&wrong)?
        };
        Ok(Self {
            context,
            queue,
            stream,
            looked: Mutex::new(None),
        })
    }

    /// Whether the stream has still to do what was in it at an earlier call: true from one call to
    /// the next as long as nothing ends. Waits for nothing, and may be called from any thread.
    pub fn is_behind(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = *looked {
            // SAFETY: the context is current, and the event was recorded below.
            let passed = unsafe {
                result::ctx::set_current(self.context)
                    .and_then(|()| result::event::query(event as sys::CUevent))
            };
            match passed {
                Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => return true,
                // SAFETY: as above; nobody else has it.
                _ => drop(unsafe { result::event::destroy(event as sys::CUevent) }),
            }
        }
        *looked = self.mark().ok();
        false
    }

    /// The stream as libraries take it.
    pub fn raw(&self) -> *mut c_void {
        self.stream.cast()
    }

    /// Lets what comes into the stream from now on wait for what is in the card's queue now.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn follow(&self) -> Result<(), DeviceError> {
        let event = self.record(self.queue)?;
        self.wait(self.stream, event)
    }

    /// Marks this place in the stream, for [`SecondStream::lead`].
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn mark(&self) -> Result<usize, DeviceError> {
        self.record(self.stream).map(|event| event as usize)
    }

    /// Lets what comes into the card's queue from now on wait until the stream has passed a mark,
    /// which is gone then.
    ///
    /// # Errors
    /// If the driver refuses.
    ///
    /// # Safety
    /// The mark came from [`SecondStream::mark`].
    pub unsafe fn lead(&self, mark: usize) -> Result<(), DeviceError> {
        self.wait(self.queue, mark as sys::CUevent)
    }

    fn record(&self, stream: sys::CUstream) -> Result<sys::CUevent, DeviceError> {
        let wrong = failed("a second stream");
        // SAFETY: the context is current, and the streams are of it.
        unsafe {
            result::ctx::set_current(self.context).map_err(&wrong)?;
            let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
            let event = result::event::create(flags).map_err(&wrong)?;
            result::event::record(event, stream).map_err(&wrong)?;
            Ok(event)
        }
    }

    /// Lets a stream wait for an event, which is given back.
    fn wait(&self, stream: sys::CUstream, event: sys::CUevent) -> Result<(), DeviceError> {
        let wrong = failed("a second stream");
        // SAFETY: the event was recorded, and the driver gives it back once it has passed.
        unsafe {
            result::ctx::set_current(self.context).map_err(&wrong)?;
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            result::stream::wait_event(stream, event, flags).map_err(&wrong)?;
            result::event::destroy(event).map_err(&wrong)
        }
    }
}
