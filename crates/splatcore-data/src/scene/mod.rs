//! Scene files: sets of Gaussians in and out.
//!
//! In: PLY as INRIA's trainer writes it, its many variants and PlayCanvas's compressed PLY
//! ([`ply`]), SPZ versions 1 to 4 ([`spz`]), SOG versions 1 and 2, bundled or as a folder
//! ([`sog`]), and antimatter15's .splat ([`splat`]). Out: PLY in INRIA's layout ([`write_ply`]).
//! [`read`] tells the format by content, so a wrong extension does not matter (but .splat has no
//! content to tell it by); whatever the format, what comes back is in PLY space (x right, y down, z
//! forward) and in the parametrisation of [`Gaussians`].

mod info;
mod opacity;
pub mod ply;
pub mod sog;
pub mod splat;
pub mod spz;
mod unknown;

pub use info::{Bounds, SceneInfo, info};
pub use ply::write_ply;

use crate::DataError;
use memmap2::Mmap;
use splatcore_core::Gaussians;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// The remedy that ends most errors about a file of the wrong kind.
const KNOWN_FORMATS: &str = "give a Gaussian .ply, .spz, .sog or .splat file, or the folder of an \
                             unbundled SOG (with meta.json)";

/// A scene as a file holds it.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The Gaussians, unsound ones already dropped.
    pub gaussians: Gaussians,
    /// The format found, for people: "PLY, binary little-endian", "SPZ version 3", "SOG version 2,
    /// unbundled".
    pub format: String,
    /// Size of the file; for unbundled SOG of all its files.
    pub bytes: u64,
    /// Gaussians left out because a value was NaN or infinite or the rotation all zero.
    pub dropped: usize,
    /// What else a user may want to know, a line each: parts that were skipped, degrees that were
    /// cut.
    pub notes: Vec<String>,
    /// Whether the scene was trained with Mip-Splatting's 2D filter in place of the +0.3 px²
    /// dilation, and is to be rendered with it. Not every format can say so: PLY does in a comment,
    /// SPZ and SOG have a field.
    pub antialiased: bool,
}

impl SceneFile {
    /// Drops what is unsound and counts it: the last step of every parser.
    fn checked(
        mut gaussians: Gaussians,
        format: String,
        bytes: u64,
        notes: Vec<String>,
        antialiased: bool,
    ) -> Self {
        let dropped = gaussians.drop_unsound();
        Self {
            gaussians,
            format,
            bytes,
            dropped,
            notes,
            antialiased,
        }
    }
}

/// Reads a scene file; the format is told by content. A folder that holds a meta.json, and the path
/// of that meta.json, are an unbundled SOG.
///
/// # Errors
/// If there is no such file, it is another kind of folder, it is in no known format, or its content
/// is broken.
pub fn read(path: &Path) -> Result<SceneFile, DataError> {
    if path.is_dir() {
        return read_folder(path);
    }
    let bytes = open(path)?;
    match starts_as_json(&bytes) && sog::is_meta(&bytes) {
        true => sog::read_unbundled(&bytes, path),
        false => parse(&bytes, path),
    }
}

/// Reads a scene from the bytes of a file in any known format; `path` is for messages, and for its
/// extension if that is .splat.
///
/// # Errors
/// As [`read`], but for opening. The meta.json of an unbundled SOG is an error: its images are
/// other files.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let is_splat = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("splat"));
    match bytes {
        [b'p', b'l', b'y', b'\n' | b'\r' | b' ', ..] => ply::parse(bytes, path),
        [b'N', b'G', b'S', b'P', ..] => spz::parse(bytes, path),
        // Before gzip, whose two bytes of magic a coordinate may well start with.
        _ if is_splat && splat::is_plausible(bytes) => splat::parse(bytes, path),
        [0x1f, 0x8b, ..] => spz::parse(bytes, path),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => sog::parse(bytes, path),
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
    open(path)
        .is_ok_and(|bytes| starts_as_json(&bytes) && (sog::is_meta(&bytes) || sog::is_lod(&bytes)))
}

fn read_folder(path: &Path) -> Result<SceneFile, DataError> {
    let inside = |name: &str| Some(path.join(name)).filter(|file| file.is_file());
    if let Some(meta) = inside(sog::META).or_else(|| inside(sog::LOD_META)) {
        return read(&meta);
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

fn starts_as_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

/// A file's bytes.
enum Content {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Content {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Content::Mapped(map) => map,
            Content::Read(bytes) => bytes,
        }
    }
}

fn open(path: &Path) -> Result<Content, DataError> {
    let failed = |error: std::io::Error| DataError::read(path, &error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(DataError::new(path, "is not a regular file", KNOWN_FORMATS));
    }
    if metadata.len() == 0 {
        let remedy = "it may be the rest of a failed copy: get it again";
        return Err(DataError::new(path, "is empty", remedy));
    }
    let file = File::open(path).map_err(failed)?;
    // SAFETY: the map is private to this call and read-only. Should another program cut the file
    // short meanwhile, the system ends this program, as it would for every program that maps files.
    match unsafe { Mmap::map(&file) } {
        Ok(map) => Ok(Content::Mapped(map)),
        // Some file systems cannot map.
        Err(_) => std::fs::read(path).map(Content::Read).map_err(failed),
    }
}
