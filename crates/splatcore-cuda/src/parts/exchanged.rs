//! An exchange between devices of one process, none of which waits for ever: an exchange of NCCL
//! that has failed never ends by itself.

use crate::device::DeviceError;
use crate::device::error::failed;
use crate::peers::Peers;
use splatcore_core::BackendError;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is asked whether an exchange has failed.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// Lets each of some devices take its part in an exchange, on a thread of its own, until all are
/// done. If one of them says that an exchange has failed, or they are not done by the deadline, the
/// exchange is given up on all.
///
/// # Errors
/// What a part reports, what its peers say, or that the deadline passed.
pub(super) fn exchanged<T: Send>(
    parts: &mut [T],
    peers: &[Arc<dyn Peers>],
    deadline: Duration,
    act: impl Fn(&mut T) -> Result<(), BackendError> + Sync,
) -> Result<(), BackendError> {
    let act = &act;
    thread::scope(|scope| {
        let (send, done) = mpsc::channel();
        let start = |part| {
            let send = send.clone();
            scope.spawn(move || {
                let acted = act(part);
                let _ = send.send(());
                acted
            })
        };
        let threads: Vec<_> = parts.iter_mut().map(start).collect();
        drop(send);
        let watched = watch(&done, threads.len(), peers, deadline);
        if watched.is_err() {
            peers.iter().for_each(|peers| peers.give_up());
        }
        let acted = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // All of them are waited for.
        let acted: Vec<_> = acted.collect();
        watched.map_err(failed)?;
        acted.into_iter().collect()
    })
}

/// Waits until so many have said that they are done, or all have ended.
fn watch(
    done: &mpsc::Receiver<()>,
    mut count: usize,
    peers: &[Arc<dyn Peers>],
    deadline: Duration,
) -> Result<(), DeviceError> {
    let begun = Instant::now();
    while count > 0 {
        match done.recv_timeout(ASK_EVERY.min(deadline)) {
            Ok(()) => count -= 1,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                for peers in peers {
                    peers.is_behind()?;
                }
                if begun.elapsed() >= deadline {
                    return Err(DeviceError::Failed(format!(
                        "an exchange between cards did not end within {} s",
                        deadline.as_secs_f64()
                    )));
                }
            }
        }
    }
    Ok(())
}
