//! What to train, and the folder that the result goes to.

use crate::backends::Card;
use crate::load::PhotoMemoryArgs;
use crate::output;
use crate::ranks::Cards;
use crate::scene_source::{Files, SceneSource};
use crate::viewing::ViewerArgs;
use anyhow::{Result, bail};
use splatcore_data::dataset::{Dataset, is_points_file};
use splatcore_data::lock::{self, FolderLock};
use splatcore_train::memory::Bytes;
use splatcore_train::{Checkpoint, ResolvedConfig};
use std::path::PathBuf;
use std::time::Instant;

/// What a run starts from in place of the dataset's points.
pub enum Init {
    /// The Gaussians of a scene.
    Scene(PathBuf),
    /// The points of a scan or of a mesh.
    Points(PathBuf),
    /// Points on the surfaces that the photos' depths show.
    Depths,
}

impl From<PathBuf> for Init {
    fn from(typed: PathBuf) -> Self {
        match typed.as_os_str() == "depths" {
            true => Self::Depths,
            false if is_points_file(&typed) => Self::Points(typed),
            false => Self::Scene(typed),
        }
    }
}

/// What to train, and where the result goes.
pub struct Job {
    /// Folder or file of the dataset.
    pub dataset: PathBuf,
    /// Folder of the photos in place of `images`.
    pub images: Option<String>,
    /// What to start from in place of the dataset's points.
    pub init: Option<Init>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// Settings.
    pub config: ResolvedConfig,
    /// Which card computes; the first if not given.
    pub device: Option<usize>,
    /// How much of its memory may be used; what is free if not given.
    pub memory: Option<Bytes>,
    /// Where what it has no memory for lies in files; in the computer's memory if not given.
    pub memory_files: Option<PathBuf>,
    /// How much of the photos is held.
    pub photo_memory: PhotoMemoryArgs,
    /// Which cards train together; one if not given.
    pub cards: Option<Cards>,
    /// Cards render a photo together where a step has fewer photos than cards.
    pub split_photos: bool,
    /// Go on from the folder's checkpoint.
    pub resume: bool,
    /// Replace an earlier run in the folder.
    pub overwrite: bool,
    /// Turn the dataset upright first: -y is up in the scene.
    pub upright: bool,
    /// Stop when so many seconds have been trained, over all resumes.
    pub time_limit: Option<f64>,
    /// Since when the time of a budget runs.
    pub begun: Instant,
    /// Show the run in a browser.
    pub show: Option<Show>,
    /// The command that goes on with this run, for messages.
    pub resume_command: String,
}

impl Job {
    /// What it asks for of its card.
    pub fn card(&self) -> Card<'_> {
        Card {
            device: self.device,
            memory: self.memory,
            files: self.memory_files.as_deref(),
        }
    }

    /// The scene to start from, if there is one.
    ///
    /// # Errors
    /// What was named is no scene.
    pub fn init_scene(&self) -> Result<Option<SceneSource>> {
        match &self.init {
            Some(Init::Scene(path)) => SceneSource::find(path).map(Some),
            Some(Init::Depths | Init::Points(_)) | None => Ok(None),
        }
    }
}

/// How a run is shown in a browser.
#[derive(Clone)]
pub struct Show {
    /// Where the viewer listens.
    pub viewer: ViewerArgs,
    /// Browsers of other machines may pause and stop the run.
    pub allow_control: bool,
    /// Most of the time that viewing may take, 0 to 1.
    pub share: f64,
}

/// Takes the folder and checks it before any long work, and reads the checkpoint when resuming.
pub fn prepare_folder(
    job: &Job,
    files: &Files,
    dataset: &Dataset,
) -> Result<(FolderLock, Option<Checkpoint>)> {
    let folder = job.folder.display();
    let lock = output::take_folder(&job.folder, "train")?;
    let is_free = lock::is_empty(&job.folder) || files.hold_a_beginning(&job.folder);
    if !job.resume && !job.overwrite && !is_free {
        match (files.checkpoint.is_file(), files.hold_run()) {
            (true, _) => bail!(
                "{folder}: already holds a run; add --resume to go on with it, --overwrite to \
                 replace it, or choose another folder with -o"
            ),
            (false, true) => bail!(
                "{folder}: is not empty; add --overwrite to replace the run that it holds, or \
                 choose another folder with -o"
            ),
            (false, false) => bail!("{folder}: is not empty; choose another folder with -o"),
        }
    }
    if job.resume && !files.checkpoint.is_file() {
        let remedy = match files.hold_run() {
            true => " and with --overwrite",
            false => "",
        };
        bail!(
            "{}: there is no checkpoint to resume from; start without --resume{remedy}",
            files.checkpoint.display()
        );
    }
    files.check_own(&dataset.files)?;
    let checkpoint = match job.resume {
        true => Some(Checkpoint::load(&files.checkpoint)?),
        false => None,
    };
    Ok((lock, checkpoint))
}
