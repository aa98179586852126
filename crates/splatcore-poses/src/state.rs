//! `poses.json`: what a dataset's poses come from, and how far they are.

use crate::PosesError;
use crate::photos::Found;
use serde::{Deserialize, Serialize};
use splatcore_data::{DataError, file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Changes when older files can no longer be understood.
const VERSION: u32 = 1;

/// What earlier calls did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// Program that made `poses.db`.
    pub program: Option<String>,
    /// Settings that features depend on.
    pub features: Option<Features>,
    /// The photos lie in the dataset because someone put them there, not this program.
    pub in_place: bool,
    /// Size in bytes and time of change of each photo.
    pub photos: BTreeMap<String, [u64; 2]>,
    /// The video that the photos are frames of.
    pub video: Option<Video>,
    /// Ids that cameras have in `poses.db`, by the key of their group.
    pub cameras: BTreeMap<String, u32>,
    /// Features of all photos are there.
    pub extracted: bool,
    /// Features of a photo on average, where they were counted.
    #[serde(default)]
    pub feature_count: Option<f64>,
    /// All pairs are matched: which.
    pub matched: Option<String>,
    /// A mapper has begun. It keeps nothing until it ends.
    #[serde(default)]
    pub mapping: bool,
    /// `sparse/0` is there.
    pub finished: Option<Finished>,
}

/// Settings that features depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    pub camera_model: String,
    pub cameras: String,
    pub each: bool,
    pub max_size: Option<u32>,
}

/// A video, and how its frames were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Video {
    pub bytes: u64,
    pub changed: u64,
    pub frames: Option<u32>,
    pub png: bool,
}

/// A photo of an earlier call that is not what it was, by its name.
#[derive(Clone, Debug, PartialEq)]
pub enum Differs {
    /// It is not among the photos any more.
    Missing(String),
    /// Its file is another one.
    Changed(String),
}

/// How the model came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The mapper that was asked for.
    pub asked: String,
    /// The mapper that made the model.
    pub mapper: String,
    /// Number of photos of each model that the mapper made.
    pub models: Vec<usize>,
}

impl State {
    fn path(dataset: &Path) -> PathBuf {
        dataset.join("poses.json")
    }

    /// Reads what earlier calls did; nothing if there was none.
    pub fn read(dataset: &Path) -> Result<Option<Self>, PosesError> {
        let path = Self::path(dataset);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DataError::read(&path, &error).into()),
        };
        let remedy = "begin anew, or choose another folder";
        let state: Self = serde_json::from_slice(&bytes).map_err(|error| {
            DataError::new(
                &path,
                format!("is not what this command wrote ({error})"),
                remedy,
            )
        })?;
        if state.version != VERSION {
            let problem = format!("has version {}, not {VERSION}", state.version);
            return Err(DataError::new(&path, problem, remedy).into());
        }
        Ok(Some(state))
    }

    /// Writes it, complete or not at all.
    pub fn write(&mut self, dataset: &Path) -> Result<(), PosesError> {
        self.version = VERSION;
        let path = Self::path(dataset);
        let mut text = serde_json::to_string_pretty(self).map_err(|error| {
            DataError::new(&path, format!("cannot be made ({error})"), "report this")
        })?;
        text.push('\n');
        Ok(file::write_bytes(&path, text.as_bytes())?)
    }

    /// Removes it, and what `poses.db` holds.
    pub fn remove(dataset: &Path) -> Result<(), PosesError> {
        for name in [
            "poses.json",
            "poses.db",
            "poses.db-wal",
            "poses.db-shm",
            "poses.db-journal",
        ] {
            let path = dataset.join(name);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(DataError::write(&path, &error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes up the photos; what was done stays done unless there are new ones, whose number it
    /// returns.
    ///
    /// # Errors
    /// The first photo that is not among them any more, or was changed.
    pub fn take(&mut self, photos: &[Found]) -> Result<usize, Differs> {
        let now: BTreeMap<String, [u64; 2]> = photos
            .iter()
            .map(|p| (p.name.clone(), [p.bytes, p.changed]))
            .collect();
        for (name, was) in &self.photos {
            match now.get(name) {
                None => return Err(Differs::Missing(name.clone())),
                Some(is) if is != was => return Err(Differs::Changed(name.clone())),
                Some(_) => {}
            }
        }
        let new = now.len() - self.photos.len();
        if new > 0 {
            (self.extracted, self.matched, self.finished) = (false, None, None);
        }
        self.photos = now;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_and_new_photos_are_work() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(State::read(folder.path()).unwrap(), None);
        let photo = |name: &str, bytes| Found {
            name: name.into(),
            path: name.into(),
            bytes,
            changed: 7,
        };
        let mut state = State {
            extracted: true,
            ..State::default()
        };
        assert_eq!(state.take(&[photo("a", 1), photo("b", 2)]), Ok(2));
        assert!(!state.extracted);
        state.extracted = true;
        assert_eq!(state.take(&[photo("a", 1), photo("b", 2)]), Ok(0));
        assert!(state.extracted);
        state.write(folder.path()).unwrap();
        assert_eq!(State::read(folder.path()).unwrap(), Some(state.clone()));
        let missing = state.take(&[photo("a", 1)]);
        assert_eq!(missing, Err(Differs::Missing("b".into())));
        let changed = state.take(&[photo("a", 1), photo("b", 3)]);
        assert_eq!(changed, Err(Differs::Changed("b".into())));
        std::fs::write(folder.path().join("poses.json"), "{").unwrap();
        let error = State::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is not what this command wrote"), "{error}");
        State::remove(folder.path()).unwrap();
        assert_eq!(State::read(folder.path()).unwrap(), None);
    }
}
