//! Writing a checkpoint while training goes on.

use crate::checkpoint::Checkpoint;
use crate::error::TrainError;
use splatcore_data::DataError;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Writes one checkpoint at a time on a thread of its own.
pub(crate) struct Saver {
    /// Step of the checkpoint that is known to be on disk.
    saved: Option<u32>,
    writing: Option<(u32, JoinHandle<Result<(), DataError>>)>,
}

impl Saver {
    /// `saved` is the step of the checkpoint that a run was resumed from.
    pub fn new(saved: Option<u32>) -> Self {
        Self {
            saved,
            writing: None,
        }
    }

    /// Whether `path` holds the checkpoint of this step. Call after [`Saver::wait`].
    pub fn holds(&self, step: u32, path: &Path) -> bool {
        self.saved == Some(step) && path.exists()
    }

    /// Starts to write. Call after [`Saver::wait`].
    pub fn start(&mut self, checkpoint: Checkpoint, path: PathBuf) {
        let step = checkpoint.step;
        let write = move || checkpoint.save(&path);
        self.writing = Some((step, std::thread::spawn(write)));
    }

    /// Waits until nothing is being written; returns the step of the checkpoint that was.
    pub fn wait(&mut self) -> Result<Option<u32>, TrainError> {
        let Some((step, thread)) = self.writing.take() else {
            return Ok(None);
        };
        match thread.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        self.saved = Some(step);
        Ok(Some(step))
    }
}

impl Drop for Saver {
    /// A program that ends would take the thread, and with it half the file, along.
    fn drop(&mut self) {
        if let Some((_, thread)) = self.writing.take() {
            let _ = thread.join();
        }
    }
}
