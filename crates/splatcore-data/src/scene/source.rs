//! The bytes of a scene file, and what messages say of files.

use crate::DataError;
use memmap2::Mmap;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

/// The remedy that ends most errors about a file of the wrong kind.
pub(super) const KNOWN_FORMATS: &str = "give a Gaussian .ply, .spz, .sog, .splat, .ksplat or \
                                        .glb file, or the folder of an unbundled SOG (with \
                                        meta.json)";

/// Whether the text begins with a brace, behind a byte order mark and blanks.
pub(super) fn starts_as_json(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

/// A file's bytes.
pub(super) enum Content {
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

/// Opens a file that is not empty.
pub(super) fn open(path: &Path) -> Result<Content, DataError> {
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
