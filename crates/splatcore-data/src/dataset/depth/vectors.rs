//! The formats of maps of normals: PNG or TIFF, EXR, NumPy's npy and npz, COLMAP's arrays.

use super::read::{broken, colmap_array, inside, layers};
use crate::dataset::npy;
use crate::words::one_line;
use crate::{DataError, picture};
use std::path::Path;

/// Names of the channels of EXR that hold a normal, in lower case.
const CHANNELS: [[&str; 3]; 3] = [["x", "y", "z"], ["nx", "ny", "nz"], ["r", "g", "b"]];

/// Three numbers for each pixel, as they are in a file.
pub(super) struct Vectors {
    pub width: u32,
    pub height: u32,
    pub values: Vec<[f32; 3]>,
}

/// Reads a map. Bytes and 16-bit integers are from -1 to 1 over their whole range.
pub(super) fn read(path: &Path) -> Result<Vectors, DataError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    let bytes = || std::fs::read(path).map_err(|e| DataError::read(path, &e));
    match ending.as_str() {
        "npy" => of_array(npy::parse_vectors(&bytes()?, path)?, path),
        "npz" => of_array(npy::parse_vectors(&inside(&bytes()?, path)?, path)?, path),
        "exr" => of_exr(&bytes()?, path),
        "bin" => {
            let ([width, height], values) = colmap_array(&bytes()?, path, 3)?;
            let planes = values.chunks_exact(values.len() / 3);
            Ok(of_planes([width, height], &planes.collect::<Vec<_>>()))
        }
        _ => of_image(path),
    }
}

fn of_planes([width, height]: [u32; 2], planes: &[&[f32]]) -> Vectors {
    let values = planes[0].iter().zip(planes[1]).zip(planes[2]);
    Vectors {
        width,
        height,
        values: values.map(|((&x, &y), &z)| [x, y, z]).collect(),
    }
}

fn of_array(array: npy::Vectors, path: &Path) -> Result<Vectors, DataError> {
    let side = |side: usize| u32::try_from(side).map_err(|_| broken(path, "it is too large"));
    Ok(Vectors {
        width: side(array.columns)?,
        height: side(array.rows)?,
        values: array.values.iter().map(|v| v.map(|v| v as f32)).collect(),
    })
}

fn of_exr(bytes: &[u8], path: &Path) -> Result<Vectors, DataError> {
    let file = layers(bytes, path)?;
    let plane = |name: &str| file.channels.iter().find(|(other, _)| other == name);
    let planes = CHANNELS.iter().find_map(|names| {
        let [x, y, z] = names.map(plane);
        Some([&x?.1[..], &y?.1[..], &z?.1[..]])
    });
    match planes {
        Some(planes) => Ok(of_planes([file.width, file.height], &planes)),
        None => Err(broken(path, "it has no channels X, Y, Z or R, G, B")),
    }
}

fn of_image(path: &Path) -> Result<Vectors, DataError> {
    let reader = picture::of_file(path).map_err(|e| DataError::read(path, &e))?;
    let decoded = reader
        .decode()
        .map_err(|e| broken(path, format!("cannot be decoded ({})", one_line(&e))))?;
    if !decoded.color().has_color() {
        return Err(broken(path, "holds one number a pixel, not three"));
    }
    let pixels = decoded.to_rgb16();
    let value = |v: u16| f32::from(v) / 32767.5 - 1.0;
    Ok(Vectors {
        width: pixels.width(),
        height: pixels.height(),
        values: pixels.pixels().map(|pixel| pixel.0.map(value)).collect(),
    })
}
