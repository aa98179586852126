//! What to say of a file in no format that is read.

use super::sog;
use super::source::{KNOWN_FORMATS, starts_as_json};
use crate::{DataError, foreign};
use serde::de::IgnoredAny;
use splatcore_core::Choice;
use std::path::Path;

const CHECKPOINT: &str = "give the scene.ply beside it, which a run makes when it ends";

/// The error about a file in no known format: what it seems to be, and what to do.
pub fn format(bytes: &[u8], path: &Path) -> DataError {
    let (problem, remedy) = match bytes {
        [] => ("is empty", KNOWN_FORMATS),
        [b'R', b'I', b'F', b'F', ..] | [0xff, 0xd8, ..] | [0x89, b'P', b'N', b'G', ..] => {
            ("seems to be an image, not a scene", KNOWN_FORMATS)
        }
        _ if starts_as_json(bytes) => return json(bytes, path),
        _ if is_safetensors(bytes) => {
            return DataError::new(path, "seems to be a checkpoint, not a scene", CHECKPOINT)
                .depending_on(Choice::Resume);
        }
        _ if bytes.starts_with(b"#usda") || bytes.starts_with(b"PXR-USDC") => return usd(path),
        _ if let Some(accident) = foreign::accident(bytes) => accident,
        _ => {
            let start = bytes[..bytes.len().min(8)].escape_ascii();
            let problem = format!("is in no known scene format (it starts with \"{start}\")");
            return DataError::new(path, problem, KNOWN_FORMATS);
        }
    };
    DataError::new(path, problem, remedy)
}

/// The error about any file of USD.
pub fn usd(path: &Path) -> DataError {
    let remedy = "give the file that it was made from, for example a .ply";
    DataError::new(path, "is USD, which is written but not read", remedy)
}

/// Whether the first file of a zip archive is a layer of USD.
pub fn is_usdz(bytes: &[u8]) -> bool {
    // A name's length stands at byte 26 of its header, the name at byte 30.
    let Some(&[low, high]) = bytes.get(26..28).and_then(|b| b.as_array()) else {
        return false;
    };
    let length = usize::from(u16::from_le_bytes([low, high]));
    let name = bytes.get(30..30 + length).unwrap_or_default();
    let endings: [&[u8]; 3] = [b".usda", b".usdc", b".usd"];
    bytes.starts_with(b"PK\x03\x04") && endings.iter().any(|ending| name.ends_with(ending))
}

fn json(bytes: &[u8], path: &Path) -> DataError {
    let by_path = "give it by its path, or give its folder";
    let (problem, remedy) = if sog::is_lod(bytes) {
        let problem = "is the lod-meta.json of a streamed SOG, whose chunks are other files";
        (problem, by_path)
    } else if sog::is_meta(bytes) {
        let problem = "is the meta.json of an unbundled SOG, whose images are other files";
        (problem, by_path)
    } else if is_gltf(bytes) {
        let problem = "is glTF as text, of which only the binary form is read";
        (problem, "export it again as one .glb file")
    } else if let Err(error) = serde_json::from_slice::<IgnoredAny>(sog::plain(bytes)) {
        let problem = format!("is JSON that is cut short or damaged ({error})");
        return DataError::new(path, problem, "get or export it again");
    } else {
        ("seems to be JSON, not a scene", KNOWN_FORMATS)
    };
    DataError::new(path, problem, remedy)
}

/// A document with the one part that glTF requires, and meshes.
fn is_gltf(text: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Gltf {
        #[serde(rename = "asset")]
        _asset: IgnoredAny,
        #[serde(rename = "meshes")]
        _meshes: IgnoredAny,
    }
    serde_json::from_slice::<Gltf>(text).is_ok()
}

/// A little-endian length and the JSON header of so many bytes.
fn is_safetensors(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    u64::from_le_bytes(*length) <= rest.len() as u64 && rest.starts_with(b"{\"")
}
