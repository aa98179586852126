//! PLY: the format of INRIA's 3DGS, and what other programs make of it.
//!
//! Read: binary of both byte orders and ascii, any scalar type, any property order, SH degree 0 to
//! 3; unknown properties and elements, lists too, are skipped. Written: INRIA's own layout.
//! PlayCanvas's compressed PLY is read (`compressed`) and written (`write_compressed`). A scene
//! trained with Mip-Splatting's 2D filter is known by a comment, read and written.
//!
//! The format: Greg Turk, "The PLY Polygon File Format", 1994. The properties: Kerbl et al., "3D
//! Gaussian Splatting", 2023, `GaussianModel.save_ply`.

mod ascii;
pub(crate) mod binary;
mod compressed;
pub(crate) mod header;
mod layout;
mod rows;
mod write;
mod write_compressed;

pub(super) use rows::open;
pub use write::{write, write_ply};
pub use write_compressed::write as write_compressed;

use super::scene_file::SceneFile;
use super::source::{Bytes, Source};
use crate::DataError;
use header::{Encoding, Header};
use layout::Layout;
use std::path::Path;

/// Bytes that [`is_ply`] looks at.
pub(super) const MAGIC: usize = 4;

/// Whether a file that begins so is a PLY.
pub(super) fn is_ply(bytes: &[u8]) -> bool {
    matches!(bytes, [b'p', b'l', b'y', b'\n' | b'\r' | b' ', ..])
}

/// Reads a scene from the bytes of a PLY file; `path` is for messages only.
///
/// # Errors
/// If the header is broken, holds no Gaussians or declares more than the file holds, or if a value
/// is missing or is no number.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let header = Header::parse(bytes, path)?;
    decode(Bytes::Memory(bytes), &header, path)
}

/// Reads a scene from a PLY file; of a plain binary one a piece at a time.
///
/// # Errors
/// As [`parse`], and if the file cannot be read.
pub(super) fn read(source: &Source, path: &Path) -> Result<SceneFile, DataError> {
    let header = Header::parse(&source.head(header::LONGEST)?, path)?;
    match is_plain(&header, path)? {
        true => decode(Bytes::File(source), &header, path),
        false => decode(Bytes::Memory(&source.read()?), &header, path),
    }
}

/// Whether the rows of a file can be read one by one: it is binary, without lists, not compressed.
fn is_plain(header: &Header, path: &Path) -> Result<bool, DataError> {
    if compressed::is_compressed(header) || header.encoding == Encoding::Ascii {
        return Ok(false);
    }
    Ok(!header.has_lists(Layout::find(header, path)?.element))
}

/// Decodes a file: all of it is in memory, unless it [`is_plain`].
fn decode(bytes: Bytes<'_>, header: &Header, path: &Path) -> Result<SceneFile, DataError> {
    let mut notes = Vec::new();
    let (gaussians, format) = if compressed::is_compressed(header) {
        let gaussians = compressed::decode(bytes.in_memory(), header, &mut notes, path)?;
        (gaussians, "compressed PLY".into())
    } else {
        let layout = Layout::find(header, path)?;
        let gaussians = match header.encoding {
            Encoding::Ascii => ascii::decode(bytes.in_memory(), header, &layout, path)?,
            Encoding::Little | Encoding::Big => {
                binary::decode(bytes, header, &layout, &mut notes, path)?
            }
        };
        (gaussians, format!("PLY, {}", header.encoding.name()))
    };
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes.len(),
        notes,
        header.antialiased,
    ))
}
