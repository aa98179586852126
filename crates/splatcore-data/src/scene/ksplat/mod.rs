//! `.ksplat`, the format of mkkellogg's GaussianSplats3D, version 0.1: sections of rows, positions
//! in buckets.
//!
//! A file is a header of 4096 bytes, a header of 1024 bytes for each section, and the sections: the
//! lengths of buckets that are not full, the buckets' centres, and a row a Gaussian. Level 0 stores
//! f32; level 1 positions as 16 bits relative to the bucket's centre, and all else as halves; level
//! 2 spherical harmonics as bytes. Colours are bytes, opacity included; scales are linear,
//! rotations `w, x, y, z`, axes PLY's. The format: `SplatBuffer.js` of
//! github.com/mkkellogg/GaussianSplats3D. `sections` finds and checks what the headers declare,
//! `rows` decodes.

mod rows;
mod sections;

use super::scene_file::SceneFile;
use crate::DataError;
use sections::File;
use splatcore_core::Gaussians;
use std::path::Path;

pub(super) use sections::is_plausible;

/// Whether a name says that a file is a .ksplat.
pub(super) fn is_named(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("ksplat"))
}

/// Reads a scene from the bytes of a .ksplat file; `path` is for messages only. Opacities of 0 and
/// 1 become logits of ∓[`super::spz::MAX_LOGIT`]; a standard deviation of 0, whose log is
/// infinite, the smallest normal f32. Sections of a lower degree than others get zeros.
///
/// # Errors
/// If the version is not 0.1, or the headers declare what the file does not hold.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let file = File::parse(bytes).map_err(|(place, problem)| {
        let remedy = "the file is cut short, damaged or of another version: get or export it again";
        DataError::new(path, problem, remedy).at(place)
    })?;
    let degrees = file.sections.iter().map(|section| section.degree);
    let count = file.sections.iter().map(|section| section.count).sum();
    // Rows have at least 24 bytes and give at most 152: the file bounds the memory.
    let mut gaussians = Gaussians::zeros(count, degrees.max().unwrap_or(0));
    rows::decode(&file, &mut gaussians);
    Ok(SceneFile::checked(
        gaussians,
        format!(".ksplat version 0.1, level {}", file.level as u8),
        bytes.len() as u64,
        Vec::new(),
        false,
    ))
}
