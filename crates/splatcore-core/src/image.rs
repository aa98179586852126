//! Images: rendered (f32) and photographed (8 bit).

use crate::Camera;

/// A linear array of f32 colours, `[height][width][3]`, row by row from the top left. Values are those of the
/// photos (sRGB-encoded, 0 to 1), as everywhere in Gaussian splatting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `[height * width]` of r, g, b.
    pub data: Vec<[f32; 3]>,
}

impl Image {
    /// An image of one colour.
    pub fn filled(width: u32, height: u32, colour: [f32; 3]) -> Self {
        Self {
            width,
            height,
            data: vec![colour; width as usize * height as usize],
        }
    }

    /// Values clamped to [0, 1] and rounded to 8 bits, `[height][width][3]`.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.data
            .iter()
            .flatten()
            .map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
            .collect()
    }
}

/// A photo as the trainer keeps it: 8 bits a channel, `[height][width][3]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Photo {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `[height * width * 3]` bytes.
    pub rgb: Vec<u8>,
    /// `[height * width]`, nonzero where the pixel counts; `None` when all of them do.
    pub mask: Option<Vec<u8>>,
}

impl Photo {
    /// The photo as f32 colours in [0, 1].
    pub fn to_image(&self) -> Image {
        let data = self
            .rgb
            .chunks_exact(3)
            .map(|c| [c[0], c[1], c[2]].map(|v| v as f32 / 255.0))
            .collect();
        Image {
            width: self.width,
            height: self.height,
            data,
        }
    }

    /// Pixels that count: all of them, or those with a nonzero mask.
    pub fn counted_pixels(&self) -> usize {
        match &self.mask {
            None => self.width as usize * self.height as usize,
            Some(mask) => mask.iter().filter(|&&m| m != 0).count(),
        }
    }
}

/// One photo with its camera. The camera's size equals the photo's.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// File name relative to the image folder, as the dataset spells it.
    pub name: String,
    /// Pinhole camera of the photo at its present size.
    pub camera: Camera,
    /// The pixels.
    pub photo: Photo,
}
