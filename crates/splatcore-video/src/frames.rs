//! A folder of PNG files that an interrupted job goes on with.

use crate::VideoError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The record beside the frames.
const RECORD: &str = "frames.json";
/// Its name while it is written.
const HALF_RECORD: &str = ".splatcore.frames";

/// Frames `000000.png` and on in a folder, with what they belong to in `frames.json`.
#[derive(Clone, Debug)]
pub struct FrameFolder {
    folder: PathBuf,
    same: bool,
}

/// `frames.json`.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The version of this file.
    splatcore: String,
    /// Whatever makes the frames what they are.
    job: serde_json::Value,
    /// Frames 0 and on.
    frames: u64,
    /// Of the files of a frame.
    #[serde(default)]
    suffixes: Vec<String>,
}

const VERSION: &str = "frames 1";

impl FrameFolder {
    /// Opens a folder, made if missing, for a job: anything that says what the frames are. Frames
    /// of the same job are kept, and those of another one are removed, as its record lists them;
    /// `suffixes` are of the files of a frame, `.png` and such.
    ///
    /// # Errors
    /// If the folder cannot be written, or holds files of such names and no record.
    pub fn open(
        folder: &Path,
        job: &serde_json::Value,
        frames: u64,
        suffixes: &[&str],
    ) -> Result<Self, VideoError> {
        let record = folder.join(RECORD);
        let before: Option<Record> = std::fs::read(&record)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .filter(|before: &Record| before.splatcore == VERSION);
        let same = before
            .as_ref()
            .is_some_and(|before| before.job == *job && before.frames == frames);
        let opened = Self {
            folder: folder.into(),
            same,
        };
        if same {
            return Ok(opened);
        }
        match before {
            Some(before) => {
                let own = before.suffixes.iter().map(String::as_str);
                let suffixes: Vec<&str> = own.chain(suffixes.iter().copied()).collect();
                for index in 0..before.frames.min(1 << 20) {
                    for suffix in &suffixes {
                        let _ = std::fs::remove_file(opened.path(index, suffix));
                    }
                }
            }
            // Pictures of somebody else: neither to be replaced nor to be taken for frames.
            None => {
                let taken = |index: u64| suffixes.iter().any(|s| opened.path(index, s).exists());
                if let Some(index) = (0..frames.min(1 << 20)).find(|&index| taken(index)) {
                    let problem = format!("holds a frame {index} that {RECORD} does not mention");
                    return Err(VideoError::new(folder, problem, "choose another folder"));
                }
            }
        }
        let now = Record {
            splatcore: VERSION.into(),
            job: job.clone(),
            frames,
            suffixes: suffixes.iter().map(|&suffix| suffix.into()).collect(),
        };
        let text = serde_json::to_vec_pretty(&now).map_err(|e| VideoError::write(&record, &e))?;
        // Half a record would be none, and its frames somebody else's.
        let half = folder.join(HALF_RECORD);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&half, &text))
            .and_then(|()| std::fs::rename(&half, &record))
            .map_err(|error| VideoError::write(&record, &error))?;
        Ok(opened)
    }

    /// Where a file of a frame lies.
    pub fn path(&self, index: u64, suffix: &str) -> PathBuf {
        self.folder.join(format!("{index:06}{suffix}"))
    }

    /// Whether all files of a frame are there from before. Files are complete or not there.
    pub fn has(&self, index: u64, suffixes: &[&str]) -> bool {
        self.same
            && suffixes
                .iter()
                .all(|suffix| self.path(index, suffix).is_file())
    }
}
