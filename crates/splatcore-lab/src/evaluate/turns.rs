//! Several experiments may use one card: what is timed runs alone there, all else side by side.

use super::Broken;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// The turns of a card's users, kept by locks of two files. A process that ends leaves none.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Held while the other lock is waited for: who comes later waits behind.
    queue: PathBuf,
    card: PathBuf,
}

/// A turn; it ends when this is dropped.
#[must_use = "the turn ends when this is dropped"]
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held for its lock")] File);

impl Turns {
    /// The turns at a card by a name that only this card has, kept in a folder that exists.
    pub fn new(folder: &Path, card: &str) -> Self {
        let name: String = card
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        Self {
            queue: folder.join(format!("{name}.queue")),
            card: folder.join(format!("{name}.lock")),
        }
    }

    /// Waits until nobody is alone at the card.
    ///
    /// # Errors
    /// If the files cannot be locked.
    pub fn beside_others(&self) -> Result<Turn, Broken> {
        self.wait(File::lock_shared)
    }

    /// Waits until nobody else uses the card.
    ///
    /// # Errors
    /// If the files cannot be locked.
    pub fn alone(&self) -> Result<Turn, Broken> {
        self.wait(File::lock)
    }

    fn wait(&self, lock: fn(&File) -> std::io::Result<()>) -> Result<Turn, Broken> {
        let queue = open(&self.queue)?;
        queue.lock().map_err(|error| broken(&self.queue, &error))?;
        let card = open(&self.card)?;
        lock(&card).map_err(|error| broken(&self.card, &error))?;
        Ok(Turn(card))
    }
}

fn open(path: &Path) -> Result<File, Broken> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    options.open(path).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &std::io::Error) -> Broken {
    Broken(format!("{}: a turn at the card: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

    #[test]
    fn who_is_timed_is_alone_and_comes_to_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let turns = Turns::new(folder.path(), "GPU-0/1");
        // Users beside one another, and -100 for one alone.
        let users = AtomicI32::new(0);
        let together = AtomicI32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let turn = turns.beside_others().unwrap();
                        let now = users.fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now > 0, "beside one that is timed");
                        together.fetch_max(now, Ordering::SeqCst);
                        std::thread::sleep(std::time::Duration::from_micros(200));
                        users.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..20 {
                    let turn = turns.alone().unwrap();
                    assert_eq!(users.fetch_sub(100, Ordering::SeqCst), 0);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    users.fetch_add(100, Ordering::SeqCst);
                    drop(turn);
                }
            });
        });
        assert!(together.into_inner() > 1, "nobody was beside another");
    }
}
