//! The journal of an experiment: what happened, in order, never changed.
//!
//! `journal.jsonl` holds a JSON object a line: number, time, the SHA-256 of the line before, and an
//! [`Event`]. A line is on disk before its event counts, so a run that is killed loses at most the
//! work in flight. A last line without its end is dropped when the journal is opened; a line that
//! was changed afterwards breaks the chain, and the journal is refused.
//!
//! Texts, compiled code and samples are in `blobs/`, each named by the SHA-256 of its bytes.

mod blobs;
mod event;
mod state;

pub use blobs::{Blobs, Digest};
pub use event::{Checked, Code, CrossChecked, Event, NotRun, Opened, Proposed, Series, Timed};
pub use state::State;

use crate::candidate::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Counted from 0.
    pub n: u64,
    /// Seconds since 1970-01-01 UTC.
    pub at: u64,
    /// SHA-256 of the line before, without its end; of nothing for the first.
    pub previous: String,
    /// What happened.
    pub event: Event,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A line is not what was written.
    #[error(
        "{path}, line {line}: {what}; take the journal from a backup, or begin a new experiment"
    )]
    Broken {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Another process writes it.
    #[error("{path} is in use by another run of this experiment; wait for it or stop it")]
    InUse {
        /// The journal.
        path: PathBuf,
    },
}

/// An open journal: one process writes it at a time.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    last: String,
}

/// Seconds since 1970.
pub fn seconds_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

impl Journal {
    /// Opens a journal, or begins one.
    ///
    /// # Errors
    /// If the file cannot be read and written, another process has it open, or it was changed.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let failed = |error| JournalError::Io {
            path: path.to_owned(),
            error,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        lock(&file).ok_or_else(|| JournalError::InUse {
            path: path.to_owned(),
        })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let whole = whole_lines(&text);
        file.set_len(whole.len() as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let (entries, last) = read(path, whole)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
            last,
        })
    }

    /// Everything so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds an event. It is on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written: what was written of it is dropped by the next [`Journal::open`].
    pub fn append(&mut self, event: Event) -> Result<&Entry, JournalError> {
        let entry = Entry {
            n: self.entries.len() as u64,
            at: seconds_now(),
            previous: self.last.clone(),
            event,
        };
        let failed = |error| JournalError::Io {
            path: self.path.clone(),
            error,
        };
        let line = serde_json::to_string(&entry).map_err(|error| failed(error.into()))?;
        self.file
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(failed)?;
        self.last = digest(line.as_bytes());
        self.entries.push(entry);
        Ok(&self.entries[self.entries.len() - 1])
    }
}

/// Everything that a journal holds so far; another process may be writing it.
///
/// # Errors
/// If the file cannot be read, or was changed.
pub fn entries(path: &Path) -> Result<Vec<Entry>, JournalError> {
    let text = std::fs::read(path).map_err(|error| JournalError::Io {
        path: path.to_owned(),
        error,
    })?;
    Ok(read(path, whole_lines(&text))?.0)
}

/// Without a last line that has no end: it is being written, or its writer was killed.
fn whole_lines(text: &[u8]) -> &[u8] {
    let whole = text.iter().rposition(|&b| b == b'\n');
    &text[..whole.map_or(0, |at| at + 1)]
}

/// Locks a file for this process, if no other has. A process that is being started shares its
/// parent's locks for a moment, hence the patience.
pub(crate) fn lock(file: &File) -> Option<()> {
    const TRIES: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(10);
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            // Or a file system without locks.
            Ok(()) | Err(TryLockError::Error(_)) => return Some(()),
        }
    }
    None
}

/// The entries of whole lines, and the digest of the last.
fn read(path: &Path, text: &[u8]) -> Result<(Vec<Entry>, String), JournalError> {
    let mut entries = Vec::new();
    let mut last = digest(b"");
    for (n, line) in text.split(|&b| b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let broken = |what: String| JournalError::Broken {
            path: path.to_owned(),
            line: n + 1,
            what,
        };
        let entry: Entry =
            serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
        if entry.previous != last || entry.n != entries.len() as u64 {
            return Err(broken("a line before this one was changed".into()));
        }
        last = digest(line);
        entries.push(entry);
    }
    Ok((entries, last))
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
