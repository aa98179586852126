//! Files and folders that are not yet complete: which are this process's, and which were left by a
//! process that is gone.

use crate::same_file::is_at;
use std::collections::BTreeSet;
use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the names of files and folders begin that are not yet complete.
pub const UNFINISHED: &str = ".splatcore-";
/// Where the file system has no locks, what nobody has changed for so long was left behind.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// Whether a lock keeps nobody from reading and writing, as on Unix.
const LOCKS: bool = cfg!(unix);
/// Attempts to hold something before it is written without.
const ATTEMPTS: u32 = 8;

/// What this process is writing, and how much it has completed.
static OWN: Mutex<Own> = Mutex::new(Own {
    unfinished: Vec::new(),
    completed: 0,
});

struct Own {
    unfinished: Vec<PathBuf>,
    completed: usize,
}

/// While this value lives, [`remove_own_unfinished`] removes a file or folder.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Of a file or folder that this process is writing.
    pub fn new(path: &Path) -> Self {
        lock(&OWN).unfinished.push(path.into());
        Self(path.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&OWN).unfinished.retain(|path| *path != self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what this process is writing and has not completed, and returns how many files it has:
/// for a program that ends at once, by a signal.
pub fn remove_own_unfinished() -> usize {
    let mut own = lock(&OWN);
    for path in own.unfinished.drain(..) {
        // What cannot be removed stays: it is in nobody's way.
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    own.completed
}

/// Counts a file that gets its name by `name_it`, unless that fails. [`remove_own_unfinished`]
/// comes before that or after it.
pub fn completing(name_it: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let mut own = lock(&OWN);
    name_it()?;
    own.completed += 1;
    Ok(())
}

/// The sign that the process lives that is writing something: a lock, which the system takes back
/// when it dies.
#[derive(Debug)]
pub struct Held {
    _locked: Option<File>,
    _own: Unfinished,
}

/// Makes something whose name begins with [`UNFINISHED`], and holds it.
pub fn held<T: AsRef<Path>>(make: impl Fn() -> io::Result<T>) -> io::Result<(T, Held)> {
    for attempt in 1.. {
        let made = make()?;
        let own = Unfinished::new(made.as_ref());
        let locked = match locked(made.as_ref()) {
            // Before it was locked it was taken for a dead process's.
            None if attempt < ATTEMPTS => continue,
            locked => locked.flatten(),
        };
        let held = Held {
            _locked: locked,
            _own: own,
        };
        return Ok((made, held));
    }
    unreachable!("the last attempt returns")
}

/// The lock on a file or folder, none if another process has it or has removed it, and an inner
/// none where there are no such locks.
fn locked(path: &Path) -> Option<Option<File>> {
    if !LOCKS {
        return Some(None);
    }
    let file = File::open(path).ok()?;
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => Some(Some(file)),
        Ok(()) | Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => Some(None),
    }
}

/// Removes what processes that were killed left in a folder. Looks once in a folder: what others
/// leave while this process runs, the next one removes.
pub fn remove_of_dead(folder: &Path) {
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if lock(&SEEN).insert(folder.to_owned()) {
        remove_of_dead_in(folder);
    }
}

fn remove_of_dead_in(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            continue;
        }
        let (Ok(metadata), Ok(file)) = (entry.metadata(), File::open(&path)) else {
            continue;
        };
        if metadata.is_symlink() || !is_left(&file, &metadata) {
            continue;
        }
        // What cannot be removed stays: it is in nobody's way.
        let _ = match metadata.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
    }
}

fn is_left(file: &File, metadata: &Metadata) -> bool {
    match file.try_lock() {
        Ok(()) if LOCKS => true,
        Err(TryLockError::WouldBlock) => false,
        _ => {
            let changed = metadata.modified().ok();
            let age = changed.and_then(|changed| changed.elapsed().ok());
            age.is_some_and(|age| age > FORGOTTEN)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".splatcore-Ab12", "scene.ply", ".hidden", ".splatcore.lock"] {
            std::fs::write(at(name), b"half").unwrap();
        }
        std::fs::create_dir_all(at(".splatcore-Cd34/0_0")).unwrap();
        std::os::unix::fs::symlink("scene.ply", at(".splatcore-link")).unwrap();
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        let file = held(|| builder.tempfile_in(folder.path())).unwrap();
        let inner = held(|| builder.tempdir_in(folder.path())).unwrap();
        remove_of_dead_in(folder.path());
        remove_of_dead_in(&at("none"));
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        left.sort();
        let mut want = [
            at(".hidden"),
            at(".splatcore-link"),
            at(".splatcore.lock"),
            at("scene.ply"),
            file.0.path().to_owned(),
            inner.0.path().to_owned(),
        ];
        want.sort();
        assert_eq!(left, want);
    }

    /// Files that are made and those that are cleared away at once do not meet.
    #[test]
    fn making_and_clearing_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_of_dead_in(folder.path());
                }
            });
            let mut builder = tempfile::Builder::new();
            builder.prefix(UNFINISHED);
            for _ in 0..300 {
                let (file, _held) = held(|| builder.tempfile_in(folder.path())).unwrap();
                assert!(file.path().exists());
                std::thread::yield_now();
                assert!(file.path().exists());
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
