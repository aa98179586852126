//! What ranks tell each other, as bytes: a kind, a length, the content.

use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::TcpStream;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Who a rank is, as JSON.
    Hello = 1,
    /// Something that rank 0 gives to all.
    Shared = 2,
    /// Something that all must have, given to rank 0.
    Same = 3,
    /// It is the same.
    Agreed = 4,
    /// What happens after a step.
    Decision = 5,
    /// A rank lives, and its step.
    Alive = 6,
    /// Why a rank ends.
    Failed = 7,
    /// A rank ends as it should.
    Done = 8,
    /// Where the run ends.
    End = 9,
    /// What a rank says of itself when the training is over, as JSON.
    Account = 10,
}

const KINDS: [Kind; 10] = [
    Kind::Hello,
    Kind::Shared,
    Kind::Same,
    Kind::Agreed,
    Kind::Decision,
    Kind::Alive,
    Kind::Failed,
    Kind::Done,
    Kind::End,
    Kind::Account,
];

/// More than settings ever have: what is longer was not sent by a rank.
const MAX_BYTES: usize = 1 << 20;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// Its content.
    pub content: Vec<u8>,
}

impl Frame {
    /// The content as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }
}

/// Writes a frame in one piece.
pub fn write(mut to: &TcpStream, kind: Kind, content: &[u8]) -> Result<()> {
    let mut bytes = Vec::with_capacity(5 + content.len());
    bytes.push(kind as u8);
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes.extend(content);
    Ok(to.write_all(&bytes)?)
}

/// Reads a frame; `None` where the other side has ended.
pub fn read(from: &mut impl Read) -> Result<Option<Frame>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let kind = KINDS.into_iter().find(|&kind| kind as u8 == head[0]);
    let bytes = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if bytes > MAX_BYTES {
        bail!("{bytes} bytes that no rank of splatcore sends");
    }
    let mut content = vec![0; bytes];
    from.read_exact(&mut content)?;
    let kind = kind.context("something that no rank of splatcore sends")?;
    Ok(Some(Frame { kind, content }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_rank_sends_is_refused() {
        assert_eq!(read(&mut &[][..]).unwrap(), None);
        let alive = [6, 4, 0, 0, 0, 1, 0, 0, 0];
        let frame = read(&mut &alive[..]).unwrap().unwrap();
        assert_eq!(
            (frame.kind, &frame.content[..]),
            (Kind::Alive, &[1, 0, 0, 0][..])
        );
        assert!(read(&mut &alive[..7]).is_err());
        for bytes in [[0u8, 0, 0, 0, 0], [11, 0, 0, 0, 0], [1, 255, 255, 255, 255]] {
            assert!(read(&mut &bytes[..]).is_err());
        }
        assert!(read(&mut &b"GET / HTTP/1.1\r\n\r\n"[..]).is_err());
    }
}
