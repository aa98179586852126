//! Scene files: sets of Gaussians in and out.
//!
//! In: PLY as INRIA's trainer writes it and its many variants ([`ply`]), and SPZ versions 1 to 4 ([`spz`]).
//! Out: PLY in INRIA's layout ([`write_ply`]). [`read`] tells the format by content, so a wrong extension does
//! not matter; whatever the format, what comes back is in PLY space (x right, y down, z forward) and in the
//! parametrisation of [`Gaussians`].

mod info;
pub mod ply;
pub mod spz;

pub use info::{Bounds, SceneInfo, info};
pub use ply::write_ply;

use crate::DataError;
use memmap2::Mmap;
use splatcore_core::Gaussians;
use std::fs::File;
use std::path::Path;

/// The remedy that ends most errors about a file of the wrong kind.
const KNOWN_FORMATS: &str = "give a Gaussian .ply or a .spz file";

/// A scene as a file holds it.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The Gaussians, unsound ones already dropped.
    pub gaussians: Gaussians,
    /// The format found, for people: "PLY, binary little-endian", "SPZ version 3".
    pub format: String,
    /// Gaussians left out because a value was NaN or infinite or the rotation all zero.
    pub dropped: usize,
    /// What else a user may want to know, a line each: parts that were skipped, degrees that were cut.
    pub notes: Vec<String>,
    /// Whether the scene was trained with Mip-Splatting's 2D filter in place of the +0.3 px² dilation.
    /// Only SPZ says so.
    pub antialiased: bool,
}

impl SceneFile {
    /// Drops what is unsound and counts it: the last step of every parser.
    fn checked(mut gaussians: Gaussians, format: String, notes: Vec<String>, antialiased: bool) -> Self {
        let dropped = gaussians.drop_unsound();
        Self {
            gaussians,
            format,
            dropped,
            notes,
            antialiased,
        }
    }
}

/// Reads a scene file; the format is told by content.
///
/// # Errors
/// If there is no such file, it is a folder, it is in no known format, or its content is broken.
pub fn read(path: &Path) -> Result<SceneFile, DataError> {
    let file = open(path)?;
    match &file {
        Content::Mapped(bytes) => parse(bytes, path),
        Content::Read(bytes) => parse(bytes, path),
    }
}

/// Reads a scene from the bytes of a file in any known format; `path` is for messages only.
///
/// # Errors
/// As [`read`], but for opening.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    match bytes {
        [b'p', b'l', b'y', b'\n' | b'\r' | b' ', ..] => ply::parse(bytes, path),
        [b'N', b'G', b'S', b'P', ..] | [0x1f, 0x8b, ..] => spz::parse(bytes, path),
        _ => Err(DataError::new(path, unknown(bytes), KNOWN_FORMATS)),
    }
}

/// What a file in no known format seems to be.
fn unknown(bytes: &[u8]) -> String {
    let seems = match bytes {
        [] => return "is empty".into(),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => "seems to be a zip archive (SOG?), a format not read yet",
        [b'g', b'l', b'T', b'F', ..] => "seems to be binary glTF, a format not read yet",
        [b'R', b'I', b'F', b'F', ..] | [0xff, 0xd8, ..] | [0x89, b'P', b'N', b'G', ..] => {
            "seems to be an image, not a scene"
        }
        [b'{', ..] => "seems to be JSON, not a scene",
        _ => "",
    };
    if !seems.is_empty() {
        return seems.into();
    }
    let start = &bytes[..bytes.len().min(8)];
    format!(
        "is in no known scene format (it starts with \"{}\")",
        start.escape_ascii()
    )
}

/// A file's bytes.
enum Content {
    Mapped(Mmap),
    Read(Vec<u8>),
}

fn open(path: &Path) -> Result<Content, DataError> {
    let failed = |error: std::io::Error| DataError::read(path, &error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        let inside = path.join("scene.ply");
        let remedy = match inside.is_file() {
            true => format!("give {}", inside.display()),
            false => KNOWN_FORMATS.into(),
        };
        return Err(DataError::new(path, "is a folder, not a scene file", remedy));
    }
    if !metadata.is_file() {
        return Err(DataError::new(path, "is not a regular file", KNOWN_FORMATS));
    }
    if metadata.len() == 0 {
        let remedy = "it may be the rest of a failed copy: get it again";
        return Err(DataError::new(path, "is empty", remedy));
    }
    let file = File::open(path).map_err(failed)?;
    // SAFETY: the map is private to this call and read-only. Should another program cut the file short meanwhile,
    // the system ends this program, as it would for every program that maps files.
    match unsafe { Mmap::map(&file) } {
        Ok(map) => Ok(Content::Mapped(map)),
        // Some file systems cannot map.
        Err(_) => std::fs::read(path).map(Content::Read).map_err(failed),
    }
}
