//! Bytes behind buffer views.

use super::document::{Buffer, Document};
use super::wrong::Wrong;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

const ONE_FILE: &str = "export it again as one .glb file that holds all of its buffers";

/// The buffers of a file.
pub struct Buffers<'a> {
    document: &'a Document,
    held: Vec<Held<'a>>,
}

enum Held<'a> {
    Bytes(Cow<'a, [u8]>),
    /// In another file, which is no harm while nothing is read from it.
    Elsewhere,
}

impl<'a> Buffers<'a> {
    /// `binary` is the content of the binary chunk.
    pub fn new(document: &'a Document, binary: Option<&'a [u8]>) -> Result<Self, Wrong> {
        let held = document.buffers.iter().enumerate().map(|(i, buffer)| {
            let held = hold(buffer, binary.filter(|_| i == 0));
            held.map_err(|problem| Wrong::new(format!("buffer {i}"), problem))
        });
        Ok(Self {
            document,
            held: held.collect::<Result<_, _>>()?,
        })
    }

    /// The bytes of a view, and their stride if it has one.
    pub fn view(&self, index: u32) -> Result<(&[u8], Option<u64>), Wrong> {
        let place = format!("buffer view {index}");
        let Some(view) = self.document.buffer_views.get(index as usize) else {
            return Err(Wrong::new(place, "is named but does not exist"));
        };
        let bytes = match self.held.get(view.buffer as usize) {
            Some(Held::Bytes(bytes)) => bytes,
            Some(Held::Elsewhere) => {
                let problem = format!("buffer {} is another file, which is not read", view.buffer);
                return Err(Wrong::with(place, problem, ONE_FILE));
            }
            None => {
                let problem = format!("names buffer {}, which does not exist", view.buffer);
                return Err(Wrong::new(place, problem));
            }
        };
        let end = view.byte_offset.checked_add(view.byte_length);
        let inside = end.and_then(|end| bytes.get(view.byte_offset as usize..end as usize));
        let inside = inside.ok_or_else(|| {
            let (length, offset) = (view.byte_length, view.byte_offset);
            let found = bytes.len();
            let problem = format!("wants {length} bytes from byte {offset} of a buffer of {found}");
            Wrong::new(place, problem)
        })?;
        Ok((inside, view.byte_stride))
    }
}

fn hold<'a>(buffer: &Buffer, binary: Option<&'a [u8]>) -> Result<Held<'a>, String> {
    let bytes = match &buffer.uri {
        None => Cow::Borrowed(binary.ok_or("has neither a URI nor the binary chunk")?),
        Some(uri) => match uri.strip_prefix("data:") {
            None => return Ok(Held::Elsewhere),
            Some(data) => {
                let (_, text) = data.split_once(";base64,").ok_or("its URI is no base64")?;
                let bytes = STANDARD.decode(text);
                Cow::Owned(bytes.map_err(|_| "its URI is no base64")?)
            }
        },
    };
    // The chunk is padded, and so longer.
    match bytes.len() as u64 >= buffer.byte_length {
        true => Ok(Held::Bytes(bytes)),
        false => {
            let (declared, found) = (buffer.byte_length, bytes.len());
            Err(format!("declares {declared} bytes and has {found}"))
        }
    }
}
