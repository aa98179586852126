//! Decoding photos and masks to 8 bits; of floats see `linear.rs`. Poses belong to the pixels as
//! stored, as COLMAP sees them: EXIF orientation only counts where those cannot be what was posed
//! (see `views.rs`).

use super::{linear, unread};
use crate::picture::Source;
use crate::{DataError, foreign, picture};
use image::codecs::openexr::OpenExrDecoder;
use image::metadata::Orientation;
use image::{DynamicImage, GrayImage, ImageDecoder, ImageFormat, RgbImage};
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

const REMEDY: &str = "save it again as 8-bit RGB JPEG or PNG, or remove the photo";

/// Width and height from the file's header.
pub(super) fn size(path: &Path) -> Result<(u32, u32), DataError> {
    // Raw files begin as TIFF does; their ending tells.
    if let Some((problem, remedy)) = unread::format(&[], path) {
        return Err(DataError::new(path, problem, remedy));
    }
    let reader = picture::of_file(path).map_err(|e| DataError::read(path, &e))?;
    let (width, height) = reader.into_dimensions().map_err(|e| {
        let mut start = Vec::new();
        let opened = std::fs::File::open(path);
        match opened.and_then(|file| file.take(64).read_to_end(&mut start)) {
            Ok(_) => accident(path, &start).unwrap_or_else(|| undecodable(path, &e)),
            Err(_) => undecodable(path, &e),
        }
    })?;
    if width == 0 || height == 0 {
        return Err(DataError::new(
            path,
            format!("the image is {width}x{height} pixels"),
            REMEDY,
        ));
    }
    Ok((width, height))
}

/// Whether the header declares an alpha channel; false if it cannot be read.
pub(super) fn has_alpha(path: &Path) -> bool {
    picture::of_file(path)
        .ok()
        .and_then(|reader| reader.into_decoder().ok())
        .is_some_and(|decoder| decoder.color_type().has_alpha())
}

/// A quarter turn (perhaps with a mirror) that EXIF asks for, if it does.
pub(super) fn quarter_turn(path: &Path) -> Option<Orientation> {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    let mut decoder = picture::of_file(path).ok()?.into_decoder().ok()?;
    let turn = decoder.orientation().ok()?;
    matches!(turn, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH).then_some(turn)
}

/// The image turned as EXIF asks for.
pub(super) fn turned(image: RgbImage, turn: Orientation) -> RgbImage {
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(turn);
    image.into_rgb8()
}

/// Decodes a photo; straight alpha is composited on `background` (sRGB values, 0 to 1).
pub(super) fn decode(path: &Path, background: [f32; 3]) -> Result<RgbImage, DataError> {
    let decoded = decode_any(path)?;
    if !decoded.color().has_alpha() {
        return Ok(decoded.into_rgb8());
    }
    Ok(match decoded {
        DynamicImage::ImageRgba8(_) | DynamicImage::ImageLumaA8(_) => {
            let rgba = decoded.into_rgba8();
            composite(
                rgba.dimensions(),
                rgba.pixels().map(|p| p.0.map(|v| v as f32 / 255.0)),
                background,
            )
        }
        deep => {
            let rgba = deep.into_rgba16();
            composite(
                rgba.dimensions(),
                rgba.pixels().map(|p| p.0.map(|v| v as f32 / 65535.0)),
                background,
            )
        }
    })
}

/// Decodes a photo onto black; and its alpha, as grey, unless it is opaque.
pub(super) fn decode_with_alpha(path: &Path) -> Result<(RgbImage, Option<RgbImage>), DataError> {
    let decoded = decode_any(path)?;
    if !decoded.color().has_alpha() {
        return Ok((decoded.into_rgb8(), None));
    }
    let deep = decoded.to_rgba16();
    let on = |background| {
        let pixels = deep.pixels().map(|p| p.0.map(|v| v as f32 / 65535.0));
        composite(deep.dimensions(), pixels, background)
    };
    let mut alpha = RgbImage::new(deep.width(), deep.height());
    for (grey, pixel) in alpha.pixels_mut().zip(deep.pixels()) {
        grey.0 = [(pixel.0[3] as f32 / 257.0 + 0.5) as u8; 3];
    }
    let opaque = alpha.pixels().all(|pixel| pixel.0[0] == 255);
    Ok((on([0.0; 3]), (!opaque).then_some(alpha)))
}

fn composite(
    (width, height): (u32, u32),
    pixels: impl Iterator<Item = [f32; 4]>,
    background: [f32; 3],
) -> RgbImage {
    let mut out = RgbImage::new(width, height);
    for (target, [r, g, b, alpha]) in out.pixels_mut().zip(pixels) {
        let colour = [r, g, b];
        target.0 = std::array::from_fn(|c| {
            let value = colour[c] * alpha + background[c] * (1.0 - alpha);
            (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
        });
    }
    out
}

/// Decodes a mask: 255 where the pixel counts (at least half of white), else 0, at the given size
/// of its photo, of which it may be a smaller or larger copy.
pub(super) fn decode_mask(path: &Path, width: u32, height: u32) -> Result<GrayImage, DataError> {
    let mut mask = decode_any(path)?.into_luma8();
    for pixel in mask.pixels_mut() {
        pixel.0 = [if pixel.0[0] >= 128 { 255 } else { 0 }];
    }
    if mask.dimensions() == (width, height) {
        return Ok(mask);
    }
    check_shape(path, mask.dimensions(), (width, height))?;
    let nearest = image::imageops::FilterType::Nearest;
    Ok(image::imageops::resize(&mask, width, height, nearest))
}

/// As [`decode_mask`] of a photo of this size, by the file's header alone.
pub(super) fn check_mask(path: &Path, photo: (u32, u32)) -> Result<(), DataError> {
    check_end(path)?;
    check_shape(path, picture::size(path)?, photo)
}

fn check_shape(path: &Path, mask: (u32, u32), photo: (u32, u32)) -> Result<(), DataError> {
    if same_shape(mask, photo) {
        return Ok(());
    }
    let ((width, height), (of_width, of_height)) = (mask, photo);
    let problem = format!(
        "the mask is {width}x{height} pixels but its photo is {of_width}x{of_height}, which is \
         another shape"
    );
    let remedy = "make the mask from the photo as it is stored, or remove it";
    Err(DataError::new(path, problem, remedy))
}

/// Whether an image of one size may be a scaled version of one of another: their shapes agree
/// within a pixel (rounding).
pub(super) fn same_shape(
    (width, height): (u32, u32),
    (other_width, other_height): (u32, u32),
) -> bool {
    let (w, h) = (width as f64, height as f64);
    let (ow, oh) = (other_width as f64, other_height as f64);
    (w * oh / ow - h).abs().min((h * ow / oh - w).abs()) <= 1.0
}

fn decode_any(path: &Path) -> Result<DynamicImage, DataError> {
    let bytes = std::fs::read(path).map_err(|e| DataError::read(path, &e))?;
    if let Some(error) = accident(path, &bytes) {
        return Err(error);
    }
    let reader = picture::of_bytes(&bytes).map_err(|e| DataError::read(path, &e))?;
    let associated = reader.format() == Some(ImageFormat::OpenExr);
    match reader.format() {
        Some(ImageFormat::Jpeg) => check_jpeg(&bytes, path)?,
        Some(ImageFormat::OpenExr) => check_exr(&bytes, path)?,
        _ => {}
    }
    let decoded = reader.decode().map_err(|e| undecodable(path, &e))?;
    let decoded = linear::to_srgb(decoded, associated);
    if decoded.width() == 0 || decoded.height() == 0 {
        return Err(DataError::new(path, "the image has no pixels", REMEDY));
    }
    Ok(decoded)
}

/// The error about a file that is no image that can be read: nothing in it, what was left in its
/// place, or a format without a decoder here.
fn accident(path: &Path, bytes: &[u8]) -> Option<DataError> {
    let (problem, remedy) = match bytes {
        [] => (
            "the file is empty (0 bytes)",
            "copy the photo again, or remove it",
        ),
        _ => foreign::accident(bytes).or_else(|| unread::format(bytes, path))?,
    };
    Some(DataError::new(path, problem, remedy))
}

fn undecodable(path: &Path, error: &image::ImageError) -> DataError {
    let one_line = error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let problem = match error {
        image::ImageError::Unsupported(_) => {
            format!("not an image that can be read, JPEG, PNG, WebP, TIFF or EXR ({one_line})")
        }
        _ => format!("the image cannot be decoded ({one_line})"),
    };
    DataError::new(path, problem, REMEDY)
}

/// Refuses an EXR that declares far more pixels than its bytes can hold: the decoder would take
/// memory, and half a minute, for them all. Deflate, its usual compression, gives at most 1032
/// bytes for one.
fn check_exr(bytes: &[u8], path: &Path) -> Result<(), DataError> {
    const MAX: u64 = 1 << 11;
    let decoder = OpenExrDecoder::new(Source::Bytes(Cursor::new(bytes)))
        .map_err(|e| undecodable(path, &e))?;
    if decoder.total_bytes() <= MAX * bytes.len() as u64 {
        return Ok(());
    }
    let (width, height) = decoder.dimensions();
    let problem = format!(
        "the image cannot be decoded ({width}x{height} pixels declared in {} bytes)",
        bytes.len()
    );
    Err(DataError::new(path, problem, REMEDY))
}

/// Refuses a JPEG or PNG file that is cut short, by its end: decodes nothing.
///
/// # Errors
/// It is cut short, or cannot be read.
pub fn check_end(path: &Path) -> Result<(), DataError> {
    const TAIL: u64 = 1 << 16;
    let failed = |e: std::io::Error| DataError::read(path, &e);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut head = [0; 8];
    let read = file.read(&mut head).map_err(failed)?;
    let mut tail = Vec::new();
    let from = length.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    file.read_to_end(&mut tail).map_err(failed)?;
    let ends_with = |mark: &[u8]| tail.windows(mark.len()).any(|bytes| bytes == mark);
    match image::guess_format(&head[..read]) {
        Ok(ImageFormat::Png) if !ends_with(b"IEND") => match has_end_chunk(&file) {
            Ok(true) => Ok(()),
            Ok(false) => Err(DataError::new(
                path,
                "the PNG is cut short (it has no end chunk)",
                "copy the photo again, or remove it",
            )),
            Err(error) => Err(failed(error)),
        },
        // In a short file the mark may be that of a thumbnail.
        Ok(ImageFormat::Jpeg) if from == 0 => check_jpeg(&tail, path),
        Ok(ImageFormat::Jpeg) if !ends_with(&[0xFF, 0xD9]) => {
            check_jpeg(&std::fs::read(path).map_err(failed)?, path)
        }
        _ => Ok(()),
    }
}

/// Whether a PNG's end chunk follows on its other chunks, however much lies behind it.
fn has_end_chunk(file: &File) -> std::io::Result<bool> {
    const SIGNATURE: u64 = 8;
    const CHECKSUM: i64 = 4;
    let mut file = BufReader::new(file);
    file.seek(SeekFrom::Start(SIGNATURE))?;
    loop {
        let mut chunk = [0; 8];
        match file.read_exact(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let [a, b, c, d, kind @ ..] = chunk;
        if &kind == b"IEND" {
            return Ok(true);
        }
        file.seek_relative(i64::from(u32::from_be_bytes([a, b, c, d])) + CHECKSUM)?;
    }
}

/// Finds what the decoder would let pass: four colour components (CMYK, YCCK), whose conversion
/// needs a colour profile, and data cut short, which it fills with grey.
fn check_jpeg(bytes: &[u8], path: &Path) -> Result<(), DataError> {
    let mut at = 2;
    while let Some(&[marker_start, marker, high, low]) =
        bytes.get(at..).and_then(|b| b.first_chunk::<4>())
    {
        if marker_start != 0xFF {
            return Ok(());
        }
        if marker == 0xFF {
            // Fill byte.
            at += 1;
            continue;
        }
        let is_frame = (0xC0..=0xCF).contains(&marker) && ![0xC4, 0xC8, 0xCC].contains(&marker);
        if is_frame && bytes.get(at + 9) == Some(&4) {
            return Err(DataError::new(
                path,
                "the JPEG has four colour components (CMYK)",
                "convert the photo to RGB, for example with ImageMagick: mogrify -colorspace sRGB",
            ));
        }
        at += 2 + u16::from_be_bytes([high, low]) as usize;
        if marker == 0xDA {
            let scan = bytes.get(at..).unwrap_or_default();
            if scan.windows(2).rev().any(|pair| pair == [0xFF, 0xD9]) {
                return Ok(());
            }
            return Err(DataError::new(
                path,
                "the JPEG is cut short (it has no end marker)",
                "copy the photo again, or remove it",
            ));
        }
    }
    Ok(())
}
