//! Images as JPEG and PNG.

use crate::protocol::{Codec, Header, Kind};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use splatcore_core::Image;

/// Quality while the camera moves: twice as many bytes buy little that is seen in motion.
const MOVING: u8 = 75;
/// Quality of photos, which are compared with renders.
const PHOTO: u8 = 90;

/// An image in motion.
pub fn jpeg(image: &Image) -> Vec<u8> {
    encode(&image.to_bytes(), image.width, image.height, MOVING)
}

/// An image without loss, quickly rather than small: the link is a loopback interface or waits for
/// nothing else.
pub(super) fn png(image: &Image) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Up);
    let (width, height) = (image.width, image.height);
    // Writing into memory cannot fail, and an image has as many pixels as it says.
    let _ = encoder.write_image(&image.to_bytes(), width, height, ExtendedColorType::Rgb8);
    bytes
}

/// A message with a photo: bytes of r, g, b, a pixel after the other.
pub fn photo(index: u32, rgb: &[u8], width: u32, height: u32) -> Vec<u8> {
    let header = Header {
        kind: Kind::Photo,
        seq: index,
        codec: Codec::Jpeg,
        width,
        height,
        render_us: 0,
        encode_us: 0,
        step: 0,
    };
    let mut message = header.to_bytes().to_vec();
    message.extend(encode(rgb, width, height, PHOTO));
    message
}

/// Sides are at most 4096, below JPEG's 65535.
fn encode(rgb: &[u8], width: u32, height: u32, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    // Writing into memory cannot fail.
    let _ = encoder.encode(rgb, width as u16, height as u16, ColorType::Rgb);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_decode_to_what_they_were() {
        let mut image = Image::filled(33, 17, [0.2, 0.5, 0.9]);
        image.data[5] = [1.0, 0.0, 0.0];
        let back = image::load_from_memory(&png(&image)).unwrap().into_rgb8();
        assert_eq!(back.into_raw(), image.to_bytes());
        let back = image::load_from_memory(&jpeg(&image)).unwrap().into_rgb8();
        assert_eq!(back.dimensions(), (33, 17));
        let pixel = back.get_pixel(20, 12).0;
        assert!(
            pixel[0].abs_diff(51) < 6 && pixel[2].abs_diff(230) < 6,
            "{pixel:?}"
        );
    }
}
