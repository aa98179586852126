//! SOG version 2 out, bundled or as a folder.
//!
//! `survey` finds bounds and codebooks in one pass over the Gaussians, `palette` clusters a sample
//! of their spherical harmonics, `planes` makes the images' bytes in a second pass, `folder` puts a
//! scene of several files under its name. Of the Gaussians only a piece and the sample are held as
//! floats; of the images all bytes.

mod codebook;
mod folder;
mod palette;
mod planes;
mod survey;

pub(super) use folder::Folder;
pub(super) use survey::Sound;

use crate::scene::morton::morton_order;
use crate::scene::rows::Rows;
use crate::scene::written::{Progress, WriteOptions, Written, size_of};
use crate::{DataError, file};
use serde::Serialize;
use std::io::{Cursor, Write as _};
use std::path::Path;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// The files of a scene: names and contents, meta.json last.
pub(super) struct Encoded {
    pub files: Vec<(String, Vec<u8>)>,
    pub notes: Vec<String>,
}

/// Writes a bundled SOG 2: a zip archive whose files are stored, in Morton order unless
/// [`WriteOptions::keep_order`] is set. Bounds on what is lost: a coordinate's sign(x) ln(1 + |x|)
/// is off by half of a 65,535th of its range, a component of a rotation by 1/(255 √2), an opacity
/// by 1/510; scales and base colours are rounded to the 256 values, and the higher harmonics to the
/// palette, that make the least square error. Coefficients above degree 3 are cut, with a note.
/// Unsound Gaussians are written with opacity 0.
///
/// # Errors
/// If there are more than 16,384² Gaussians or the file cannot be written; then nothing is left
/// under its name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let (bytes, notes) = to_bytes(path, rows, options, progress)?;
    file::write_bytes(path, &bytes)?;
    Ok(Written {
        bytes: size_of(path)?,
        notes,
    })
}

/// The bytes that [`write()`] writes, and what could not be kept, a line each; `path` is for
/// messages.
///
/// # Errors
/// If there are more than 16,384² Gaussians.
pub fn to_bytes(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<(Vec<u8>, Vec<String>), DataError> {
    let Encoded { files, notes } = encode(path, rows, options, progress)?;
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = files
        .into_iter()
        .try_for_each(|(name, bytes)| {
            archive.start_file(name, stored.large_file(bytes.len() >> 31 > 0))?;
            archive.write_all(&bytes).map_err(Into::into)
        })
        .and_then(|()| archive.finish());
    let packed = packed.map_err(|e| DataError::write(path, &std::io::Error::other(e)))?;
    Ok((packed.into_inner(), notes))
}

/// Writes an unbundled SOG 2: `path` is that of its meta.json. What else lies in the folder stays,
/// but for the files of an older SOG.
///
/// # Errors
/// As [`write()`]; an older scene in the folder is unreadable if writing fails between its removal
/// and the renaming of the new files.
pub fn write_folder(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let Encoded { files, notes } = encode(path, rows, options, progress)?;
    let folder = Folder::beside(path)?;
    for (name, bytes) in &files {
        folder.add(name, bytes)?;
    }
    folder.publish(&names("").collect::<Vec<_>>())?;
    Ok(Written {
        bytes: files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        notes,
    })
}

/// All files that a SOG may have in a folder, behind the folder's name and a slash.
pub(super) fn names(folder: &str) -> impl Iterator<Item = String> {
    let all = planes::NAMES.into_iter().chain([super::files::META]);
    all.map(move |name| format!("{folder}{name}"))
}

/// The files of a scene, in Morton order unless its own is kept.
fn encode(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Encoded, DataError> {
    let order = match options.keep_order {
        true => (0..rows.len() as u32).collect(),
        false => {
            progress("sorting", 0, 1);
            morton_order(rows)?
        }
    };
    encode_ordered(path, rows, &order, options, progress)
}

/// The files of the Gaussians `order[0]`, `order[1]`, and so on; `path` is for messages.
pub(super) fn encode_ordered(
    path: &Path,
    rows: &dyn Rows,
    order: &[u32],
    options: &WriteOptions,
    progress: Progress,
) -> Result<Encoded, DataError> {
    let rows = Sound::new(rows);
    let size = planes::size(order.len()).ok_or_else(|| {
        let problem = format!("cannot hold {} Gaussians in one SOG", order.len());
        DataError::new(
            path,
            problem,
            "write FOLDER/lod-meta.json, which has chunks",
        )
    })?;
    let survey = survey::survey(&rows, order, options, progress)?;
    let mut notes = rows.notes();
    let palette = planes::train(&rows, order, options, progress)?;
    let (planes, palette) =
        planes::fill(&rows, order, size, (&survey, palette), options, progress)?;
    let higher = palette.as_ref().map(|palette| Higher {
        count: palette.entries,
        bands: rows.sh_degree(),
        codebook: &palette.codebook,
        files: [planes::CENTROIDS, planes::LABELS],
    });
    let meta = Meta {
        version: 2,
        asset: Asset {
            generator: concat!("splatcore ", env!("CARGO_PKG_VERSION")),
        },
        count: order.len(),
        antialias: options.antialiased,
        means: Means {
            mins: survey.mins,
            maxs: survey.maxs,
            files: [planes::MEANS_LOW, planes::MEANS_HIGH],
        },
        scales: Table {
            codebook: &survey.scales,
            files: [planes::SCALES],
        },
        quats: Files {
            files: [planes::QUATS],
        },
        sh0: Table {
            codebook: &survey.colours,
            files: [planes::SH0],
        },
        higher,
    };
    let failed =
        |e: &dyn std::fmt::Display| DataError::write(path, &std::io::Error::other(e.to_string()));
    let meta = serde_json::to_vec(&meta).map_err(|e| failed(&e))?;
    let mut files =
        planes::compress(size, &planes, palette.as_ref(), progress).map_err(|e| failed(&e))?;
    files.push((super::files::META.into(), meta));
    notes.sort();
    Ok(Encoded { files, notes })
}

/// meta.json.
#[derive(Serialize)]
struct Meta<'a> {
    version: u32,
    asset: Asset,
    count: usize,
    antialias: bool,
    means: Means,
    scales: Table<'a>,
    quats: Files,
    sh0: Table<'a>,
    #[serde(rename = "shN", skip_serializing_if = "Option::is_none")]
    higher: Option<Higher<'a>>,
}

#[derive(Serialize)]
struct Asset {
    generator: &'static str,
}

#[derive(Serialize)]
struct Means {
    mins: [f64; 3],
    maxs: [f64; 3],
    files: [&'static str; 2],
}

#[derive(Serialize)]
struct Table<'a> {
    codebook: &'a [f32],
    files: [&'static str; 1],
}

#[derive(Serialize)]
struct Files {
    files: [&'static str; 1],
}

#[derive(Serialize)]
struct Higher<'a> {
    count: usize,
    bands: u8,
    codebook: &'a [f32],
    files: [&'static str; 2],
}
