//! One SOG, from meta.json and images to Gaussians.

use super::files::{Files, META};
use super::meta::{CENTROIDS, Meta};
use super::{attributes, pixels};
use crate::DataError;
use rayon::prelude::*;
use splatcore_core::{Gaussians, sh};

/// Real scenes take 12 to 25 bytes a Gaussian, whose floats take 56 to 236. Gaussians beyond this
/// many times the files' size (and beyond [`ALWAYS_ALLOWED`]) are refused, so that a small file
/// cannot claim all memory.
pub const MAX_RATIO: u64 = 100;
/// Bytes of floats that any file may unpack to.
pub const ALWAYS_ALLOWED: u64 = 64 << 20;

/// A SOG as its files hold it: unsound Gaussians, too, are in their places.
pub struct Decoded {
    pub gaussians: Gaussians,
    pub antialiased: bool,
    /// Of all files, or of the archive.
    pub bytes: u64,
    pub notes: Vec<String>,
    pub version: u8,
}

/// Reads what meta.json, whose text this is, names; `bundle` is the size of the archive, if there
/// is one.
pub fn decode(text: &[u8], files: &mut Files, bundle: Option<u64>) -> Result<Decoded, DataError> {
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
    Ok(Decoded {
        gaussians,
        antialiased: meta.antialiased,
        bytes,
        notes,
        version: meta.version,
    })
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
    if floats.max(pixels) <= ALWAYS_ALLOWED + MAX_RATIO * stored {
        return Ok(());
    }
    let problem = format!(
        "declares {} Gaussians in files of {stored} bytes",
        meta.count
    );
    Err(files.error(META, problem))
}
