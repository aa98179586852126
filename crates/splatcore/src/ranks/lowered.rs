//! A rank that a launcher started reads what it says itself, and passes on what went wrong.

use super::voice::pass_on;
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::fs::File;
use std::io::{self, BufReader, Write, pipe, stderr, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// How long a terminal may take for the last lines.
const LAST: Duration = Duration::from_secs(1);

/// The process's own stdout and stderr, and who says that all was read.
struct Lowered {
    own: [OwnedFd; 2],
    read: mpsc::Receiver<()>,
}

static LOWERED: Mutex<Option<Lowered>> = Mutex::new(None);

/// From here on what goes to stdout and stderr is passed on, until [`raise`].
///
/// # Errors
/// If the system has no more files.
pub fn lower(rank: usize) -> io::Result<()> {
    let own = [
        stdout().as_fd().try_clone_to_owned()?,
        stderr().as_fd().try_clone_to_owned()?,
    ];
    let mut to = File::from(own[1].try_clone()?);
    let (reader, writer) = pipe()?;
    stdout().flush()?;
    dup2_stdout(&writer)?;
    dup2_stderr(&writer)?;
    let (done, read) = mpsc::channel();
    thread::spawn(move || {
        pass_on(rank, BufReader::new(reader), &mut to);
        let _ = done.send(());
    });
    *LOWERED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Lowered { own, read });
    Ok(())
}

/// Waits until all that was said is passed on. What is said from here on is said as it is.
pub fn raise() {
    let lowered = LOWERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(Lowered { own, read }) = lowered else {
        return;
    };
    let _ = stdout().flush();
    // The reader comes to the end when nobody can write any more.
    let _ = dup2_stdout(&own[0]);
    let _ = dup2_stderr(&own[1]);
    let _ = read.recv_timeout(LAST);
}

/// Raises the voice of a rank at the end of the command, whatever the end is.
pub struct Raised;

impl Drop for Raised {
    fn drop(&mut self) {
        raise();
    }
}
