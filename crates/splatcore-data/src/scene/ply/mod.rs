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
use crate::DataError;
use header::{Encoding, Header};
use layout::Layout;
use std::path::Path;

/// Reads a scene from the bytes of a PLY file; `path` is for messages only.
///
/// # Errors
/// If the header is broken, holds no Gaussians or declares more than the file holds, or if a value
/// is missing or is no number.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let header = Header::parse(bytes, path)?;
    let mut notes = Vec::new();
    if compressed::is_compressed(&header) {
        let gaussians = compressed::decode(bytes, &header, &mut notes, path)?;
        let format = "compressed PLY".into();
        return Ok(SceneFile::checked(
            gaussians,
            format,
            bytes.len() as u64,
            notes,
            header.antialiased,
        ));
    }
    let layout = Layout::find(&header, path)?;
    let gaussians = match header.encoding {
        Encoding::Ascii => ascii::decode(bytes, &header, &layout, path)?,
        Encoding::Little | Encoding::Big => {
            binary::decode(bytes, &header, &layout, &mut notes, path)?
        }
    };
    let format = format!("PLY, {}", header.encoding.name());
    Ok(SceneFile::checked(
        gaussians,
        format,
        bytes.len() as u64,
        notes,
        header.antialiased,
    ))
}
