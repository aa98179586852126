//! `OUT/make.json`: what was asked for, and what was chosen. What is done shows in the files
//! themselves.

use super::asked::Asked;
use super::choice::{self, Choice};
use super::input::Kind;
use crate::output::{self, hex};
use crate::run::{Files, Metrics};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use splatcore_data::dataset::Dataset;
use splatcore_train::Config;
use std::path::{Path, PathBuf};

/// What the command makes beside its state.
const RESULTS: [&str; 3] = ["run", "dataset", "page.html"];

/// Changes when older files can no longer be understood.
const VERSION: u32 = 2;

/// What was asked for, and what was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// The input's full path.
    input: PathBuf,
    /// Folder of a dataset's photos.
    images: Option<String>,
    /// The scene is turned upright.
    #[serde(default)]
    upright: bool,
    /// The settings of training that were typed.
    settings: Config,
    /// The largest size in which features are searched.
    pub feature_size: Option<u32>,
    /// Of a folder's photos every so many are used.
    #[serde(default)]
    pub every: Option<u32>,
    /// Frames that are taken of a video.
    #[serde(default)]
    pub frames: Option<u32>,
    /// What was chosen for a processor.
    pub choice: Option<Choice>,
    /// What the choice was thought to be about, before the cameras were known.
    #[serde(default)]
    pub foreseen: Option<Choice>,
    /// Photos and cameras of the run, as [`fingerprint`] has them.
    pub trained_on: Option<String>,
    /// Their masks, as [`masks`] has them; files of older versions do not say.
    #[serde(default)]
    pub masked_by: Option<String>,
}

impl State {
    /// What an earlier call asked for, if that fits; else a new one.
    ///
    /// # Errors
    /// The input or a setting has changed and nothing shall be made anew, or the folder belongs to
    /// something else.
    pub fn open(asked: &Asked) -> Result<Self> {
        let now = Self {
            version: VERSION,
            input: std::fs::canonicalize(&asked.input).unwrap_or_else(|_| asked.input.clone()),
            images: asked.images.clone(),
            upright: asked.upright,
            settings: asked.typed.clone(),
            ..Self::default()
        };
        let before = match Self::read(&asked.folder) {
            Err(error) if asked.overwrite => {
                eprintln!("warning: begun anew: {}", output::one_line(&error));
                None
            }
            before => before?,
        };
        let Some(mut before) = before else {
            // The folder of photos may be empty but for them; results of others are not touched.
            for name in RESULTS {
                let path = asked.folder.join(name);
                if path.exists() && !asked.overwrite {
                    bail!(
                        "{}: is not of this command; choose another folder with -o, or add \
                         --overwrite to replace it",
                        path.display()
                    );
                }
            }
            asked.remove_run()?;
            now.write(&asked.folder)?;
            return Ok(now);
        };
        if before.input != now.input {
            // An earlier call may have ended before it made anything.
            if RESULTS.iter().all(|name| !asked.folder.join(name).exists()) {
                now.write(&asked.folder)?;
                return Ok(now);
            }
            let what = format!("was made from {}", before.input.display());
            if !asked.overwrite {
                bail!(
                    "{}: {what}, not from {}; choose another folder with -o, or add --overwrite \
                     to begin anew",
                    asked.folder.display(),
                    now.input.display()
                );
            }
            before.replace(asked, &what)?;
            if asked.kind != Kind::Posed {
                // Its photos are others, so nothing of it can be used.
                remove_folder(&asked.folder.join("dataset"))?;
            }
            now.write(&asked.folder)?;
            return Ok(now);
        }
        if let Some(what) = before.difference(&now)? {
            before.replace(asked, &what)?;
        }
        (before.images, before.upright) = (now.images, now.upright);
        before.settings = now.settings;
        before.write(&asked.folder)?;
        Ok(before)
    }

    /// The first setting that another result follows from, with both values.
    fn difference(&self, now: &Self) -> Result<Option<String>> {
        if self.images != now.images {
            let folder = |state: &Self| state.images.clone().unwrap_or_else(|| "images".into());
            return Ok(Some(format!(
                "was made with the photos of {}, not of {}",
                folder(self),
                folder(now)
            )));
        }
        if self.upright != now.upright {
            let how = |upright: bool| if upright { "with" } else { "without" };
            let [before, after] = [self.upright, now.upright].map(how);
            return Ok(Some(format!("was made {before} --upright, not {after}")));
        }
        let [before, after] = [&self.settings, &now.settings].map(Config::complete);
        let found = before.difference(&after)?;
        // The run itself has the values that were chosen.
        let typed = |config: &Config, key: &str, value: String| match config.gives(key) {
            true => value,
            false => "what this command chooses".to_owned(),
        };
        Ok(found.map(|(key, before, after)| {
            let before = typed(&self.settings, &key, before);
            let after = typed(&now.settings, &key, after);
            format!("was made with {key} {before}, not {after}")
        }))
    }

    fn path(folder: &Path) -> PathBuf {
        folder.join("make.json")
    }

    fn read(folder: &Path) -> Result<Option<Self>> {
        let path = Self::path(folder);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context(path.display().to_string()),
        };
        let state: Self = serde_json::from_str(&text).with_context(|| {
            format!(
                "{}: is not what this command wrote; choose another folder with -o, or remove it",
                path.display()
            )
        })?;
        if state.version != VERSION {
            bail!(
                "{}: is of another version of splatcore; choose another folder with -o",
                path.display()
            );
        }
        Ok(Some(state))
    }

    /// Writes it, complete or not at all.
    pub fn write(&self, folder: &Path) -> Result<()> {
        output::write_json(&Self::path(folder), self)
    }

    /// Chooses the settings to train with on a processor, by a measurement, if nothing was chosen
    /// before; gives what it chose. `budget` are the seconds that training may take. What was typed
    /// and is short is not measured again once the cameras are known.
    pub fn choose_for_processor(
        &mut self,
        asked: &Asked,
        budget: f64,
        dataset: &Dataset,
    ) -> Result<Option<Choice>> {
        if self.choice.is_some() {
            return Ok(None);
        }
        self.choice = self.foreseen.clone().filter(Choice::is_settled);
        if self.choice.is_some() {
            return Ok(None);
        }
        self.choice = Some(choice::for_processor(asked, budget, dataset)?);
        Ok(self.choice.clone())
    }

    /// The settings to train with: those that were typed over those that were chosen.
    pub fn settings(&self, asked: &Asked) -> Config {
        let chosen = self.choice.as_ref().map(Choice::settings);
        asked.typed.over(&chosen.unwrap_or(Config::UNSET))
    }

    /// Removes the run, if that was asked for, unless it is of these photos and masks; and notes
    /// both.
    ///
    /// # Errors
    /// It was not asked for; a mask that cannot be read.
    pub fn take_photos(&mut self, asked: &Asked, dataset: &Dataset) -> Result<()> {
        let photos = fingerprint(dataset);
        let masks = masks(dataset, asked.typed.sky_masks.as_deref())?;
        if let Some(before) = &self.trained_on {
            if *before != photos {
                let what = "the photos or their cameras are others than those that the run is of";
                self.replace(asked, what)?;
            } else if self
                .masked_by
                .as_ref()
                .is_some_and(|before| *before != masks)
            {
                let what = "the photos' masks are others than those that the run is of";
                self.replace(asked, what)?;
            }
        }
        (self.trained_on, self.masked_by) = (Some(photos), Some(masks));
        Ok(())
    }

    /// Removes the run, which does not fit any more, if that was asked for; `what` has changed.
    ///
    /// # Errors
    /// It was not asked for, and an earlier call came as far as a run.
    pub fn replace(&mut self, asked: &Asked, what: &str) -> Result<()> {
        let trained = asked.run_folder().exists() || asked.page().exists();
        if trained && !asked.overwrite {
            bail!(
                "{}: {what}; add --overwrite to train anew, or choose another folder with -o",
                asked.run_folder().display()
            );
        }
        (self.trained_on, self.masked_by) = (None, None);
        (self.choice, self.foreseen) = (None, None);
        asked.remove_run()
    }
}

/// Names and cameras of photos, and the number of points, as a short text: equal for equal ones.
fn fingerprint(dataset: &Dataset) -> String {
    let mut hash = Sha256::new();
    for entry in &dataset.entries {
        hash.update(entry.name.as_bytes());
        hash.update(format!("{:?}", entry.camera).as_bytes());
    }
    let (photos, points) = (dataset.entries.len(), dataset.points.positions.len());
    format!("{photos} photos, {points} points, {}", hex(hash))
}

/// Names and bytes of photos' masks and, in this folder, of masks of their sky, as a short text:
/// equal for equal ones.
fn masks(dataset: &Dataset, sky: Option<&Path>) -> Result<String> {
    let (mut hash, mut count) = (Sha256::new(), 0);
    for entry in &dataset.entries {
        let of_sky = sky.and_then(|folder| dataset.sky_mask(entry, folder));
        for (kind, file) in [("mask", entry.mask.clone()), ("sky", of_sky)] {
            if let Some(file) = file {
                let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
                hash.update(kind.as_bytes());
                hash.update(entry.name.as_bytes());
                hash.update(&bytes);
                count += 1;
            }
        }
    }
    Ok(format!("{count} masks, {}", hex(hash)))
}

/// Whether a run has come to its end: the report is written last.
pub fn is_complete(files: &Files) -> bool {
    let metrics = std::fs::read_to_string(&files.metrics).ok();
    let metrics = metrics.and_then(|text| serde_json::from_str::<Metrics>(&text).ok());
    metrics.is_some() && files.scene.is_file() && files.report.is_file()
}

fn remove_folder(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}: cannot be replaced", path.display()))
        }
        _ => Ok(()),
    }
}
