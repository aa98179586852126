//! Tells the format of a scene, and reads it.

use super::scene_file::SceneFile;
use super::source::{KNOWN_FORMATS, Source, starts_as_json};
use super::{glb, ksplat, ply, sog, splat, spz, unknown};
use crate::DataError;
use splatcore_core::sh;
use std::path::Path;

/// Bytes that tell a PLY or a JSON.
const HEAD: usize = 4096;

/// How to read what formats leave open.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Coefficients above this degree of the spherical harmonics are cut, with a note. What
    /// renders or trains takes degrees up to [`sh::MAX_DEGREE`] only; files have up to 4.
    pub sh_degree_limit: u8,
    /// The axes that SPZ files are taken to have.
    pub spz_axes: spz::SpzAxes,
    /// Which level of a streamed SOG is read, 0 (if none is given) the finest. Other formats have
    /// no levels.
    pub lod: Option<u32>,
}

impl Default for ReadOptions {
    /// Scenes that can be rendered.
    fn default() -> Self {
        Self {
            sh_degree_limit: sh::MAX_DEGREE,
            spz_axes: spz::SpzAxes::Auto,
            lod: None,
        }
    }
}

/// Reads a scene file; the format is told by content. A folder that holds a meta.json, and the path
/// of that meta.json, are an unbundled SOG; with a lod-meta.json, a streamed SOG.
///
/// # Errors
/// If there is no such file, it is another kind of folder, it is in no known format, or its content
/// is broken.
pub fn read(path: &Path) -> Result<SceneFile, DataError> {
    read_with(path, &ReadOptions::default())
}

/// [`read`] with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<SceneFile, DataError> {
    if path.is_dir() {
        return read_folder(path, options);
    }
    let source = Source::open(path)?;
    let head = source.head(HEAD)?;
    if ply::is_ply(&head) {
        let mut scene = ply::read(&source, path)?;
        scene.limit_sh_degree(options.sh_degree_limit);
        return Ok(scene);
    }
    let bytes = source.read()?;
    match starts_as_json(&head) {
        true if sog::is_meta(&bytes) => sog::read_unbundled(&bytes, path),
        true if sog::is_lod(&bytes) => {
            sog::read_streamed(&bytes, path, options.lod.unwrap_or_default())
        }
        _ => parse_with(&bytes, path, options),
    }
}

/// Reads a scene from the bytes of a file in any known format; `path` is for messages, and for its
/// extension if that is .splat.
///
/// # Errors
/// As [`read`], but for opening. The meta.json of an unbundled SOG and a lod-meta.json are errors:
/// they need other files.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    parse_with(bytes, path, &ReadOptions::default())
}

/// [`parse`] with options.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(
    bytes: &[u8],
    path: &Path,
    options: &ReadOptions,
) -> Result<SceneFile, DataError> {
    let mut scene = of_format(bytes, path, options)?;
    scene.limit_sh_degree(options.sh_degree_limit);
    Ok(scene)
}

/// Reads the format that the bytes tell.
fn of_format(bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<SceneFile, DataError> {
    let spz = |bytes| spz::parse_with_axes(bytes, path, options.spz_axes);
    let is_splat = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("splat"));
    match bytes {
        _ if ply::is_ply(bytes) => ply::parse(bytes, path),
        [b'N', b'G', b'S', b'P', ..] => spz(bytes),
        // Before gzip, whose two bytes of magic a coordinate may well start with.
        _ if is_splat && splat::is_plausible(bytes) => splat::parse(bytes, path),
        [0x1f, 0x8b, ..] => spz(bytes),
        [b'g', b'l', b'T', b'F', ..] => glb::parse(bytes, path),
        _ if ksplat::is_plausible(bytes) => ksplat::parse(bytes, path),
        [0, ..] if ksplat::is_named(path) => ksplat::parse(bytes, path),
        _ if unknown::is_usdz(bytes) => Err(unknown::usd(path)),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => {
            sog::parse_level(bytes, path, options.lod.unwrap_or_default())
        }
        _ if is_splat && !bytes.is_empty() => splat::parse(bytes, path),
        _ => Err(unknown::format(bytes, path)),
    }
}

/// Whether a path is a scene of more than one file: a folder that holds a SOG's meta.json or
/// lod-meta.json, or one of these files. Such a path looks like a dataset's (a folder, or a
/// transforms.json) but is none.
pub fn is_unbundled(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(sog::META).is_file() || path.join(sog::LOD_META).is_file();
    }
    // Also one that is damaged, so that what reads scenes says so.
    if [sog::META, sog::LOD_META]
        .iter()
        .any(|name| path.ends_with(name))
        && path.is_file()
    {
        return true;
    }
    let json = || -> Option<Vec<u8>> {
        let source = Source::open(path).ok()?;
        starts_as_json(&source.head(HEAD).ok()?).then_some(())?;
        source.read().ok()
    };
    json().is_some_and(|bytes| sog::is_meta(&bytes) || sog::is_lod(&bytes))
}

fn read_folder(path: &Path, options: &ReadOptions) -> Result<SceneFile, DataError> {
    let inside = |name: &str| Some(path.join(name)).filter(|file| file.is_file());
    if let Some(meta) = inside(sog::META).or_else(|| inside(sog::LOD_META)) {
        return read_with(&meta, options);
    }
    let remedy = match inside("scene.ply") {
        Some(scene) => format!("give {}", scene.display()),
        None => KNOWN_FORMATS.into(),
    };
    Err(DataError::new(
        path,
        "is a folder, not a scene file",
        remedy,
    ))
}
