//! What all writers of scenes share: options, what they report, parts that wait.

use super::rows::Rows;
use super::sog::SogOptions;
use super::spz::SpzOptions;
use crate::DataError;
use std::path::Path;
use tempfile::SpooledTempFile;

/// What to write beside the Gaussians, and how. Each format takes what concerns it.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The scene is to be rendered with Mip-Splatting's 2D filter.
    pub antialiased: bool,
    /// Keep properties of a PLY that are no parameters of a Gaussian, in PLY: labels, masks.
    pub keep_extras: bool,
    /// Gaussians stay in the scene's order where a format would have its own: compressed PLY and
    /// SOG along a Morton curve, .splat the large and opaque first. Streamed SOG has its own in any
    /// case, by levels and chunks.
    pub keep_order: bool,
    /// How much each Gaussian matters, above 0, `[n]` in the scene's order: what a format rounds to
    /// few values (SOG: harmonics, scales, base colours) comes closest to those that matter most.
    /// If not given, harmonics by opacity and size, the rest alike; streamed SOG takes none.
    pub weights: Option<Vec<f32>>,
    /// What concerns SPZ alone.
    pub spz: SpzOptions,
    /// What concerns SOG alone.
    pub sog: SogOptions,
}

impl WriteOptions {
    /// How much the Gaussian `i` of the scene matters.
    pub(super) fn weight(&self, i: u32) -> f32 {
        let weights = self.weights.as_ref();
        weights.map_or(1.0, |weights| weights[i as usize])
    }
}

/// What became of a scene in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Size of the file; of a folder all its files.
    pub bytes: u64,
    /// What the format could not keep, a line each: "12 means lie outside SPZ's range and were
    /// clamped".
    pub notes: Vec<String>,
}

/// Is told what is being done, how much of it is done, and how much there is to do.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// The size of a file just written.
pub(super) fn size_of(path: &Path) -> Result<u64, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| DataError::read(path, &error))?;
    Ok(metadata.len())
}

/// Bytes that a part of a file may take in memory.
const IN_MEMORY: usize = 8 << 20;

/// A place for a part of the file `path` until the parts before it are complete: in memory, or, if
/// it is large, in an unnamed file in the same folder.
pub(super) fn spool(path: &Path) -> SpooledTempFile {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    tempfile::spooled_tempfile_in(IN_MEMORY, folder.unwrap_or(Path::new(".")))
}

/// What is said if a format has no spherical harmonics above a degree and the scene has.
pub(super) fn degree_note(rows: &dyn Rows, highest: u8) -> Option<String> {
    let degree = rows.sh_degree();
    (degree > highest)
        .then(|| format!("spherical harmonics of degree {degree} are cut to {highest}"))
}

/// What is said if `count` Gaussians have something, "a colour outside [0, 1]", that a format
/// cannot keep.
pub(super) fn clamped_note(count: u64, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 Gaussian has {what}, which was clamped")),
        _ => Some(format!("{count} Gaussians have {what}, which was clamped")),
    }
}
