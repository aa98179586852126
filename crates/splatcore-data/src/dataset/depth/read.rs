//! The formats of depth maps: 16-bit PNG or TIFF, EXR, NumPy's npy and npz, COLMAP's arrays.

use crate::dataset::npy;
use crate::words::one_line;
use crate::{DataError, picture};
use exr::prelude::{FlatSamples, ReadChannels, ReadLayers};
use image::DynamicImage;
use std::io::{Cursor, Read};
use std::path::Path;

/// World units of an integer, unless something else is said: sensors write millimetres.
const MILLIMETRES: f64 = 1e-3;
/// Values of a map at most: as many as a photo of 16,384 x 16,384 has.
const MAX_VALUES: usize = 1 << 28;
/// Channels of EXR that hold depths, in lower case; of several the first.
const CHANNELS: [&str; 5] = ["z", "depth", "y", "v", "r"];

/// Values of a depth map as they are in its file; 0 where nothing is known.
pub(super) struct Measured {
    pub width: u32,
    pub height: u32,
    pub values: Vec<f32>,
}

/// Reads a map and multiplies its values by the unit, or by its format's. What is not finite or not
/// above 0 becomes 0: unknown.
pub(super) fn read(path: &Path, unit: Option<f64>) -> Result<Measured, DataError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    let bytes = || std::fs::read(path).map_err(|e| DataError::read(path, &e));
    let (mut measured, own) = match ending.as_str() {
        "npy" => of_matrix(npy::parse(&bytes()?, path)?),
        "npz" => of_matrix(npy::parse(&inside(&bytes()?, path)?, path)?),
        "exr" => (of_exr(&bytes()?, path)?, 1.0),
        "bin" => (of_colmap(&bytes()?, path)?, 1.0),
        _ => (of_image(path)?, MILLIMETRES),
    };
    let unit = unit.unwrap_or(own) as f32;
    for value in &mut measured.values {
        let depth = *value * unit;
        *value = if depth.is_finite() && depth > 0.0 {
            depth
        } else {
            0.0
        };
    }
    Ok(measured)
}

pub(super) fn broken(path: &Path, problem: impl Into<String>) -> DataError {
    let remedy = "write it again as 16-bit grey PNG, or as floats with numpy.save, or remove it";
    DataError::new(path, problem, remedy)
}

fn of_matrix(matrix: npy::Matrix) -> (Measured, f64) {
    let unit = if matrix.integers { MILLIMETRES } else { 1.0 };
    let measured = Measured {
        width: matrix.columns as u32,
        height: matrix.rows as u32,
        values: matrix.values.iter().map(|&value| value as f32).collect(),
    };
    (measured, unit)
}

/// The array of an npz file: the one called `depth`, or the first.
pub(super) fn inside(bytes: &[u8], path: &Path) -> Result<Vec<u8>, DataError> {
    let wrong = |e: &dyn std::fmt::Display| broken(path, format!("no npz file ({})", one_line(e)));
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| wrong(&e))?;
    let place = archive.index_for_name("depth.npy");
    let file = archive
        .by_index(place.unwrap_or(0))
        .map_err(|e| wrong(&e))?;
    let mut array = Vec::new();
    // Memory grows with what comes, not with what the archive declares.
    let most = 8 * MAX_VALUES as u64;
    file.take(most)
        .read_to_end(&mut array)
        .map_err(|e| wrong(&e))?;
    Ok(array)
}

fn of_image(path: &Path) -> Result<Measured, DataError> {
    let reader = picture::of_file(path).map_err(|e| DataError::read(path, &e))?;
    let decoded = reader
        .decode()
        .map_err(|e| broken(path, format!("cannot be decoded ({})", one_line(&e))))?;
    let (width, height) = (decoded.width(), decoded.height());
    let values = match &decoded {
        DynamicImage::ImageLuma16(image) => image.iter().map(|&v| f32::from(v)).collect(),
        DynamicImage::ImageLuma8(image) => image.iter().map(|&v| f32::from(v)).collect(),
        other => {
            let kind = format!("holds colours ({:?}), not one depth a pixel", other.color());
            return Err(broken(path, kind));
        }
    };
    Ok(Measured {
        width,
        height,
        values,
    })
}

fn of_exr(bytes: &[u8], path: &Path) -> Result<Measured, DataError> {
    let Layers {
        width,
        height,
        mut channels,
    } = layers(bytes, path)?;
    let called = |wanted: &&str| channels.iter().position(|(name, _)| name == wanted);
    let only = (channels.len() == 1).then_some(0);
    let Some(place) = CHANNELS.iter().find_map(called).or(only) else {
        return Err(broken(
            path,
            "none of its channels is called Z, depth, Y, V or R",
        ));
    };
    Ok(Measured {
        width,
        height,
        values: channels.swap_remove(place).1,
    })
}

/// The channels of an EXR file, by their names in lower case.
pub(super) struct Layers {
    pub width: u32,
    pub height: u32,
    pub channels: Vec<(String, Vec<f32>)>,
}

pub(super) fn layers(bytes: &[u8], path: &Path) -> Result<Layers, DataError> {
    let wrong = |e: &dyn std::fmt::Display| {
        broken(
            path,
            format!("no EXR file that can be read ({})", one_line(e)),
        )
    };
    let meta = exr::meta::MetaData::read_from_buffered(Cursor::new(bytes), false)
        .map_err(|e| wrong(&e))?;
    let size = meta.headers.first().map(|header| header.layer_size);
    let Some(size) = size.filter(|size| size.area() <= MAX_VALUES) else {
        return Err(broken(path, "no layer, or one of more than 2^28 values"));
    };
    let image = exr::prelude::read()
        .no_deep_data()
        .largest_resolution_level()
        .all_channels()
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_buffered(Cursor::new(bytes))
        .map_err(|e| wrong(&e))?;
    // `left.Z` is a Z too.
    let last = |name: String| name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let mut channels = Vec::new();
    for channel in image.layer_data.channel_data.list {
        let values: Vec<f32> = match channel.sample_data {
            FlatSamples::F16(values) => values.iter().map(|v| v.to_f32()).collect(),
            FlatSamples::F32(values) => values,
            FlatSamples::U32(values) => values.iter().map(|&v| v as f32).collect(),
        };
        if values.len() != size.area() {
            return Err(broken(path, "its values are not one for each pixel"));
        }
        channels.push((last(channel.name.to_string()), values));
    }
    Ok(Layers {
        width: size.width() as u32,
        height: size.height() as u32,
        channels,
    })
}

fn of_colmap(bytes: &[u8], path: &Path) -> Result<Measured, DataError> {
    let ([width, height], values) = colmap_array(bytes, path, 1)?;
    Ok(Measured {
        width,
        height,
        values,
    })
}

/// COLMAP's dense maps: `WIDTH&HEIGHT&CHANNELS&` as text, then floats, channel by channel and row
/// by row (src/colmap/mvs/mat.h).
pub(super) fn colmap_array(
    bytes: &[u8],
    path: &Path,
    wanted: usize,
) -> Result<([u32; 2], Vec<f32>), DataError> {
    let what = if wanted == 1 {
        "depth map"
    } else {
        "map of normals"
    };
    let wrong = || broken(path, format!("no {what} of COLMAP"));
    let mut rest = bytes;
    let mut sizes = [0usize; 3];
    for size in &mut sizes {
        let end = rest
            .iter()
            .take(12)
            .position(|&b| b == b'&')
            .ok_or_else(wrong)?;
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| wrong())?;
        *size = text.trim().parse().map_err(|_| wrong())?;
        rest = &rest[end + 1..];
    }
    let [width, height, channels] = sizes;
    let bytes = width
        .checked_mul(height)
        .and_then(|values| values.checked_mul(4 * wanted));
    if channels != wanted || bytes != Some(rest.len()) || rest.is_empty() {
        return Err(broken(
            path,
            format!(
                "{width}x{height}x{channels} values declared, {} bytes follow",
                rest.len()
            ),
        ));
    }
    let values = rest.as_chunks::<4>().0.iter();
    Ok((
        [width as u32, height as u32],
        values.map(|bytes| f32::from_le_bytes(*bytes)).collect(),
    ))
}
