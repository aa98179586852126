//! Which of the programs that are run are there.

use super::{colmap::Colmap, pycolmap};
use crate::child::{self, Call, on_path};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that may be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    /// `COLMAP`, `pycolmap` or `ffmpeg`.
    pub name: &'static str,
    /// Its version, if it is there and says one.
    pub version: Option<String>,
    /// Its file, or the Python that has it; `None` if it is not there.
    pub path: Option<PathBuf>,
    /// It was built with CUDA.
    pub cuda: bool,
}

/// Looks for the programs that finding poses runs: COLMAP, pycolmap and ffmpeg.
pub fn installed() -> Vec<Installed> {
    let none = |name| Installed {
        name,
        version: None,
        path: None,
        cuda: false,
    };
    let colmap = on_path("colmap").map(|path| {
        let (version, cuda) = Colmap::version(&path).unzip();
        Installed {
            version,
            path: Some(path),
            cuda: cuda.unwrap_or(false),
            ..none("COLMAP")
        }
    });
    let pycolmap = ["python3", "python"].into_iter().find_map(|name| {
        let path = on_path(name)?;
        let found = pycolmap::probe(&path).ok()?;
        Some(Installed {
            version: Some(found.version),
            path: Some(path),
            cuda: found.cuda,
            ..none("pycolmap")
        })
    });
    let ffmpeg = on_path("ffmpeg").map(|path| Installed {
        version: ffmpeg_version(&path),
        path: Some(path),
        ..none("ffmpeg")
    });
    vec![
        colmap.unwrap_or_else(|| none("COLMAP")),
        pycolmap.unwrap_or_else(|| none("pycolmap")),
        ffmpeg.unwrap_or_else(|| none("ffmpeg")),
    ]
}

/// The third word of `ffmpeg version 6.1 Copyright ...`.
fn ffmpeg_version(path: &Path) -> Option<String> {
    let call = Call::new(path).arg("-version");
    let (_, text) = child::output(&call, Duration::from_secs(20)).ok()?;
    let rest = text.lines().next()?.strip_prefix("ffmpeg version ")?;
    rest.split_whitespace().next().map(str::to_owned)
}
