//! What to say of a file in no format that is read.

use super::sog;
use super::source::{KNOWN_FORMATS, starts_as_json};
use crate::{DataError, foreign};
use splatcore_core::Choice;
use std::path::Path;

const CONVERT: &str =
    "convert it to .ply, .spz or .sog first, for example with PlayCanvas's splat-transform";

const CHECKPOINT: &str = "give the scene.ply beside it, which a run makes when it ends";

/// The error about a file in no known format: what it seems to be, and what to do.
pub fn format(bytes: &[u8], path: &Path) -> DataError {
    let (problem, remedy) = match bytes {
        [] => ("is empty", KNOWN_FORMATS),
        [b'g', b'l', b'T', b'F', ..] => ("seems to be binary glTF, a format not read yet", CONVERT),
        [b'R', b'I', b'F', b'F', ..] | [0xff, 0xd8, ..] | [0x89, b'P', b'N', b'G', ..] => {
            ("seems to be an image, not a scene", KNOWN_FORMATS)
        }
        _ if starts_as_json(bytes) => return json(bytes, path),
        _ if is_safetensors(bytes) => {
            return DataError::new(path, "seems to be a checkpoint, not a scene", CHECKPOINT)
                .depending_on(Choice::Resume);
        }
        _ if is_ksplat(bytes, path) => ("seems to be a .ksplat file, a format not read", CONVERT),
        _ if let Some(accident) = foreign::accident(bytes) => accident,
        _ => {
            let start = bytes[..bytes.len().min(8)].escape_ascii();
            let problem = format!("is in no known scene format (it starts with \"{start}\")");
            return DataError::new(path, problem, KNOWN_FORMATS);
        }
    };
    DataError::new(path, problem, remedy)
}

fn json(bytes: &[u8], path: &Path) -> DataError {
    let by_path = "give it by its path, or give its folder";
    let (problem, remedy) = if sog::is_lod(bytes) {
        let problem = "is the lod-meta.json of a streamed SOG, whose chunks are other files";
        (problem, by_path)
    } else if sog::is_meta(bytes) {
        let problem = "is the meta.json of an unbundled SOG, whose images are other files";
        (problem, by_path)
    } else {
        ("seems to be JSON, not a scene", KNOWN_FORMATS)
    };
    DataError::new(path, problem, remedy)
}

/// .ksplat has no magic number, only versions: 0.1 so far, in a header of 4096 bytes.
fn is_ksplat(bytes: &[u8], path: &Path) -> bool {
    let named = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("ksplat"));
    named && bytes.starts_with(&[0]) && bytes.len() >= 4096
}

/// A little-endian length and the JSON header of so many bytes.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    u64::from_le_bytes(*length) <= rest.len() as u64 && rest.starts_with(b"{\"")
}
