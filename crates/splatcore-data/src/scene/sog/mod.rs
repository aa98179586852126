//! SOG (Spatially Ordered Gaussians), PlayCanvas's format: parameters as bytes in the pixels of
//! lossless images.
//!
//! The format: developer.playcanvas.com, "The SOG Format" (version 2, with codebooks); version 1,
//! without a version number and with bounds in place of codebooks, as PlayCanvas's engine reads it.
//! A bundle is a zip of the files of the unbundled folder. `meta` reads meta.json and makes both
//! versions one, `files` finds the images and bounds what they may unpack to, `pixels` decodes
//! them, `attributes` makes Gaussians of pixels, `decode` does all of that. `lod` is the streamed
//! form, and `write` makes files.

mod attributes;
mod decode;
mod files;
mod lod;
mod meta;
mod options;
mod pixels;
mod write;

pub use lod::write_streamed;
pub use options::SogOptions;
pub use write::{to_bytes, write, write_folder};

pub(super) use files::{LOD_META, META};
pub(super) use meta::plain;

use super::scene_file::SceneFile;
use crate::DataError;
use decode::{Decoded, decode};
use files::Files;
use std::path::Path;

/// Reads a scene from the bytes of a bundled SOG (.sog, a zip archive), or the finest level of a
/// zipped streamed SOG; `path` is for messages only. Opacities of 0 and 1 become logits of
/// ∓[`super::spz::MAX_LOGIT`].
///
/// # Errors
/// If the archive or an image is broken, a file is missing, or meta.json declares what the images
/// do not hold.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    parse_level(bytes, path, 0)
}

/// [`parse`], of a streamed SOG a level.
pub(super) fn parse_level(bytes: &[u8], path: &Path, level: u32) -> Result<SceneFile, DataError> {
    let mut files = Files::bundle(bytes, path)?;
    if files.is_streamed() {
        return lod::read(None, &mut files, Some(bytes.len() as u64), level);
    }
    let text = files.read(META, meta::LONGEST)?;
    load(&text, &mut files, Some(bytes.len() as u64))
}

/// Reads an unbundled SOG: `text` is the content of the meta.json at `path`; the images lie beside
/// it.
///
/// # Errors
/// As [`parse`], and if an image cannot be read.
pub(super) fn read_unbundled(text: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    load(text, &mut Files::folder(path), None)
}

/// Reads a level of a streamed SOG: `text` is the content of the lod-meta.json at `path`; the
/// chunks lie below its folder.
///
/// # Errors
/// As [`read_unbundled`], and if there is no such level or a chunk does not hold what is declared.
pub(super) fn read_streamed(text: &[u8], path: &Path, level: u32) -> Result<SceneFile, DataError> {
    lod::read(Some(text), &mut Files::folder(path), None, level)
}

/// Whether this is the text of a SOG's meta.json.
pub(super) fn is_meta(text: &[u8]) -> bool {
    meta::has_keys(text, &["means", "quats"])
}

/// Whether this is the text of a streamed SOG's lod-meta.json.
pub(super) fn is_lod(text: &[u8]) -> bool {
    meta::has_keys(text, &["lodLevels", "filenames"])
}

/// `bundle` is the size of the archive, if there is one.
fn load(text: &[u8], files: &mut Files, bundle: Option<u64>) -> Result<SceneFile, DataError> {
    let Decoded {
        gaussians,
        antialiased,
        bytes,
        notes,
        version,
    } = decode(text, files, bundle)?;
    let kind = if bundle.is_some() { "" } else { ", unbundled" };
    let format = format!("SOG version {version}{kind}");
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes,
        notes,
        antialiased,
    ))
}
