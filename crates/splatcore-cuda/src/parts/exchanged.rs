//! What devices of one process do at once. In an exchange none of them waits for ever: an exchange
//! of NCCL that has failed never ends by itself.

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

/// Does something with each of them at once.
pub(super) fn at_once<T: Send, R: Send, E: Send>(
    all: &mut [T],
    act: impl Fn(&mut T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let act = &act;
    thread::scope(|scope| {
        let threads: Vec<_> = all
            .iter_mut()
            .map(|one| scope.spawn(move || act(one)))
            .collect();
        let done = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // All of them are waited for.
        done.collect::<Vec<_>>().into_iter().collect()
    })
}

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
    thread::scope(|scope| {
        let (send, done) = mpsc::channel();
        let count = parts.len();
        let watcher = scope.spawn(move || {
            let watched = watch(&done, count, peers, deadline);
            if watched.is_err() {
                peers.iter().for_each(|peers| peers.give_up());
            }
            watched
        });
        let acted = at_once(parts, |part| {
            let acted = act(part);
            let _ = send.send(());
            acted
        });
        let watched = watcher.join().unwrap_or_else(|panic| resume_unwind(panic));
        watched.map_err(failed)?;
        acted.map(drop)
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
