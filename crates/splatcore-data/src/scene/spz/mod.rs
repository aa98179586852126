//! SPZ, versions 1 to 4: Gaussians rounded to bytes, an attribute after the other, compressed.
//!
//! The format: Niantic's description in the README of github.com/nianticlabs/spz. Versions 1 to 3
//! are one gzip stream of a 16-byte header and the attributes; version 4 is a plain 32-byte header,
//! a table of contents and one zstd frame per attribute. `container` undoes the compression,
//! `attributes` the rounding.

mod attributes;
mod container;

pub use super::opacity::LARGEST_LOGIT;

use super::scene_file::SceneFile;
use crate::DataError;
use std::path::Path;

/// Reads a scene from the bytes of an SPZ file; `path` is for messages only. Axes are converted
/// from SPZ's (x right, y up, z back) to PLY's (x right, y down, z forward). Opacities of 0 and 1
/// become logits of ∓[`LARGEST_LOGIT`]. Degree 4 is cut to 3, with a note.
///
/// # Errors
/// If the header is broken, declares more than the file can hold, or if the compressed data is
/// broken or short.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let mut notes = Vec::new();
    let packed = container::unpack(bytes, &mut notes, path)?;
    let gaussians = attributes::decode(&packed);
    let format = format!("SPZ version {}", packed.header.version);
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes.len() as u64,
        notes,
        packed.header.antialiased,
    ))
}
