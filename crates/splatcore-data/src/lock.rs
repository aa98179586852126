//! One process at a time writes into a folder of results.

use crate::DataError;
use crate::file::Unfinished;
use crate::same_file::is_at;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that is locked; it holds the number of the process and what it does.
const NAME: &str = ".splatcore.lock";
/// Attempts to lock, [`PAUSE`] apart: a process that is being started shares its parent's locks for
/// a moment.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// The right to write into a folder, while this value lives. The system takes it back from a
/// process that dies, however it dies.
#[derive(Debug)]
pub struct FolderLock {
    /// Holds the lock while it is open.
    file: Option<File>,
    path: PathBuf,
    warning: Option<String>,
    /// A program that ends by a signal removes the lock's file too.
    _unfinished: Unfinished,
    /// The folder, if it was made here.
    made: Option<PathBuf>,
}

impl FolderLock {
    /// Takes a folder, which is made if there is none. `what` says in messages what is done there,
    /// for example `train`. A process cannot take a folder twice. Where the file system has no
    /// locks, the value has a [`FolderLock::warning`] and keeps nobody out.
    ///
    /// # Errors
    /// Another process has the folder, or no file can be written there.
    pub fn take(folder: &Path, what: &str) -> Result<Self, DataError> {
        let made = !folder.is_dir();
        std::fs::create_dir_all(folder).map_err(|error| DataError::write(folder, &error))?;
        let path = folder.join(NAME);
        let mut attempts = ATTEMPTS;
        let (mut file, warning) = loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let opened = options.open(&path);
            let mut file = opened.map_err(|error| DataError::write(&path, &error))?;
            attempts -= 1;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) || attempts == 0 => break (file, None),
                // Its holder has removed it.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if attempts > 0 => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(taken(folder, &mut file)),
                Err(TryLockError::Error(error)) => break (file, Some(no_locks(folder, &error))),
            }
        };
        // Only messages need it.
        let _ = file.set_len(0);
        let _ = writeln!(file, "{} {what}", std::process::id());
        Ok(Self {
            file: Some(file),
            warning,
            _unfinished: Unfinished::new(&path),
            path,
            made: made.then(|| folder.to_owned()),
        })
    }

    /// What to tell the user where the file system has no locks.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is locked: who opens it now sees that it is not there any more. Elsewhere than
        // on Unix that cannot be seen, and the file stays.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
        self.file = None;
        if let Some(made) = &self.made {
            // Fails, as it should, if something was written there.
            let _ = std::fs::remove_dir(made);
        }
    }
}

/// Whether a folder holds nothing but the file of a lock; a folder that is not there holds nothing.
pub fn is_empty(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return true;
    };
    let mut names = entries.flatten().map(|entry| entry.file_name());
    names.all(|name| is_lock(&name))
}

/// Whether the file of a lock has this name.
pub fn is_lock(name: &OsStr) -> bool {
    name == NAME
}

fn taken(folder: &Path, file: &mut File) -> DataError {
    let mut text = String::new();
    // Windows lets nobody read a file that is locked.
    let _ = file.read_to_string(&mut text);
    let holder = text.trim_end().split_once(' ').and_then(|(process, what)| {
        let process: u32 = process.parse().ok()?;
        Some(format!(" (`{what}`, process {process})"))
    });
    let problem = format!(
        "another splatcore process works in this folder{}",
        holder.unwrap_or_default()
    );
    DataError::new(
        folder,
        problem,
        "wait until it ends, end it, or choose another folder",
    )
}

fn no_locks(folder: &Path, error: &std::io::Error) -> String {
    format!(
        "{}: the file system has no locks ({error}); take care that no other splatcore process \
         works in this folder",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_folder_has_one_holder_and_keeps_no_trace() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/run");
        let first = FolderLock::take(&folder, "train").unwrap();
        assert_eq!(first.warning(), None);
        assert!(is_empty(&folder) && names(&folder) == 1);
        let message = FolderLock::take(&folder, "poses").unwrap_err().to_string();
        let holder = format!("(`train`, process {})", std::process::id());
        for part in [
            "a/run: another splatcore process",
            &holder,
            "choose another folder",
        ] {
            assert!(message.contains(part), "{message}");
        }
        std::fs::write(folder.join("result"), "kept").unwrap();
        assert!(!is_empty(&folder));
        drop(first);
        assert_eq!(names(&folder), 1, "the result");
        drop(FolderLock::take(&folder, "poses").unwrap());
        let new = place.path().join("new");
        assert!(is_empty(&new));
        drop(FolderLock::take(&new, "train").unwrap());
        assert!(!new.exists(), "nothing was written there");
    }

    /// A file that a crash left is nobody's lock, whatever it holds.
    #[test]
    fn a_crashs_file_holds_nobody_back() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(
            place.path().join(NAME),
            "1 train, and much more than is written anew",
        )
        .unwrap();
        let lock = FolderLock::take(place.path(), "demo").unwrap();
        let text = std::fs::read_to_string(place.path().join(NAME)).unwrap();
        assert_eq!(text, format!("{} demo\n", std::process::id()));
        drop(lock);
        assert_eq!(names(place.path()), 0);
    }

    /// Many that take and leave a folder at once: never two at a time.
    #[cfg(unix)]
    #[test]
    fn takers_at_once_never_meet() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let place = tempfile::tempdir().unwrap();
        let (inside, times) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        if let Ok(lock) = FolderLock::take(place.path(), "test") {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            times.fetch_add(1, Ordering::SeqCst);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
        assert!(times.load(Ordering::SeqCst) > 50);
        assert_eq!(names(place.path()), 0);
    }
}
