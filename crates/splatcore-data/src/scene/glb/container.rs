//! The chunks of a .glb file.

use super::wrong::Wrong;

/// Bytes of the file's header, and of a chunk's.
const HEADER: usize = 12;
const CHUNK: usize = 8;
const JSON: [u8; 4] = *b"JSON";
const BINARY: [u8; 4] = *b"BIN\0";
/// The JSON of splats takes some kilobytes; that of a large scene some megabytes.
const LONGEST_JSON: usize = 64 << 20;

/// The JSON, and the first binary chunk if there is one.
pub fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Wrong> {
    let words = bytes.as_chunks::<4>().0;
    let [magic, version, length, ..] = words else {
        return Err(Wrong::new("", "ends within the header of binary glTF"));
    };
    if magic != b"glTF" {
        return Err(Wrong::new("", "does not begin as binary glTF"));
    }
    let version = u32::from_le_bytes(*version);
    if version != 2 {
        return Err(Wrong::new(
            "",
            format!("is binary glTF {version}; only 2 is read"),
        ));
    }
    let declared = u32::from_le_bytes(*length) as usize;
    let Some(chunks) = bytes.get(HEADER..declared) else {
        let found = bytes.len();
        let problem = format!("declares {declared} bytes and has {found}");
        return Err(Wrong::new("", problem));
    };
    let first = chunk(chunks)?;
    let json = first.content;
    if first.kind != JSON {
        return Err(Wrong::new("", "its first chunk is not JSON"));
    }
    if json.len() > LONGEST_JSON {
        let problem = format!("its JSON has {} bytes, more than any scene's", json.len());
        return Err(Wrong::new("", problem));
    }
    if first.rest.is_empty() {
        return Ok((json, None));
    }
    let second = chunk(first.rest)?;
    Ok((json, (second.kind == BINARY).then_some(second.content)))
}

/// A chunk, and what follows it.
struct Chunk<'a> {
    kind: [u8; 4],
    content: &'a [u8],
    rest: &'a [u8],
}

fn chunk(bytes: &[u8]) -> Result<Chunk<'_>, Wrong> {
    let Some((&[a, b, c, d, e, f, g, h], rest)) = bytes.split_first_chunk::<CHUNK>() else {
        return Err(Wrong::new("", "ends within the header of a chunk"));
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    match rest.split_at_checked(length) {
        Some((content, rest)) => Ok(Chunk {
            kind: [e, f, g, h],
            content,
            rest,
        }),
        None => {
            let found = rest.len();
            let problem = format!("a chunk declares {length} bytes and has {found}");
            Err(Wrong::new("", problem))
        }
    }
}
