//! The 32 bytes before an image.

/// Bytes of a [`Header`].
pub const BYTES: usize = 32;

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rendered view.
    Frame = 1,
    /// A photo of the dataset; `seq` is its index.
    Photo = 2,
    /// A picture to keep.
    Picture = 3,
}

/// How an image is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// With loss.
    Jpeg = 1,
    /// Without.
    Png = 2,
}

/// Eight little-endian u32 in this order: kind, seq, codec, width, height, microseconds of
/// rendering, microseconds of encoding, training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What follows.
    pub kind: Kind,
    /// The request's.
    pub seq: u32,
    /// How it is encoded.
    pub codec: Codec,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Time of rendering, us.
    pub render_us: u32,
    /// Time of encoding, us.
    pub encode_us: u32,
    /// Training steps taken; 0 for a finished scene.
    pub step: u32,
}

impl Header {
    /// The header's bytes.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let words = [
            self.kind as u32,
            self.seq,
            self.codec as u32,
            self.width,
            self.height,
            self.render_us,
            self.encode_us,
            self.step,
        ];
        let mut bytes = [0; BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
