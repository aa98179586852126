//! Images as JPEG and PNG.

use super::strips;
use crate::protocol::{Codec, Header, Kind};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};

/// Quality while the camera moves: twice as many bytes buy little that is seen in motion.
const MOVING: u8 = 75;
/// Quality of photos, which are compared with renders.
const PHOTO: u8 = 90;

/// An image in motion, of bytes of r, g, b.
pub(super) fn jpeg(rgb: &[u8], width: u32, height: u32) -> Vec<u8> {
    strips::jpeg(rgb, width, height, MOVING)
}

/// An image without loss, quickly rather than small: the link is a loopback interface or waits for
/// nothing else.
pub(super) fn png(rgb: &[u8], width: u32, height: u32) -> Vec<u8> {
    png_with(rgb, [width, height], CompressionType::Fast, FilterType::Up)
}

/// An image without loss that is kept: smaller, and slower to make.
pub(super) fn small_png(rgb: &[u8], width: u32, height: u32) -> Vec<u8> {
    let filter = FilterType::Adaptive;
    png_with(rgb, [width, height], CompressionType::Default, filter)
}

fn png_with(
    rgb: &[u8],
    [width, height]: [u32; 2],
    compression: CompressionType,
    filter: FilterType,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, compression, filter);
    // Writing into memory cannot fail, and an image has as many pixels as it says.
    let _ = encoder.write_image(rgb, width, height, ExtendedColorType::Rgb8);
    bytes
}

/// A message with a photo: bytes of r, g, b, a pixel after the other. `as_taken` comes back as it
/// was asked.
pub fn photo(index: u32, as_taken: bool, rgb: &[u8], width: u32, height: u32) -> Vec<u8> {
    let header = Header {
        kind: Kind::Photo,
        seq: index,
        codec: Codec::Jpeg,
        width,
        height,
        render_us: 0,
        encode_us: 0,
        step: as_taken.into(),
    };
    let mut message = header.to_bytes().to_vec();
    message.extend(strips::jpeg(rgb, width, height, PHOTO));
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Image;

    #[test]
    fn images_decode_to_what_they_were() {
        let mut image = Image::filled(33, 17, [0.2, 0.5, 0.9]);
        image.data[5] = [1.0, 0.0, 0.0];
        let rgb = image.to_bytes();
        let back = image::load_from_memory(&png(&rgb, 33, 17)).unwrap();
        assert_eq!(back.into_rgb8().into_raw(), rgb);
        let back = image::load_from_memory(&jpeg(&rgb, 33, 17)).unwrap();
        let back = back.into_rgb8();
        assert_eq!(back.dimensions(), (33, 17));
        let pixel = back.get_pixel(20, 12).0;
        assert!(
            pixel[0].abs_diff(51) < 6 && pixel[2].abs_diff(230) < 6,
            "{pixel:?}"
        );
    }
}
