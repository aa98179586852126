//! Writes a scene in the format that the file's name tells.

use super::format::Format;
use super::rows::Rows;
use super::written::{Progress, WriteOptions, Written};
use super::{glb, ply, sog, splat, spz, usd};
use crate::DataError;
use std::path::Path;

/// Writes a scene; the name tells the format ([`Format::of_output`]). Gaussians are taken in
/// pieces, in their order, except where a format wants one of its own. An existing file is
/// replaced once the new one is complete.
///
/// # Errors
/// If the name tells no format, the format cannot hold the scene, or the file cannot be written;
/// then nothing is left under the name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    match Format::of_output(path)? {
        Format::Ply => ply::write(path, rows, options, progress),
        Format::Glb => glb::write(path, rows, options, progress),
        Format::Usda => usd::write_usda(path, rows, options, progress),
        Format::Usdz => usd::write_usdz(path, rows, options, progress),
        Format::CompressedPly => ply::write_compressed(path, rows, options, progress),
        Format::Spz => spz::write(path, rows, options, progress),
        Format::Splat => splat::write(path, rows, options, progress),
        Format::Sog => sog::write(path, rows, options, progress),
        Format::SogFolder => sog::write_folder(path, rows, options, progress),
        Format::StreamedSog => sog::write_streamed(path, rows, options, progress),
        Format::Ksplat => Err(DataError::new(
            path,
            "is a .ksplat file by its name, a format only read",
            "choose another format",
        )),
    }
}
