//! Where images are decoded from: one type for files and for bytes in memory. For each type that it
//! decodes from, `image` compiles the decoders of all formats anew, which takes longer than most
//! crates. Likewise PNG and JPEG are written by their own encoders, not by `save` or `write_to`,
//! which compile them all, and `image::open` is [`read`] here.

use crate::DataError;
use crate::words::one_line;
use image::codecs::{jpeg::JpegEncoder, png::PngEncoder};
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageError, ImageReader};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Result, Seek, SeekFrom};
use std::path::Path;

/// A file, or its bytes.
pub(crate) enum Source<'a> {
    File(BufReader<File>),
    Bytes(Cursor<&'a [u8]>),
}

/// A reader of an image file, whose format its first bytes tell.
pub(crate) fn of_file(path: &Path) -> Result<ImageReader<Source<'static>>> {
    let file = BufReader::new(File::open(path)?);
    // The ending counts where the bytes do not tell.
    let mut reader = ImageReader::new(Source::File(file));
    if let Ok(format) = image::ImageFormat::from_path(path) {
        reader.set_format(format);
    }
    reader.with_guessed_format()
}

/// A reader of an image file's bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> Result<ImageReader<Source<'_>>> {
    ImageReader::new(Source::Bytes(Cursor::new(bytes))).with_guessed_format()
}

/// Width and height of an image file, from its header.
///
/// # Errors
/// If the file cannot be read or is no image.
pub fn size(path: &Path) -> std::result::Result<(u32, u32), DataError> {
    let reader = of_file(path).map_err(|e| DataError::read(path, &e))?;
    reader.into_dimensions().map_err(|error| {
        let problem = format!("is no image that can be read ({})", one_line(&error));
        DataError::new(path, problem, "save it again as JPEG or PNG, or remove it")
    })
}

/// The image of a file, whose format its first bytes tell.
///
/// # Errors
/// If the file cannot be read or decoded.
pub fn read(path: impl AsRef<Path>) -> std::result::Result<DynamicImage, ImageError> {
    image::load_from_memory(&std::fs::read(path)?)
}

/// The bytes of a PNG file with pixels of this kind, 8 or 16 bits a channel, native byte order.
///
/// # Errors
/// If there are not as many bytes as pixels.
pub fn png(
    pixels: &[u8],
    [width, height]: [u32; 2],
    colour: ExtendedColorType,
) -> std::result::Result<Vec<u8>, ImageError> {
    let bits = u64::from(colour.bits_per_pixel()) * u64::from(width) * u64::from(height);
    if pixels.len() as u64 != bits / 8 {
        let kind = image::error::ParameterErrorKind::DimensionMismatch;
        let error = image::error::ParameterError::from_kind(kind);
        return Err(ImageError::Parameter(error));
    }
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(pixels, width, height, colour)?;
    Ok(bytes)
}

/// The bytes of a JPEG file with pixels of this kind, 8 bits a channel; qualities are 1 to 100.
///
/// # Errors
/// If there are no pixels, or more than 65,535 in a row or a column.
///
/// # Panics
/// If there are not as many bytes as pixels.
pub fn jpeg(
    pixels: &[u8],
    [width, height]: [u32; 2],
    colour: ExtendedColorType,
    quality: u8,
) -> std::result::Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
    encoder.write_image(pixels, width, height, colour)?;
    Ok(bytes)
}

/// The bytes of a JPEG file with `[height][width][3]` bytes, scaled down so that no side has more
/// than `max_side` pixels.
///
/// # Errors
/// If there are not as many bytes as pixels.
pub fn small_jpeg(
    rgb: Vec<u8>,
    [width, height]: [u32; 2],
    max_side: u32,
    quality: u8,
) -> std::result::Result<Vec<u8>, image::ImageError> {
    let Some(mut picture) = image::RgbImage::from_raw(width, height, rgb) else {
        let kind = image::error::ParameterErrorKind::DimensionMismatch;
        let error = image::error::ParameterError::from_kind(kind);
        return Err(image::ImageError::Parameter(error));
    };
    let longer = width.max(height);
    if longer > max_side {
        let side = |s: u32| ((s as u64 * max_side as u64 / longer as u64) as u32).max(1);
        picture = image::imageops::thumbnail(&picture, side(width), side(height));
    }
    let size = [picture.width(), picture.height()];
    jpeg(&picture, size, ExtendedColorType::Rgb8, quality)
}

impl Read for Source<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Bytes(cursor) => cursor.read(bytes),
        }
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> Result<()> {
        match self {
            Self::File(file) => file.read_exact(bytes),
            Self::Bytes(cursor) => cursor.read_exact(bytes),
        }
    }

    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        match self {
            Self::File(file) => file.read_to_end(bytes),
            Self::Bytes(cursor) => cursor.read_to_end(bytes),
        }
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        match self {
            Self::File(file) => file.fill_buf(),
            Self::Bytes(cursor) => cursor.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        match self {
            Self::File(file) => file.consume(count),
            Self::Bytes(cursor) => cursor.consume(count),
        }
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Bytes(cursor) => cursor.seek(to),
        }
    }
}
