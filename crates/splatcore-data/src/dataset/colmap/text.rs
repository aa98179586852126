//! COLMAP's text files: one record a line (images: two), `#` starts a comment.

use super::model::{self, Cameras, ColmapCamera, ColmapImage, ModelPoint, Sighting};
use crate::dataset::found::Points;
use crate::words::quoted;
use crate::{DataError, Place};
use std::path::Path;
use std::str::FromStr;

const REMEDY: &str = "the file is corrupt or cut short: export the model again";

fn error(path: &Path, line: usize, problem: impl Into<String>) -> DataError {
    DataError::new(path, problem, REMEDY).at(Place::Line(line))
}

/// Lines with their number from 1, trimmed, comments left out.
fn lines<'a>(
    bytes: &'a [u8],
    path: &Path,
) -> Result<impl Iterator<Item = (usize, &'a str)>, DataError> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()]
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        error(path, line, "not UTF-8 text")
    })?;
    let numbered = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()));
    Ok(numbered.filter(|(_, line)| !line.starts_with('#')))
}

/// The words of one line, with errors that name it.
struct Words<'a> {
    rest: &'a str,
    line: usize,
    path: &'a Path,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, DataError> {
        let rest = self.rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if end == 0 {
            return Err(error(self.path, self.line, format!("{what} is missing")));
        }
        self.rest = &rest[end..];
        Ok(&rest[..end])
    }

    fn number<T: FromStr>(&mut self, what: &str) -> Result<T, DataError> {
        let word = self.next(what)?;
        word.parse().map_err(|_| {
            let word = quoted(word);
            error(
                self.path,
                self.line,
                format!("{what} is {word}, not a number that fits"),
            )
        })
    }

    fn numbers<const N: usize>(&mut self, what: &str) -> Result<[f64; N], DataError> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.number(what)?;
        }
        Ok(values)
    }
}

/// `cameras.txt`: CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS. `path` is for messages only.
pub fn parse_cameras_txt(bytes: &[u8], path: &Path) -> Result<Vec<ColmapCamera>, DataError> {
    cameras(bytes, path)?.all()
}

/// The same with cameras of models that are not known.
pub(super) fn cameras(bytes: &[u8], path: &Path) -> Result<Cameras, DataError> {
    let mut cameras = Cameras::default();
    for (line, text) in lines(bytes, path)?.filter(|(_, text)| !text.is_empty()) {
        let mut words = Words {
            rest: text,
            line,
            path,
        };
        let id = words.number("the camera id")?;
        let name = words.next("the camera model")?;
        let width = model::side(words.number("the width")?);
        let height = model::side(words.number("the height")?);
        let mut parameters = Vec::new();
        while !words.rest.trim_start().is_empty() {
            parameters.push(words.number("a parameter")?);
        }
        let Some(model) = model::id_of(name) else {
            cameras.add_unknown(id, quoted(name), path, Place::Line(line));
            continue;
        };
        let camera = model::camera(model, width, height, &parameters).ok_or_else(|| {
            let wanted = model::parameter_count(model).unwrap_or(0);
            error(
                path,
                line,
                format!(
                    "{name} needs {wanted} parameters, {} are given",
                    parameters.len()
                ),
            )
        })?;
        cameras.known.push(ColmapCamera { id, camera });
    }
    Ok(cameras)
}

/// `images.txt`: IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME, then a line of 2D points,
/// which may be empty. `path` is for messages only. A file that leaves out the lines of points is
/// read too.
pub fn parse_images_txt(bytes: &[u8], path: &Path) -> Result<Vec<ColmapImage>, DataError> {
    images(bytes, path, &mut |_, _| ())
}

/// The same; `seen` hears of each image with a line of points which of them it shows.
pub(super) fn images(
    bytes: &[u8],
    path: &Path,
    seen: &mut dyn FnMut(&ColmapImage, &mut dyn Iterator<Item = Sighting>),
) -> Result<Vec<ColmapImage>, DataError> {
    let mut images: Vec<ColmapImage> = Vec::new();
    let mut points_next = false;
    for (line, text) in lines(bytes, path)? {
        if points_next {
            points_next = false;
            let last = text.split_ascii_whitespace().next_back();
            if last.is_none_or(|word| word.parse::<f64>().is_ok()) {
                if let Some(image) = images.last() {
                    seen(image, &mut sightings(text));
                }
                continue;
            }
        }
        if text.is_empty() {
            continue;
        }
        let mut words = Words {
            rest: text,
            line,
            path,
        };
        let id = words.number("the image id")?;
        let quaternion = words.numbers("the quaternion")?;
        let translation = words.numbers("the translation")?;
        let camera = words.number("the camera id")?;
        let name = words.rest.trim();
        if name.is_empty() {
            return Err(error(path, line, "the image's name is missing"));
        }
        images.push(ColmapImage {
            id,
            name: name.to_owned(),
            camera,
            quaternion,
            translation,
        });
        points_next = true;
    }
    Ok(images)
}

/// The 2D points of a line that belong to 3D points: X, Y, POINT3D_ID, which is -1 for none.
fn sightings(line: &str) -> impl Iterator<Item = Sighting> {
    let mut words = line.split_ascii_whitespace();
    let triples = std::iter::from_fn(move || Some([words.next()?, words.next()?, words.next()?]));
    triples.filter_map(|[x, y, point]| {
        Some(Sighting {
            pixel: [x.parse().ok()?, y.parse().ok()?],
            point: point.parse().ok()?,
        })
    })
}

/// How many images the header of `images.txt` counts; COLMAP writes that, others may leave it out.
pub fn counted_images(bytes: &[u8]) -> Option<usize> {
    let mut header = bytes
        .split(|&byte| byte == b'\n')
        .take_while(|line| line.starts_with(b"#"));
    header.find_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let (_, count) = line.split_once("Number of images:")?;
        count.split(',').next()?.trim().parse().ok()
    })
}

/// `points3D.txt`: POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK. `path` is for messages only.
/// Positions may be non-finite.
pub fn parse_points_txt(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    model::points(each_point, bytes, path)
}

/// The points of `points3D.txt`, one after another. Error and track may be missing.
pub(super) fn each_point(
    bytes: &[u8],
    path: &Path,
    found: &mut dyn FnMut(ModelPoint),
) -> Result<(), DataError> {
    for (line, text) in lines(bytes, path)?.filter(|(_, text)| !text.is_empty()) {
        let mut words = Words {
            rest: text,
            line,
            path,
        };
        let id = words.number("the point id")?;
        let position = words.numbers("the position")?;
        let mut colour = [0u8; 3];
        for channel in &mut colour {
            *channel = words.number("the colour")?;
        }
        let track = words.rest.split_ascii_whitespace().skip(1);
        found(ModelPoint {
            id,
            position,
            colour,
            photos: track.count() as u64 / 2,
        });
    }
    Ok(())
}
