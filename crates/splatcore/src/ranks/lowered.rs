//! A rank that a launcher started has another process read what it says, which passes on what went
//! wrong: also the last words of a process that aborts.

use super::launch;
use super::voice::pass_on;
use anyhow::{Context, Result};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use std::env;
use std::io::{Write, stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a terminal may take for the last lines.
const LAST: Duration = Duration::from_secs(1);
/// Set for the process that reads, to the number of the rank.
const READER_VARIABLE: &str = "SPLATCORE_READS_RANK";

/// The process's own stdout and stderr, and who reads what it says.
struct Lowered {
    own: [OwnedFd; 2],
    reader: Child,
}

static LOWERED: Mutex<Option<Lowered>> = Mutex::new(None);

/// Whether this process was started to read what a rank says, which it then has done.
pub fn has_read() -> bool {
    let rank = env::var(READER_VARIABLE).ok();
    let Some(rank) = rank.and_then(|rank| rank.parse().ok()) else {
        return false;
    };
    pass_on(rank, stdin().lock(), &mut stderr());
    true
}

/// From here on what goes to stdout and stderr is passed on, until [`raise`].
///
/// # Errors
/// If the system has no more files or processes.
pub fn lower(rank: usize) -> Result<()> {
    let own = [
        stdout().as_fd().try_clone_to_owned()?,
        stderr().as_fd().try_clone_to_owned()?,
    ];
    let mut command = launch::this_program()?;
    command
        .env(READER_VARIABLE, rank.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    // What ends the rank is not to end who reads its last words.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut reader = command
        .spawn()
        .context("a process that reads what a rank says")?;
    let writer = reader.stdin.take().context("the way to that process")?;
    stdout().flush()?;
    dup2_stdout(&writer)?;
    dup2_stderr(&writer)?;
    *LOWERED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Lowered { own, reader });
    Ok(())
}

/// Waits until all that was said is passed on. What is said from here on is said as it is.
pub fn raise() {
    let lowered = LOWERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(Lowered { own, mut reader }) = lowered else {
        return;
    };
    let _ = stdout().flush();
    // The reader comes to the end when nobody can write any more.
    let _ = dup2_stdout(&own[0]);
    let _ = dup2_stderr(&own[1]);
    let until = Instant::now() + LAST;
    while matches!(reader.try_wait(), Ok(None)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Raises the voice of a rank at the end of the command, whatever the end is.
pub struct Raised;

impl Drop for Raised {
    fn drop(&mut self) {
        raise();
    }
}
