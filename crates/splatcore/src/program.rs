//! The program that runs: what it was called with, and what starts it again. The process may be one
//! of another program that holds the command line, Python for example.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

struct Called {
    begun: Instant,
    arguments: Vec<OsString>,
    again: Vec<OsString>,
}

static CALLED: OnceLock<Called> = OnceLock::new();

/// Notes how the command line was called; a process runs one. `again` is empty if the process's own
/// file starts it again.
pub fn set(arguments: &[OsString], again: Vec<OsString>) {
    let (begun, arguments) = (Instant::now(), arguments.to_vec());
    // A later call would be of the same program, whose arguments are then the first ones'.
    let _ = CALLED.set(Called {
        begun,
        arguments,
        again,
    });
}

/// The commit from which it was built, if whoever built it set `SPLATCORE_COMMIT`, as
/// `scripts/gpu-bundle` does; `-dirty` behind it if there were changes.
pub fn commit() -> Option<&'static str> {
    option_env!("SPLATCORE_COMMIT").filter(|commit| !commit.is_empty())
}

/// When the command line was called; now, where there is none.
pub fn begun() -> Instant {
    CALLED
        .get()
        .map_or_else(Instant::now, |called| called.begun)
}

/// Lets the process open as many files as the system allows: shells ask for less, and a run's
/// results need descriptors beside those of browsers.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        /// What macOS takes at most, and enough anywhere.
        const ENOUGH: u64 = 10_240;
        let mut limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
        if limit.current.is_some_and(|current| current < wanted) {
            limit.current = Some(wanted);
            // As it was if the system refuses.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}

/// The arguments, without the program's name.
pub fn arguments() -> Vec<String> {
    let called = CALLED.get().map(|called| called.arguments.as_slice());
    let typed = called.unwrap_or_default().iter().skip(1);
    typed.map(|typed| typed.to_string_lossy().into()).collect()
}

/// What starts the command line in another process, arguments follow.
///
/// # Errors
/// The process's own file cannot be found.
pub fn again() -> Result<Vec<OsString>> {
    match CALLED.get() {
        Some(called) if !called.again.is_empty() => Ok(called.again.clone()),
        _ => Ok(vec![own_file()?.into()]),
    }
}

/// The file of the program, if it is one file that runs by itself.
///
/// # Errors
/// The process's own file cannot be found.
pub fn file() -> Result<Option<PathBuf>> {
    match CALLED.get() {
        Some(called) if !called.again.is_empty() => Ok(None),
        _ => own_file().map(Some),
    }
}

fn own_file() -> Result<PathBuf> {
    std::env::current_exe().context("the program's own file")
}
