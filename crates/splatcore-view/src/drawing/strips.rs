//! A JPEG by several threads.
//!
//! JPEG has restart markers: behind one, decoding starts as at the beginning of an image (ITU-T
//! T.81, sections B.2.1 and F.1.1.5.1). So threads encode strips of the image as images of their
//! own, and the compressed rows of all of them stand in one file, a marker between two.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use rayon::prelude::*;

/// Side of the blocks that are compressed together, pixels: colours have half of the resolution.
const BLOCK: usize = 16;
/// Strips have at least so many rows: below, threads cost more than they save.
const MIN_ROWS: usize = 64;
/// Codes of markers: each stands behind a byte 0xff.
const SOF0: u8 = 0xc0;
const RST0: u8 = 0xd0;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DRI: u8 = 0xdd;

/// Encodes bytes of r, g, b, a pixel after the other; sides are at most 4096, below JPEG's 65535.
pub(super) fn jpeg(rgb: &[u8], width: u32, height: u32, quality: u8) -> Vec<u8> {
    let threads = rayon::current_num_threads();
    in_strips(rgb, width, height, quality, threads)
}

/// As [`jpeg`], in at most so many strips.
fn in_strips(rgb: &[u8], width: u32, height: u32, quality: u8, most: usize) -> Vec<u8> {
    let rows = (height as usize).div_ceil(most.max(1)).max(MIN_ROWS);
    let rows = rows.next_multiple_of(BLOCK);
    let row = 3 * width as usize;
    let strips: Vec<Vec<u8>> = rgb
        .par_chunks(rows * row)
        .map(|strip| encode(strip, width, (strip.len() / row) as u32, quality))
        .collect();
    match &strips[..] {
        [_, _, ..] => joined(&strips, width as usize, height, rows).unwrap_or_default(),
        _ => strips.into_iter().next().unwrap_or_default(),
    }
}

fn encode(rgb: &[u8], width: u32, height: u32, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    // Writing into memory cannot fail.
    let _ = encoder.encode(rgb, width as u16, height as u16, ColorType::Rgb);
    bytes
}

/// One image of strips of so many rows, the last of which may have fewer.
fn joined(strips: &[Vec<u8>], width: usize, height: u32, rows: usize) -> Option<Vec<u8>> {
    let first = strips.first()?;
    let (frame, scan) = (segment(first, SOF0)?, segment(first, SOS)?);
    let mut bytes = first[..scan].to_vec();
    // Behind the marker: two bytes of length, one of precision, two of height.
    bytes[frame + 5..frame + 7].copy_from_slice(&(height as u16).to_be_bytes());
    let interval = (width.div_ceil(BLOCK) * rows / BLOCK) as u16;
    bytes.extend([0xff, DRI, 0, 4]);
    bytes.extend(interval.to_be_bytes());
    bytes.extend(&first[scan..rows_of(first)?]);
    for (strip, marker) in strips.iter().zip((0..8).cycle()) {
        let begin = rows_of(strip)?;
        // Without the end of the image.
        bytes.extend(&strip[begin..strip.len().checked_sub(2)?]);
        bytes.extend([0xff, RST0 + marker]);
    }
    // In place of the last restart.
    *bytes.last_mut()? = EOI;
    Some(bytes)
}

/// Where the compressed rows begin.
fn rows_of(image: &[u8]) -> Option<usize> {
    let scan = segment(image, SOS)?;
    Some(scan + 2 + length(image, scan)?)
}

/// Where the first segment with a code begins.
fn segment(image: &[u8], code: u8) -> Option<usize> {
    // Behind the start of the image.
    let mut at = 2;
    loop {
        match image.get(at..at + 2)? {
            [0xff, found] if *found == code => return Some(at),
            [0xff, _] => at += 2 + length(image, at)?,
            _ => return None,
        }
    }
}

/// The length that a segment states, without its marker.
fn length(image: &[u8], segment: usize) -> Option<usize> {
    let bytes = image.get(segment + 2..segment + 4)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strips begin at whole blocks, so every block is compressed as in one piece.
    #[test]
    fn strips_decode_to_what_one_piece_does() {
        for (width, height) in [(33, 17), (200, 64), (200, 65), (160, 640), (70, 1201)] {
            let noise = |i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8;
            let rgb: Vec<u8> = (0..3 * width * height).map(noise).collect();
            let whole = image::load_from_memory(&encode(&rgb, width, height, 75)).unwrap();
            for most in [1, 2, 3, 7, 16, 64] {
                let bytes = in_strips(&rgb, width, height, 75, most);
                let marked = segment(&bytes, DRI).is_some();
                assert_eq!(
                    marked,
                    most > 1 && height > 64,
                    "{width}x{height} in {most}"
                );
                let image = image::load_from_memory(&bytes).unwrap();
                assert!(image == whole, "{width}x{height} in {most}");
            }
        }
    }
}
