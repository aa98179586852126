//! What is known of a scene besides its Gaussians: `run.json` in the folder of a run, or a small
//! file beside a lone scene.

use super::beside::{folder_of, found_beside, of_old};
use super::files::Files;
use super::moved::Move;
use crate::output;
use crate::sharing::path_pose;
use crate::up::Up;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_page::Pose;
use std::path::{Component, Path, PathBuf};

/// Of the file's layout.
const VERSION: u32 = 1;

/// What is known of a scene. Unknown fields of newer versions are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Of the file's layout.
    pub version: u32,
    /// The photos that the scene was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetPlace>,
    /// Which way is up in the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Up>,
    /// The rotation, in rows, that took the dataset's world to the scene's, if the run was turned
    /// upright.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned: Option<[[f64; 3]; 3]>,
    /// The view to begin with, if somebody chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Pose>,
    /// What the scene was moved by since its run wrote it. Up and the view are those of the moved
    /// scene; dataset and cameras are the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Move>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            version: VERSION,
            dataset: None,
            up: None,
            turned: None,
            start: None,
            moved: None,
        }
    }
}

/// Where a dataset was when a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetPlace {
    /// As it was typed.
    pub path: PathBuf,
    /// From the root.
    pub absolute: PathBuf,
    /// From the folder of the run, so that both can be moved together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<PathBuf>,
    /// Folder of the photos in place of `images`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<String>,
}

impl DatasetPlace {
    /// Of a dataset as it was typed, for the run in `folder`.
    pub fn new(path: &Path, images: Option<&str>, folder: &Path) -> Self {
        let absolute = |path: &Path| {
            let found = path.canonicalize().or_else(|_| std::path::absolute(path));
            found.unwrap_or_else(|_| path.into())
        };
        let (whole, folder) = (absolute(path), absolute(folder));
        Self {
            path: path.into(),
            relative: relative(&whole, &folder),
            absolute: whole,
            images: images.map(str::to_owned),
        }
    }

    /// Where the dataset is now, for the run in `folder`: where it was, or where it is from the
    /// run's folder or the present one.
    ///
    /// # Errors
    /// If it is nowhere there.
    pub fn find(&self, folder: &Path) -> Result<PathBuf> {
        let beside = self.relative.as_ref().map(|relative| folder.join(relative));
        let places = [Some(self.absolute.clone()), beside, Some(self.path.clone())];
        match places.into_iter().flatten().find(|place| place.exists()) {
            Some(place) => Ok(place),
            None => bail!(
                "{}: the run's photos are not there any more; give their folder with --dataset",
                self.absolute.display()
            ),
        }
    }
}

/// The way from a folder to a path, both from the root, over at most some folders up.
pub fn relative(path: &Path, folder: &Path) -> Option<PathBuf> {
    const MAX_UP: usize = 3;
    let (path, folder): (Vec<Component>, Vec<Component>) =
        (path.components().collect(), folder.components().collect());
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder.len() - common;
    if common == 0 || up > MAX_UP {
        return None;
    }
    let steps = std::iter::repeat_n(Component::ParentDir, up);
    Some(steps.chain(path[common..].iter().copied()).collect())
}

impl Facts {
    /// What the run recorded that a scene's file lies in, with what was chosen for this file alone.
    /// A file that cannot be read is warned of.
    pub fn of_scene(file: &Path) -> Self {
        let run = Files::of(folder_of(file)).run;
        let mut facts = Self::read_or_warn(&run).unwrap_or_default();
        let found = found_beside(file);
        if let (false, Some(old)) = (found.is_file(), of_old(file)) {
            eprintln!(
                "warning: {}: not used, as it may be of any of the scenes of that name; rename it \
                 to {} if it is of this one",
                old.file.display(),
                found.display()
            );
        }
        if let Some(own) = Self::read_or_warn(&found) {
            if own.moved.is_some() {
                (facts.up, facts.start, facts.moved) = (own.up, own.start, own.moved);
            } else {
                facts.up = own.up.or(facts.up);
                facts.start = own.start.or(facts.start);
            }
        }
        facts
    }

    /// The folder of photos that a run was begun with in place of `images`, if it was. What is
    /// wrong with its file, whoever goes on with the run says.
    pub fn images_of_run(files: &Files) -> Option<String> {
        Self::read(&files.run).ok()?.dataset?.images
    }

    /// Whether nothing is known.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is none of these.
    pub fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => bail!("{shown}: cannot be read ({error})"),
        };
        let facts: Self = match serde_json::from_str(&text) {
            Ok(facts) => facts,
            Err(error) => bail!(
                "{shown}: is not what splatcore records of a scene ({error}); copy it again, or \
                 remove it"
            ),
        };
        let numbers = facts.up.iter().flat_map(|up| up.direction);
        let unit = |up: &Up| (up.direction.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-3;
        if !numbers.into_iter().all(f64::is_finite) || !facts.up.iter().all(unit) {
            bail!("{shown}: its direction of up is none");
        }
        let start = facts.start.as_ref().map(path_pose);
        if let Some(defect) = start.and_then(|pose| pose.defect()) {
            bail!("{shown}: its view to begin with is none: {defect}");
        }
        if !facts.moved.iter().all(Move::is_sound) {
            bail!("{shown}: what it says of a move is none");
        }
        Ok(facts)
    }

    fn read_or_warn(file: &Path) -> Option<Self> {
        if !file.is_file() {
            return None;
        }
        Self::read(file)
            .inspect_err(|error| eprintln!("warning: not used: {error:#}"))
            .ok()
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn write(&self, file: &Path) -> Result<()> {
        output::write_json(file, self)
    }
}

/// Removes what stands beside a scene of a run of where it was moved to, which the run has just
/// written where its photos are.
pub fn forget_move(scene: &Path) {
    // The file as it is called now; behind it may be one that an earlier version left.
    for _ in 0..2 {
        let found = found_beside(scene);
        let moved = found.is_file() && Facts::read(&found).is_ok_and(|of| of.moved.is_some());
        if moved {
            // If it stays, eval shows.
            let _ = std::fs::remove_file(&found);
        }
    }
}
