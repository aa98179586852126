//! What was understood, for `splatcore info`.

use super::{Dataset, Entry, Finding, Format, Split, photo};
use rayon::prelude::*;
use serde::Serialize;
use splatcore_core::Camera;

/// A summary of a dataset; its JSON form is the contract of `splatcore info --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetInfo {
    /// Always `dataset`.
    pub kind: &'static str,
    /// Kind of files.
    pub format: Format,
    /// Photos that exist and have a usable camera.
    pub images: usize,
    /// Listed photos whose file does not exist.
    pub missing: usize,
    /// Different cameras (size, intrinsics and lens; poses do not count).
    pub cameras: usize,
    /// Points to start from.
    pub points: usize,
    /// The points were made up.
    pub points_random: bool,
    /// Photos with a mask.
    pub masks: usize,
    /// Photos whose camera moves while they are read.
    pub rolling_shutters: usize,
    /// Lens models in use.
    pub lenses: Vec<&'static str>,
    /// Smallest and largest declared size, by area: width, height.
    pub sizes: [[u32; 2]; 2],
    /// Smallest and largest size of the photos as they are stored, likewise, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_sizes: Option<[[u32; 2]; 2]>,
    /// Photos that the files put into the training and the test split, if they declare splits.
    pub declared_splits: Option<[usize; 2]>,
    /// Other datasets in the same folder, which were not read.
    pub others: Vec<String>,
    /// Names of the missing photos.
    pub missing_names: Vec<String>,
    /// What is wrong or unlikely: photo, field, value, what is expected, how bad it is.
    pub findings: Vec<Finding>,
    /// What was left out or repaired; also the findings, in words.
    pub warnings: Vec<String>,
}

fn rolling(entries: &[Entry]) -> usize {
    let moves = |entry: &&Entry| entry.camera.shutter.is_some();
    entries.iter().filter(moves).count()
}

/// The smallest and the largest by area.
fn extremes(sizes: impl IntoIterator<Item = [u32; 2]>) -> Option<[[u32; 2]; 2]> {
    let sizes: Vec<[u32; 2]> = sizes.into_iter().collect();
    let area = |s: &&[u32; 2]| s[0] as u64 * s[1] as u64;
    Some([
        *sizes.iter().min_by_key(area)?,
        *sizes.iter().max_by_key(area)?,
    ])
}

impl Dataset {
    /// The sizes that the headers of the photos tell, of those that can be read: width, height.
    fn stored_sizes(&self) -> Vec<[u32; 2]> {
        let size = |entry: &Entry| photo::size(&entry.image).ok();
        let sizes = self.entries.par_iter().filter_map(size);
        sizes.map(|(width, height)| [width, height]).collect()
    }

    /// A summary. Reads the headers of the photos.
    pub fn info(&self) -> DatasetInfo {
        let mut cameras: Vec<&Camera> = Vec::new();
        let mut lenses = Vec::new();
        for entry in &self.entries {
            // Neighbours usually share a camera: look at the latest first.
            if !cameras
                .iter()
                .rev()
                .any(|known| known.same_intrinsics(&entry.camera))
            {
                cameras.push(&entry.camera);
            }
            let lens = entry.camera.lens.name();
            if !lenses.contains(&lens) {
                lenses.push(lens);
            }
        }
        let sizes = self
            .entries
            .iter()
            .map(|e| [e.camera.width, e.camera.height]);
        let sizes = extremes(sizes).unwrap_or_default();
        let count = |split| {
            self.entries
                .iter()
                .filter(|e| e.declared_split == Some(split))
                .count()
        };
        let declared = [count(Split::Train), count(Split::Test)];
        DatasetInfo {
            kind: "dataset",
            format: self.format,
            images: self.entries.len(),
            missing: self.missing.len(),
            cameras: cameras.len(),
            points: self.points.positions.len(),
            points_random: self.points.random,
            masks: self.entries.iter().filter(|e| e.mask.is_some()).count(),
            rolling_shutters: rolling(&self.entries),
            lenses,
            sizes,
            stored_sizes: extremes(self.stored_sizes()).filter(|stored| *stored != sizes),
            declared_splits: (declared != [0, 0]).then_some(declared),
            others: self.others.clone(),
            missing_names: self.missing.clone(),
            findings: self.findings.clone(),
            warnings: self.warnings.clone(),
        }
    }
}
