//! SOG (Spatially Ordered Gaussians), PlayCanvas's format: parameters as bytes in the pixels of
//! lossless images.
//!
//! The format: developer.playcanvas.com, "The SOG Format" (version 2, with codebooks); version 1,
//! without a version number and with bounds in place of codebooks, as PlayCanvas's engine reads it.
//! A bundle is a zip of the files of the unbundled folder. `meta` reads meta.json and makes both
//! versions one, `files` finds the images and bounds what they may unpack to, `pixels` decodes
//! them, `attributes` makes Gaussians of pixels.

mod attributes;
mod files;
mod meta;
mod pixels;

pub(super) use files::{LOD_META, META, lod_error};

use super::scene_file::SceneFile;
use crate::DataError;
use files::Files;
use meta::{CENTROIDS, Meta};
use rayon::prelude::*;
use splatcore_core::sh;
use std::path::Path;

/// Real scenes take 12 to 25 bytes a Gaussian, whose floats take 56 to 236. Gaussians beyond this
/// many times the files' size (and beyond [`ALWAYS_ALLOWED`]) are refused, so that a small file
/// cannot claim all memory.
const LARGEST_RATIO: u64 = 100;
/// Bytes of floats that any file may unpack to.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// Reads a scene from the bytes of a bundled SOG (.sog, a zip archive); `path` is for messages
/// only. Opacities of 0 and 1 become logits of ∓[`super::spz::LARGEST_LOGIT`].
///
/// # Errors
/// If the archive or an image is broken, a file is missing, or meta.json declares what the images
/// do not hold.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let mut files = Files::bundle(bytes, path)?;
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
    let meta = Meta::parse(text).map_err(|problem| files.error(META, problem))?;
    if let Some(bundle) = bundle {
        // Before anything of that size is unpacked.
        check_size(&meta, 0, 0, bundle, files)?;
    }
    let images = pixels::fetch(&meta, files)?;
    let stored = text.len() as u64
        + images
            .iter()
            .map(|image| image.bytes.len() as u64)
            .sum::<u64>();
    let bytes = bundle.unwrap_or(stored);
    let sh_degree = match &meta.higher {
        Some(higher) => {
            let image = &images[CENTROIDS];
            higher
                .degree(image.width)
                .map_err(|problem| files.error(image.name, problem))?
        }
        None => 0,
    };
    let unpacked = images.iter().map(|image| image.unpacked() as u64).sum();
    check_size(&meta, sh_degree, unpacked, bytes, files)?;

    // Memory is taken on this thread, whichever thread then decodes.
    let mut pixels: Vec<Vec<u8>> = images
        .iter()
        .map(|image| vec![0; image.unpacked()])
        .collect();
    images
        .par_iter()
        .zip(&mut pixels)
        .try_for_each(|(image, pixels)| image.decode(pixels))
        .map_err(|(name, problem)| files.error(name, problem))?;
    let lossy = images.iter().filter(|image| image.is_lossy());
    let mut notes: Vec<String> = lossy
        .map(|image| {
            format!(
                "{} is compressed with loss, which damages what it holds",
                image.name
            )
        })
        .collect();
    let pixels = pixels::Pixels::new(&images, &pixels);
    let gaussians = attributes::decode(&meta, sh_degree, &pixels, &mut notes);
    let kind = if bundle.is_some() { "" } else { ", unbundled" };
    let format = format!("SOG version {}{kind}", meta.version);
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes,
        notes,
        meta.antialiased,
    ))
}

/// Refuses scenes that would take far more memory than files of `stored` bytes can sensibly ask
/// for: as floats, or as the `pixels` bytes of their images.
fn check_size(
    meta: &Meta,
    sh_degree: u8,
    pixels: u64,
    stored: u64,
    files: &Files,
) -> Result<(), DataError> {
    // At most 2³² Gaussians of 236 bytes: no overflow.
    let floats = meta.count as u64 * 4 * (11 + 3 * sh::coefficients(sh_degree)) as u64;
    if floats.max(pixels) <= ALWAYS_ALLOWED + LARGEST_RATIO * stored {
        return Ok(());
    }
    let problem = format!(
        "declares {} Gaussians in files of {stored} bytes",
        meta.count
    );
    Err(files.error(META, problem))
}
