//! COLMAP's binary files: little-endian, packed, each starting with a count.
//!
//! Every count is checked against the bytes that are left before anything is allocated for it.

use super::model::{self, Cameras, ColmapCamera, ColmapImage, ModelPoint, Observations, Sighting};
use crate::dataset::found::Points;
use crate::{DataError, Place};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Parameters of a camera at most, if its model is not known.
const MAX_PARAMETERS: usize = 32;

/// Bytes and a position, with checked reads.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], path: &'a Path) -> Self {
        Self { bytes, at: 0, path }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn error(&self, problem: impl Into<String>) -> DataError {
        DataError::new(
            self.path,
            problem,
            "the file is corrupt: export the model again",
        )
        .at(Place::Byte(self.at as u64))
    }

    fn truncated(&self, what: &str) -> DataError {
        DataError::new(
            self.path,
            format!("the file ends inside {what}"),
            "the file is truncated: copy or export it again",
        )
        .at(Place::Byte(self.bytes.len() as u64))
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], DataError> {
        let rest = &self.bytes[self.at..];
        let (head, _) = rest
            .split_first_chunk::<N>()
            .ok_or_else(|| self.truncated(what))?;
        self.at += N;
        Ok(*head)
    }

    fn u32(&mut self, what: &str) -> Result<u32, DataError> {
        self.take(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, DataError> {
        self.take(what).map(u64::from_le_bytes)
    }

    fn f64s<const N: usize>(&mut self, what: &str) -> Result<[f64; N], DataError> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = f64::from_le_bytes(self.take(what)?);
        }
        Ok(values)
    }

    fn skip(&mut self, count: u64, size: u64, what: &str) -> Result<(), DataError> {
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.left() as u64 => {
                self.at += bytes as usize;
                Ok(())
            }
            _ => Err(self.error(format!(
                "{count} {what} declared, {} bytes are left",
                self.left()
            ))),
        }
    }

    /// The count at the start, checked against the smallest possible records.
    fn count(&mut self, smallest: u64, what: &str) -> Result<usize, DataError> {
        let count = self.u64("the count")?;
        match count.checked_mul(smallest) {
            Some(bytes) if bytes <= self.left() as u64 => Ok(count as usize),
            _ => Err(DataError::new(
                self.path,
                format!(
                    "{count} {what} declared, but the file has room for {}",
                    self.left() as u64 / smallest
                ),
                "the file is truncated or corrupt: copy or export it again",
            )
            .at(Place::Byte(0))),
        }
    }

    fn end(&self, what: &str) -> Result<(), DataError> {
        if self.left() == 0 {
            return Ok(());
        }
        Err(self.error(format!(
            "{} bytes follow the last of the declared {what}",
            self.left()
        )))
    }
}

/// `cameras.bin`. `path` is for messages only.
pub fn parse_cameras_bin(bytes: &[u8], path: &Path) -> Result<Vec<ColmapCamera>, DataError> {
    cameras(bytes, path)?.all()
}

/// The same with cameras of models that are not known. The file does not say how many parameters
/// these have: the number with which it ends where the last camera does.
pub(super) fn cameras(bytes: &[u8], path: &Path) -> Result<Cameras, DataError> {
    let read = |guessed: Option<usize>| cameras_with(bytes, path, guessed);
    read(None).or_else(|error| {
        let mut guesses = 0..=MAX_PARAMETERS;
        guesses
            .find_map(|count| read(Some(count)).ok())
            .ok_or(error)
    })
}

/// `guessed` is how many parameters models have that are not known; without it there may be none.
fn cameras_with(bytes: &[u8], path: &Path, guessed: Option<usize>) -> Result<Cameras, DataError> {
    let mut r = Reader::new(bytes, path);
    let count = r.count(24, "cameras")?;
    let mut cameras = Cameras::default();
    for _ in 0..count {
        let id = r.u32("a camera")?;
        let place = Place::Byte(r.at as u64);
        let model = r.u32("a camera")? as i32;
        let known = model::parameter_count(model);
        if known.is_none() {
            cameras.add_unknown(id, model.to_string(), path, place);
        }
        let Some(parameters) = known.or(guessed) else {
            return cameras.all().map(|_| Cameras::default());
        };
        let [width, height] = [r.u64("a camera")?, r.u64("a camera")?].map(model::side);
        let mut values = Vec::new();
        for _ in 0..parameters {
            let [value] = r.f64s::<1>("a camera")?;
            values.push(value);
        }
        if known.is_none() {
            continue;
        }
        let camera = model::camera(model, width, height, &values)
            .ok_or_else(|| r.error(format!("camera {id} has unusable parameters")))?;
        cameras.known.push(ColmapCamera { id, camera });
    }
    r.end("cameras")?;
    Ok(cameras)
}

/// `images.bin`; 2D points are skipped. `path` is for messages only.
pub fn parse_images_bin(bytes: &[u8], path: &Path) -> Result<Vec<ColmapImage>, DataError> {
    images(bytes, path, &mut |_, _| ())
}

/// The same; `seen` hears of each image which points it shows.
pub(super) fn images(
    bytes: &[u8],
    path: &Path,
    seen: &mut dyn FnMut(&ColmapImage, &mut dyn Iterator<Item = Sighting>),
) -> Result<Vec<ColmapImage>, DataError> {
    let mut images = Vec::new();
    each_image(bytes, path, &mut |image, records| {
        let records = bytes[records].as_chunks::<24>().0;
        seen(&image, &mut records.iter().filter_map(sighting));
        images.push(image);
    })?;
    Ok(images)
}

/// The images of `images.bin`, one after another, each with the place of its 2D points in the
/// file: 24 bytes each, x and y first.
pub(super) fn each_image(
    bytes: &[u8],
    path: &Path,
    found: &mut dyn FnMut(ColmapImage, Range<usize>),
) -> Result<(), DataError> {
    let mut r = Reader::new(bytes, path);
    let count = r.count(73, "images")?;
    for _ in 0..count {
        let id = r.u32("an image")?;
        let quaternion = r.f64s("an image")?;
        let translation = r.f64s("an image")?;
        let camera = r.u32("an image")?;
        let rest = &bytes[r.at..];
        let length = rest
            .iter()
            .position(|&b| b == 0)
            .ok_or_else(|| r.truncated("an image's name"))?;
        let name = std::str::from_utf8(&rest[..length])
            .map_err(|_| r.error("an image's name is not UTF-8"))?
            .to_owned();
        r.at += length + 1;
        let points = r.u64("an image")?;
        let from = r.at;
        r.skip(points, 24, "2D points")?;
        let image = ColmapImage {
            id,
            name,
            camera,
            quaternion,
            translation,
        };
        found(image, from..r.at);
    }
    r.end("images")
}

/// A 2D point: x, y, and the id of a 3D point, or -1.
fn sighting(record: &[u8; 24]) -> Option<Sighting> {
    let ([x, y, id], _) = record.as_chunks::<8>() else {
        return None;
    };
    let point = u64::from_le_bytes(*id);
    (point != u64::MAX).then_some(Sighting {
        pixel: [x, y].map(|v| f64::from_le_bytes(*v)),
        point,
    })
}

/// `points3D.bin`; tracks are skipped. `path` is for messages only. Positions may be non-finite.
pub fn parse_points_bin(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    model::points(each_point, bytes, path)
}

/// The points of `points3D.bin`, one after another.
pub(super) fn each_point(
    bytes: &[u8],
    path: &Path,
    found: &mut dyn FnMut(ModelPoint),
) -> Result<(), DataError> {
    let mut r = Reader::new(bytes, path);
    let count = r.count(51, "points")?;
    for _ in 0..count {
        let id = r.u64("a point")?;
        let position = r.f64s("a point")?;
        let colour = r.take("a point")?;
        r.f64s::<1>("a point")?;
        let photos = r.u64("a point")?;
        r.skip(photos, 8, "track elements")?;
        found(ModelPoint {
            id,
            position,
            colour,
            photos,
        });
    }
    r.end("points")
}

/// How well `points3D.bin` fits its photos: errors and tracks. `path` is for messages only.
pub fn parse_observations_bin(bytes: &[u8], path: &Path) -> Result<Observations, DataError> {
    let mut r = Reader::new(bytes, path);
    let count = r.count(51, "points")?;
    let mut found = Observations {
        points: count as u64,
        mean_error: 0.0,
        of_images: BTreeMap::new(),
    };
    let (mut sum, mut measured) = (0.0, 0u64);
    for _ in 0..count {
        r.skip(1, 8 + 24 + 3, "a point")?;
        let [error] = r.f64s::<1>("a point")?;
        if error.is_finite() && error >= 0.0 {
            sum += error;
            measured += 1;
        }
        let track = r.u64("a point")?;
        if track > r.left() as u64 / 8 {
            return Err(r.error(format!(
                "{track} track elements declared, {} bytes are left",
                r.left()
            )));
        }
        for _ in 0..track {
            let image = r.u32("a track")?;
            r.u32("a track")?;
            *found.of_images.entry(image).or_insert(0) += 1;
        }
    }
    r.end("points")?;
    if measured > 0 {
        found.mean_error = sum / measured as f64;
    }
    Ok(found)
}
