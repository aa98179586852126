//! SPZ, versions 1 to 4: Gaussians rounded to bytes, an attribute after the other, compressed.
//!
//! The format: Niantic's description in the README of github.com/nianticlabs/spz. Versions 1 to 3
//! are one gzip stream of a 16-byte header and the attributes; version 4 is a plain 32-byte header,
//! a table of contents and one zstd frame per attribute. Vendors' records, if a flag says so, end
//! the gzip stream or follow version 4's header.
//!
//! In: `container` undoes the compression, `attributes` the rounding. Out: `quantise` rounds,
//! `write` compresses. `axes` knows the axes that a file may have.

mod attributes;
mod axes;
mod container;
mod options;
mod quantise;
mod write;

pub use super::opacity::MAX_LOGIT;
pub use axes::{Axes, SpzAxes};
pub use options::SpzOptions;
pub use write::write;

use super::scene_file::SceneFile;
use crate::DataError;
use axes::{Change, System};
use container::Packed;
use std::path::Path;

/// Reads a scene from the bytes of an SPZ file; `path` is for messages only. Axes are converted
/// from those that the file names, or from SPZ's usual x right, y up, z back, to PLY's x right, y
/// down, z front. Opacities of 0 and 1 become logits of ∓[`MAX_LOGIT`].
///
/// # Errors
/// If the header is broken, declares more than the file can hold, or if the compressed data is
/// broken or short.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    parse_with_axes(bytes, path, SpzAxes::Auto)
}

/// [`parse`] with the axes that the file is taken to have.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_axes(bytes: &[u8], path: &Path, axes: SpzAxes) -> Result<SceneFile, DataError> {
    let mut notes = Vec::new();
    let packed = container::unpack(bytes, &mut notes, path)?;
    let system = system(&packed, axes, &mut notes);
    let gaussians = attributes::decode(&packed, &Change::new(system));
    let format = format!("SPZ version {}", packed.header.version);
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes.len() as u64,
        notes,
        packed.header.antialiased,
    ))
}

/// The axes to read with, and a note unless they are those that the file names.
fn system(packed: &Packed, axes: SpzAxes, notes: &mut Vec<String>) -> System {
    let named = packed.system.and_then(System::new);
    let system = match axes {
        SpzAxes::Auto => named.unwrap_or(System::RUB),
        SpzAxes::Rub => System::RUB,
        SpzAxes::Rdf => System::RDF,
    };
    match (axes, packed.system, named) {
        (_, _, Some(named)) if named == system => {}
        (_, _, Some(named)) => notes.push(format!(
            "the file names its axes ({}), but {} were asked for",
            named.words(),
            system.words()
        )),
        (SpzAxes::Auto, Some(number), None) if number > 0 => notes.push(format!(
            "the file names unknown axes (number {number}): {} assumed",
            system.words()
        )),
        (SpzAxes::Auto, _, None) => notes.push(format!(
            "the file does not name its axes: {} assumed; if the scene is upside down, read its \
             axes as rdf (x right, y down, z front)",
            system.words()
        )),
        _ => {}
    }
    system
}
