//! Ranks with a card each, between which NVIDIA's library NCCL moves data. The library is opened
//! at run time, and only when there is more than one rank.

mod find;
mod library;

pub use find::{REMEDY, nccl};
pub use library::{Id, NcclLibrary};

use super::{Begun, Peers, Piece};
use crate::device::driver::{Card, SecondStream};
use crate::device::{Device, DeviceError};
use cudarc::driver::{result, sys};
use library::Communicator;
use splatcore_core::backend::Ranks;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A rank of a communicator of NCCL. Its exchanges go in a stream of their own; with its priority
/// they do not wait until no kernel of the device's queue has blocks left.
pub struct Nccl {
    ranks: Ranks,
    library: &'static NcclLibrary,
    communicator: Communicator,
    stream: SecondStream,
    /// In a call of NCCL, which may wait for another rank by itself.
    calls: AtomicBool,
    /// It was aborted, and must not be used.
    given_up: AtomicBool,
}

// SAFETY: NCCL's calls of one communicator are made from one thread at a time: the learner's. Its
// error may be asked for by another thread meanwhile.
unsafe impl Send for Nccl {}
// SAFETY: as above.
unsafe impl Sync for Nccl {}

/// Ends the process at once. The driver's own end would wait for kernels that wait for a rank that
/// is gone.
pub fn leave(code: i32) -> ! {
    unsafe extern "C" {
        fn _exit(code: i32) -> !;
    }
    // SAFETY: the C library's function has no preconditions.
    unsafe { _exit(code) }
}

/// What goes to the thread that waits for the other ranks.
struct Handles(sys::CUcontext);
// SAFETY: a context may be used by any thread.
unsafe impl Send for Handles {}

impl Nccl {
    /// Meets the other ranks, all of which have the same `id`, and waits at most so long for them.
    ///
    /// # Errors
    /// If there is no NCCL, the ranks do not come, or NCCL refuses: two ranks on one card.
    pub fn join(
        card: &Card,
        ranks: Ranks,
        id: Id,
        deadline: Duration,
    ) -> Result<Self, DeviceError> {
        let library = nccl()?;
        let stream = SecondStream::beside(card)?;
        let context = Handles(card.context());
        let (send, receive) = mpsc::channel();
        // NCCL waits without end for a rank that does not come: the thread is left behind then.
        thread::spawn(move || {
            let context = context;
            // SAFETY: the primary context stays for the life of the process.
            let joined = match unsafe { result::ctx::set_current(context.0) } {
                Ok(()) => library.join(ranks, id),
                Err(error) => Err(DeviceError::Failed(format!("the card: {error}"))),
            };
            let _ = send.send(joined);
        });
        let late = |_| {
            DeviceError::Failed(format!(
                "NCCL did not bring {} ranks together within {} s",
                ranks.count,
                deadline.as_secs()
            ))
        };
        Ok(Self {
            ranks,
            library,
            communicator: receive.recv_timeout(deadline).map_err(late)??,
            stream,
            calls: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
        })
    }

    fn check_sound(&self) -> Result<(), DeviceError> {
        match self.given_up.load(Ordering::Relaxed) {
            true => Err(DeviceError::Failed("exchanges were given up".into())),
            false => Ok(()),
        }
    }
}

impl Peers for Nccl {
    fn ranks(&self) -> Ranks {
        self.ranks
    }

    unsafe fn begin(
        &self,
        _: &dyn Device,
        give: Vec<Piece>,
        take: Vec<Piece>,
    ) -> Result<Begun, DeviceError> {
        self.check_sound()?;
        self.stream.follow()?;
        self.calls.store(true, Ordering::Relaxed);
        // SAFETY: the caller's promise; the stream is of the device.
        let begun = unsafe {
            self.library
                .exchange(&self.communicator, self.stream.raw(), &give, &take)
        };
        self.calls.store(false, Ordering::Relaxed);
        begun.and_then(|()| self.stream.mark()).map(Begun)
    }

    fn end(&self, _: &dyn Device, Begun(mark): Begun) -> Result<(), DeviceError> {
        // SAFETY: `begin` made the mark.
        unsafe { self.stream.lead(mark) }
    }

    fn is_behind(&self) -> Result<bool, DeviceError> {
        self.check_sound()?;
        self.library.sound(&self.communicator)?;
        Ok(self.calls.load(Ordering::Relaxed) || self.stream.is_behind())
    }

    fn give_up(&self) {
        if !self.given_up.swap(true, Ordering::Relaxed) {
            self.library.abort(&self.communicator);
        }
    }
}
