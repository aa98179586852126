//! Images: rendered (f32) and photographed (8 bit).

pub mod elsewhere;

use crate::Camera;
use crate::depth::{DepthMap, MapFacts};
use std::fmt;
use std::sync::Arc;

/// A linear array of f32 colours, `[height][width][3]`, row by row from the top left. Values are
/// those of the photos (sRGB-encoded, 0 to 1), as everywhere in Gaussian splatting.
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
        // Of a known length: collected at once, where `flatten` makes room again and again.
        let values = self.data.as_flattened().iter();
        values
            .map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
            .collect()
    }
}

/// A colour from 0 to 1 in 8 bits, rounded.
pub fn to_bytes(colour: [f32; 3]) -> [u8; 3] {
    colour.map(|v| (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
}

/// A photo as the trainer keeps it: 8 bits a channel, `[height][width][3]`. Where pixels are read
/// of a photo that may not hold them ([`Photo::elsewhere`]), [`Photo::held`] comes first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Photo {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `[height * width * 3]` bytes.
    pub rgb: Vec<u8>,
    /// `[height * width]`, nonzero where the pixel counts; `None` when all of them do.
    pub mask: Option<Vec<u8>>,
    /// `[height * width]`, how opaque the photo is, 0 to 255, where a colour is still to be put
    /// behind it ([`Photo::on`]): `rgb` stands on black then. `None` when it is opaque.
    pub alpha: Option<Vec<u8>>,
    /// What is known of its depths, if anything and if it is held ([`Photo::depths`]).
    pub depth: Option<Arc<DepthMap>>,
    /// Where its pixels and depths are if they are not held: then `rgb` is empty, and `mask` and
    /// `alpha` are `None`.
    pub elsewhere: Option<Box<Elsewhere>>,
}

impl Photo {
    /// One that covers all that is behind it, of which every pixel counts.
    pub fn opaque(width: u32, height: u32, rgb: Vec<u8>) -> Self {
        Self {
            width,
            height,
            rgb,
            ..Self::default()
        }
    }

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

    /// The photo on a colour, opaque: rgb + (1 - alpha) colour, rounded. All in integers, so that
    /// every backend gets the same bytes.
    pub fn on(&self, colour: [u8; 3]) -> Self {
        if let Some(elsewhere) = &self.elsewhere {
            return self.on_elsewhere(elsewhere, colour);
        }
        let mut rgb = self.rgb.clone();
        for (pixel, &alpha) in rgb.chunks_exact_mut(3).zip(self.alpha.iter().flatten()) {
            for (value, colour) in pixel.iter_mut().zip(colour) {
                let behind = (u32::from(255 - alpha) * u32::from(colour) + 127) / 255;
                *value = (u32::from(*value) + behind).min(255) as u8;
            }
        }
        Self {
            width: self.width,
            height: self.height,
            rgb,
            mask: self.mask.clone(),
            alpha: None,
            depth: self.depth.clone(),
            elsewhere: None,
        }
    }

    /// Bytes of pixels, mask and alpha, held or not.
    pub fn bytes(&self) -> usize {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.bytes;
        }
        let plane = |plane: &Option<Vec<u8>>| plane.as_ref().map_or(0, Vec::len);
        self.rgb.len() + plane(&self.mask) + plane(&self.alpha)
    }

    /// Pixels that count: all of them, or those with a nonzero mask.
    pub fn counted_pixels(&self) -> usize {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.counted;
        }
        match &self.mask {
            None => self.width as usize * self.height as usize,
            Some(mask) => mask.iter().filter(|&&m| m != 0).count(),
        }
    }
}

/// Pixels of a photo that are not held cannot be read, or are others than before: one line that
/// names the photo.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PhotoError(pub String);

/// Gives pixels of photos that are not held, the same at every call.
pub trait PhotoSource: fmt::Debug + Send + Sync {
    /// The pixels of a photo, with its mask and alpha, without depths. Waits until they are there.
    ///
    /// # Errors
    /// One line that names the photo and says what is wrong with it.
    fn pixels(&self, index: usize) -> Result<Arc<Photo>, String>;

    /// What is known of the depths of a photo of which something is. Waits until it is there.
    ///
    /// # Errors
    /// As [`PhotoSource::pixels`].
    fn depths(&self, index: usize) -> Result<Arc<DepthMap>, String>;

    /// Which photos are asked for next, with their depths or without: `now` at once, then `next`,
    /// in this order. The source may get them ready, and may forget all others.
    fn expect(&self, now: &[usize], next: &[usize], depths: bool);
}

/// What is known of a photo whose pixels are not held.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Gives the pixels.
    pub source: Arc<dyn PhotoSource>,
    /// The photo's number there.
    pub index: usize,
    /// Bytes of pixels, mask and alpha.
    pub bytes: usize,
    /// Pixels that count.
    pub counted: usize,
    /// Whether there is a mask.
    pub masked: bool,
    /// Whether there is an alpha.
    pub transparent: bool,
    /// [`Photo::fingerprint`].
    pub fingerprint: u64,
    /// The colour that is behind what the source gives ([`Photo::on`]).
    pub behind: Option<[u8; 3]>,
    /// Of the depths that the source gives, if there are any.
    pub depth: Option<MapFacts>,
}

impl PartialEq for Elsewhere {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index && self.fingerprint == other.fingerprint
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
