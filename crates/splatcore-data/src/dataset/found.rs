//! What a format's reader finds: photos, cameras and points.

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::limits::MAX_COORDINATE;
use super::split::Split;
use crate::DataError;
use splatcore_core::Camera;
use std::path::{Path, PathBuf};

/// Points to start from, world units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// World positions, all finite.
    pub positions: Vec<[f32; 3]>,
    /// sRGB colours, one a position.
    pub colours: Vec<[u8; 3]>,
    /// They were made up, because the dataset has none.
    pub random: bool,
}

impl Points {
    /// Removes points whose position is not finite or absurdly far away, and warns of them.
    pub(super) fn drop_unusable(&mut self, warnings: &mut Vec<String>) {
        let before = self.positions.len();
        let kept = |p: &[f32; 3]| p.iter().all(|v| v.abs() <= MAX_COORDINATE as f32);
        if self.positions.iter().all(kept) {
            return;
        }
        let both = self
            .positions
            .iter()
            .zip(&self.colours)
            .filter(|(p, _)| kept(p));
        (self.positions, self.colours) = both.map(|(p, c)| (*p, *c)).unzip();
        warnings.push(format!(
            "{} of {before} points dropped: their position is not finite or beyond \
             {MAX_COORDINATE:e} units",
            before - self.positions.len()
        ));
    }
}

/// One photo that exists, and what is known about its camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name as the dataset spells it, without a leading `./`.
    pub name: String,
    /// The photo's file.
    pub image: PathBuf,
    /// The mask's file, if there is one.
    pub mask: Option<PathBuf>,
    /// Camera as read: pinhole part, lens, pose. Its size is the declared one, which the file may
    /// be a scaled version of.
    pub camera: Camera,
    /// The split that the files declare, if they do.
    pub declared_split: Option<Split>,
    /// The depth map that the files name, if they do.
    pub depth: Option<PathBuf>,
    /// World units of a value of it, if the files say so.
    pub depth_unit: Option<f64>,
}

/// What a format's reader found, before it is checked.
pub(super) struct Found {
    pub root: PathBuf,
    pub format: Format,
    pub entries: Vec<Entry>,
    pub missing: Vec<String>,
    pub points: Points,
    /// The file of the points, where it is one beside the cameras.
    pub points_file: Option<PathBuf>,
    pub warnings: Vec<String>,
    /// What is wrong or unlikely, as far as it shows while the files are read.
    pub findings: Vec<Finding>,
    /// Where the photos were looked for, for messages.
    pub images: PathBuf,
    /// Photos whose lens is of a model that is not known, and the error if they are too many.
    pub unknown: Option<(usize, DataError)>,
    /// Depths, in world units, between which the files say that everything lies.
    pub depths: Option<[f64; 2]>,
    /// The files say how cameras moved while they took photos, or when photos were taken.
    pub tells_motion: bool,
}

impl Found {
    /// Nothing yet.
    pub fn new(root: &Path, format: Format, images: PathBuf) -> Self {
        Self {
            root: root.to_path_buf(),
            format,
            entries: Vec::new(),
            missing: Vec::new(),
            points: Points::default(),
            points_file: None,
            warnings: Vec::new(),
            findings: Vec::new(),
            images,
            unknown: None,
            depths: None,
            tells_motion: false,
        }
    }

    /// Leaves out a photo whose lens is of a model that is not known; `error` says it of the file.
    pub fn add_unknown(&mut self, name: &str, model: Finding, error: impl FnOnce() -> DataError) {
        self.findings.push(model.of(name));
        self.unknown.get_or_insert_with(|| (0, error())).0 += 1;
    }

    /// # Errors
    /// As many photos have a lens of a model that is not known as others have not.
    pub fn check_unknown(&mut self) -> Result<(), DataError> {
        match self.unknown.take() {
            Some((count, error)) if count >= self.entries.len() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes a photo that exists, with the mask beside it; one without a usable camera is left out
    /// with its reason.
    pub fn add(&mut self, name: String, image: PathBuf, camera: Result<Camera, Finding>) {
        match camera {
            Ok(camera) => self.entries.push(Entry {
                mask: folder::mask(&self.root, &name),
                name,
                image,
                camera,
                declared_split: None,
                depth: None,
                depth_unit: None,
            }),
            Err(finding) => self.findings.push(finding.of(&name)),
        }
    }
}
