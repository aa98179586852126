//! What to train, and the folder that the result goes to.

use crate::output;
use crate::viewing::ViewerArgs;
use anyhow::{Result, bail};
use splatcore_data::file;
use splatcore_data::lock::{self, FolderLock};
use splatcore_train::{Checkpoint, ResolvedConfig};
use std::path::{Path, PathBuf};

/// What to train, and where the result goes.
pub struct Job {
    /// Folder or file of the dataset.
    pub dataset: PathBuf,
    /// Folder of the photos in place of `images`.
    pub images: Option<String>,
    /// The scene to start from in place of the dataset's points.
    pub init: Option<PathBuf>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// Settings.
    pub config: ResolvedConfig,
    /// Which card computes; the first if not given.
    pub device: Option<usize>,
    /// Go on from the folder's checkpoint.
    pub resume: bool,
    /// Replace an earlier run in the folder.
    pub overwrite: bool,
    /// Stop when so many seconds have been trained, over all resumes.
    pub time_limit: Option<f64>,
    /// Show the run in a browser.
    pub show: Option<Show>,
    /// The command that goes on with this run, for messages.
    pub resume_command: String,
}

/// How a run is shown in a browser.
pub struct Show {
    /// Where the viewer listens.
    pub viewer: ViewerArgs,
    /// Browsers of other machines may pause and stop the run.
    pub allow_control: bool,
    /// Most of the time that viewing may take, 0 to 1.
    pub share: f64,
}

/// Names of the files of a run, in its folder.
pub struct Files {
    /// The Gaussians.
    pub scene: PathBuf,
    /// The Gaussians once more, small, if the preset asks for it.
    pub sog: PathBuf,
    /// Quality, time, steps.
    pub metrics: PathBuf,
    /// Settings that reproduce the run.
    pub config: PathBuf,
    /// To go on from.
    pub checkpoint: PathBuf,
    /// For people.
    pub report: PathBuf,
    /// The photos' transforms of colours, if the run learns them.
    pub exposures: PathBuf,
}

impl Files {
    /// The files of the run in `folder`.
    pub fn of(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            scene: file("scene.ply"),
            sog: file("scene.sog"),
            metrics: file("metrics.json"),
            config: file("config.toml"),
            checkpoint: file("checkpoint.safetensors"),
            report: file("report.html"),
            exposures: file("exposures.json"),
        }
    }

    /// Removes those that there are.
    pub fn remove(&self) -> Result<()> {
        for path in [
            &self.scene,
            &self.sog,
            &self.metrics,
            &self.config,
            &self.checkpoint,
            &self.report,
            &self.exposures,
        ] {
            match std::fs::remove_file(path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    bail!(
                        "{}: cannot be replaced ({e}); choose another folder with -o",
                        path.display()
                    )
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Takes the folder and checks it before any long work, and reads the checkpoint when resuming.
pub fn prepare_folder(job: &Job, files: &Files) -> Result<(FolderLock, Option<Checkpoint>)> {
    let folder = job.folder.display();
    let lock = output::take_folder(&job.folder, "train")?;
    if !job.resume && !job.overwrite && !lock::is_empty(&job.folder) {
        if files.checkpoint.is_file() {
            bail!(
                "{folder}: already holds a run; add --resume to go on with it, --overwrite to \
                 replace it, or choose \
                 another folder with -o"
            );
        }
        bail!(
            "{folder}: is not empty; choose another folder with -o, or add --overwrite to write \
             into it"
        );
    }
    if job.resume && !files.checkpoint.is_file() {
        bail!(
            "{}: there is no checkpoint to resume from; start without --resume (with --overwrite \
             if the folder is not \
             empty)",
            files.checkpoint.display()
        );
    }
    if job.resume || job.overwrite {
        // A run that was killed while it wrote may have left half a checkpoint, as large as a whole
        // one.
        file::remove_unfinished(&job.folder);
    }
    let checkpoint = match job.resume {
        true => Some(Checkpoint::load(&files.checkpoint)?),
        false => None,
    };
    Ok((lock, checkpoint))
}
