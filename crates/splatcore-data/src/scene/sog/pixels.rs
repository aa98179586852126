//! The images: fetched, their sizes checked against meta.json before memory is taken, decoded.

use super::files::Files;
use super::meta::{CENTROIDS, Meta, PALETTE_ROW};
use crate::words::one_line;
use crate::{DataError, picture};
use image::{ColorType, ImageDecoder, ImageFormat, Limits};

/// Pixels beyond those of its Gaussians that an image may have: the next power of two of both sides
/// is usual.
const MAX_PADDING: usize = 4;
/// Such pixels of a small image.
const ALWAYS_PADDED: usize = 1 << 16;
/// The palette has at most 65,536 entries.
const HIGHEST_PALETTE: usize = (1 << 16) / PALETTE_ROW;
/// Bytes of a file, beyond what its pixels take.
const ALWAYS_READ: u64 = 1 << 20;
/// Bytes a pixel: incompressible ones take their own four and a little.
const MAX_PIXEL: u64 = 5;
/// Pixels of a palette of degree 3.
const MAX_PALETTE: u64 = (HIGHEST_PALETTE * PALETTE_ROW * 15) as u64;

/// One image before decoding.
pub struct Image<'a> {
    pub name: &'a str,
    pub bytes: Vec<u8>,
    pub width: usize,
    height: usize,
    /// 3 or 4.
    channels: usize,
}

/// Reads all images of a scene and checks that they hold what meta.json declares.
pub fn fetch<'a>(meta: &'a Meta, files: &mut Files) -> Result<Vec<Image<'a>>, DataError> {
    let mut images = Vec::with_capacity(meta.files.len());
    for (which, name) in meta.files.iter().enumerate() {
        let pixels = match which {
            CENTROIDS => MAX_PALETTE,
            _ => meta.count as u64,
        };
        let bytes = files.read(name, MAX_PIXEL * pixels + ALWAYS_READ)?;
        let image = Image::open(name, bytes).map_err(|problem| files.error(name, problem))?;
        let (width, height) = (image.width, image.height);
        let problem = match which {
            CENTROIDS => {
                let higher = meta.higher.as_ref();
                let palette = higher.and_then(|higher| higher.palette).unwrap_or(1);
                (height > HIGHEST_PALETTE || height * PALETTE_ROW < palette).then(|| {
                    format!("is {height} rows high, which do not make a palette of {palette}")
                })
            }
            _ => {
                let pixels = width * height;
                let most = MAX_PADDING * meta.count + ALWAYS_PADDED;
                let fits = (meta.count..=most).contains(&pixels);
                (!fits).then(|| format!("is {width}x{height} pixels for {} Gaussians", meta.count))
            }
        };
        match problem {
            Some(problem) => return Err(files.error(name, problem)),
            None => images.push(image),
        }
    }
    Ok(images)
}

impl<'a> Image<'a> {
    fn open(name: &'a str, bytes: Vec<u8>) -> Result<Self, String> {
        let decoder = decoder(&bytes)?;
        let (width, height) = decoder.dimensions();
        let channels = match decoder.color_type() {
            ColorType::Rgb8 => 3,
            ColorType::Rgba8 => 4,
            other => return Err(format!("holds {other:?} pixels in place of Rgb8 or Rgba8")),
        };
        drop(decoder);
        Ok(Self {
            name,
            bytes,
            width: width as usize,
            height: height as usize,
            channels,
        })
    }

    /// Bytes of the decoded pixels.
    pub fn unpacked(&self) -> usize {
        self.width * self.height * self.channels
    }

    /// Decodes into [`Image::unpacked`] bytes; an error comes with the image's name.
    pub fn decode(&self, pixels: &mut [u8]) -> Result<(), (&'a str, String)> {
        let broken = |problem| (self.name, problem);
        let mut decoder = decoder(&self.bytes).map_err(broken)?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(2 * pixels.len() as u64 + ALWAYS_READ);
        decoder
            .set_limits(limits)
            .map_err(|e| broken(described(&e)))?;
        decoder
            .read_image(pixels)
            .map_err(|e| broken(described(&e)))
    }

    /// Whether this is a WebP that does not give back the bytes that were put in.
    pub fn is_lossy(&self) -> bool {
        let Some(mut rest) = self
            .bytes
            .strip_prefix(b"RIFF")
            .and_then(|rest| rest.get(8..))
        else {
            return false;
        };
        while let [a, b, c, d, s0, s1, s2, s3, data @ ..] = rest {
            match &[*a, *b, *c, *d] {
                b"VP8 " => return true,
                b"VP8L" => return false,
                _ => {}
            }
            let size = u32::from_le_bytes([*s0, *s1, *s2, *s3]) as usize;
            // Chunks are padded to even sizes.
            let Some(next) = size.checked_add(size & 1).and_then(|size| data.get(size..)) else {
                return false;
            };
            rest = next;
        }
        false
    }
}

fn decoder(bytes: &[u8]) -> Result<impl ImageDecoder + '_, String> {
    let reader = picture::of_bytes(bytes).map_err(|e| described(&e))?;
    match reader.format() {
        // The format allows any lossless 8-bit format; these two are seen.
        Some(ImageFormat::WebP | ImageFormat::Png) => {
            reader.into_decoder().map_err(|e| described(&e))
        }
        _ => Err("is neither a WebP nor a PNG image".into()),
    }
}

fn described(error: &dyn std::fmt::Display) -> String {
    format!("cannot be decoded ({})", one_line(error))
}

/// The decoded images, in the order of [`Meta::files`].
pub struct Pixels<'a> {
    images: Vec<(&'a [u8], usize)>,
}

impl<'a> Pixels<'a> {
    pub fn new(images: &[Image], pixels: &'a [Vec<u8>]) -> Self {
        let images = images.iter().zip(pixels);
        Self {
            images: images
                .map(|(image, pixels)| (&pixels[..], image.channels))
                .collect(),
        }
    }

    /// The number of pixels of an image.
    pub fn count(&self, which: usize) -> usize {
        let (bytes, channels) = self.images[which];
        bytes.len() / channels
    }

    /// Red, green, blue and alpha of pixel `i` of an image; an image without alpha is opaque.
    #[inline]
    pub fn get(&self, which: usize, i: usize) -> [u8; 4] {
        let (bytes, channels) = self.images[which];
        match bytes[i * channels..(i + 1) * channels] {
            [r, g, b, a] => [r, g, b, a],
            [r, g, b, ..] => [r, g, b, 255],
            _ => [0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_told_from_the_chunks() {
        let image = |chunks: &[(&[u8; 4], usize)]| {
            let mut bytes = b"RIFF\0\0\0\0WEBP".to_vec();
            for (name, size) in chunks {
                bytes.extend(*name);
                bytes.extend((*size as u32).to_le_bytes());
                bytes.resize(bytes.len() + size + size % 2, 7);
            }
            Image {
                name: "a",
                bytes,
                width: 1,
                height: 1,
                channels: 4,
            }
        };
        assert!(image(&[(b"VP8 ", 4)]).is_lossy());
        assert!(!image(&[(b"VP8L", 4)]).is_lossy());
        assert!(image(&[(b"VP8X", 10), (b"ALPH", 3), (b"VP8 ", 4)]).is_lossy());
        assert!(!image(&[(b"VP8X", 10), (b"ICCP", 3), (b"VP8L", 4), (b"VP8 ", 4)]).is_lossy());
        assert!(!image(&[]).is_lossy());
    }
}
