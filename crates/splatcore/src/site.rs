//! A scene as a folder for a web server: a page, and the scene in chunks with levels of detail.

use crate::progress::Stages;
use crate::sharing::{self, Choices};
use anyhow::{Context, Result, bail};
use splatcore_core::Gaussians;
use splatcore_data::file;
use splatcore_data::scene::{self, SogOptions, WriteOptions};
use splatcore_page::{Page, Source, Stream};
use std::path::Path;

/// The page.
const PAGE: &str = "index.html";
/// Folder of the streamed SOG, and its index.
const SCENE: &str = "scene";
const INDEX: &str = "scene/lod-meta.json";
/// The coarsest level has at most so many Gaussians: less than 1 MB, which is loaded before the
/// first picture.
const MAX_COARSEST: usize = 60_000;
/// Gaussians of a chunk, some 0.8 MB of degree 3.
const CHUNK: u32 = 64 << 10;
/// Entries of a chunk's palette. Neighbouring Gaussians have similar harmonics, so that fewer do
/// than for a whole scene.
const PALETTE: u32 = 2048;

/// What was written, bytes.
pub struct Size {
    pub whole: u64,
    /// Loaded before there is a picture.
    pub first: u64,
}

/// Writes the site of sound Gaussians into a folder, which may hold an older one. The page draws at
/// most `budget` Gaussians at a time.
///
/// # Errors
/// If the scene is empty, the folder holds a page of somebody else's, or a file cannot be written.
pub fn write(
    folder: &Path,
    gaussians: &Gaussians,
    antialiased: bool,
    choices: &Choices,
    budget: u32,
) -> Result<Size> {
    let about = sharing::about(gaussians, choices)?;
    check(folder)?;
    let levels = levels(gaussians.len());
    let options = WriteOptions {
        antialiased,
        sog: SogOptions {
            levels,
            palette: PALETTE,
            chunk_gaussians: CHUNK,
            // Boxes of equal numbers of Gaussians, however large the scene is.
            chunk_extent: f32::MAX,
            ..SogOptions::default()
        },
        ..WriteOptions::default()
    };
    let stages = Stages::default();
    let index = folder.join(INDEX);
    let written = scene::write(&index, gaussians, &options, &|stage, done, total| {
        stages.tell(stage, done, total);
    })?;
    for note in &written.notes {
        eprintln!("the scene as streamed SOG: {note}");
    }
    let page = Page {
        scene: Source::Beside(Stream {
            index: INDEX,
            budget,
        }),
        ..about
    };
    let html = page.to_html()?;
    // Last: an index of a site names what is there.
    file::write_bytes(&folder.join(PAGE), html.as_bytes())?;
    let page = html.len() as u64;
    let coarsest = coarsest(&folder.join(SCENE), levels)
        .with_context(|| format!("{}: cannot be read again", folder.display()))?;
    let names = std::fs::metadata(&index).map_or(0, |file| file.len());
    Ok(Size {
        whole: written.bytes + page,
        first: page + names + coarsest,
    })
}

/// Levels of detail of so many Gaussians: each further one has half of them.
fn levels(count: usize) -> u32 {
    let mut levels = 1;
    while count.div_ceil(1 << (levels - 1)) > MAX_COARSEST && levels < 16 {
        levels += 1;
    }
    levels
}

/// Refuses a folder whose page is not one of these.
fn check(folder: &Path) -> Result<()> {
    let page = folder.join(PAGE);
    match std::fs::read(&page) {
        Ok(text) if !String::from_utf8_lossy(&text).contains("Made with splatcore") => bail!(
            "{}: is a page of something else; choose another folder with -o",
            page.display()
        ),
        _ => Ok(()),
    }
}

/// Bytes of the files of the coarsest level.
fn coarsest(scene: &Path, levels: u32) -> std::io::Result<u64> {
    let prefix = format!("{}_", levels - 1);
    let mut bytes = 0;
    for entry in std::fs::read_dir(scene)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            for file in std::fs::read_dir(entry.path())? {
                bytes += file?.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarsest_level_is_small_for_any_scene() {
        assert_eq!((levels(1), levels(60_000), levels(60_001)), (1, 1, 2));
        for count in [100_000, 2_500_000, 500_000_000] {
            let coarsest = count >> (levels(count) - 1);
            assert!(
                (MAX_COARSEST / 2..=MAX_COARSEST).contains(&coarsest),
                "{count}"
            );
        }
    }
}
