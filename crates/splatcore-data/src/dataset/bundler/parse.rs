//! What a `bundle.out` says, as written.

use crate::dataset::found::Points;
use crate::words::quoted;
use crate::{DataError, Place};
use std::path::Path;

const SIGNATURE: &str = "# Bundle file v";
const REMEDY: &str = "the file is corrupt or cut short: export the bundle again";

/// One posed photo.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleCamera {
    /// In pixels, positive.
    pub focal: f64,
    /// Radial distortion k1, k2.
    pub k: [f64; 2],
    /// World to camera; the camera's x points right, y up, z backward.
    pub rotation: [[f64; 3]; 3],
    /// World to camera.
    pub translation: [f64; 3],
}

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// In the order of the list of photos; nothing where a photo was not posed (its focal length is
    /// 0).
    pub cameras: Vec<Option<BundleCamera>>,
    /// World positions (which may be non-finite) and colours.
    pub points: Points,
}

/// Words of a text with the line that they are in.
struct Words<'a> {
    lines: std::str::Lines<'a>,
    words: std::str::SplitAsciiWhitespace<'a>,
    line: usize,
    path: &'a Path,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, path: &'a Path) -> Self {
        Self {
            lines: text.lines(),
            words: "".split_ascii_whitespace(),
            line: 0,
            path,
        }
    }

    fn error(&self, problem: String) -> DataError {
        DataError::new(self.path, problem, REMEDY).at(Place::Line(self.line))
    }

    fn next(&mut self, what: &str) -> Result<&'a str, DataError> {
        loop {
            if let Some(word) = self.words.next() {
                return Ok(word);
            }
            let Some(line) = self.lines.next() else {
                return Err(self.error(format!("the file ends before {what}")));
            };
            self.line += 1;
            self.words = line.split_ascii_whitespace();
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, DataError> {
        let word = self.next(what)?;
        word.parse().map_err(|_| {
            let word = quoted(word);
            self.error(format!("{what} is {word}, not a number"))
        })
    }

    fn numbers<const N: usize>(&mut self, what: &str) -> Result<[f64; N], DataError> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.number(what)?;
        }
        Ok(values)
    }

    fn count(&mut self, what: &str) -> Result<usize, DataError> {
        let word = self.next(what)?;
        word.parse().map_err(|_| {
            let word = quoted(word);
            self.error(format!("{what} is {word}, not a count"))
        })
    }
}

/// Whether the bytes begin as a bundle does, of any version.
pub(in crate::dataset) fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE.as_bytes())
}

/// Reads a `bundle.out` of version 0.3. `path` is for messages only.
///
/// # Errors
/// Another version, a count that the file has no room for, a word that is no number, an end before
/// the last of the declared points.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Bundle, DataError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| DataError::new(path, "not ASCII text", "export the bundle again"))?;
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Some(version) = first.strip_prefix(SIGNATURE) else {
        return Err(DataError::new(
            path,
            format!("the first line is not '{SIGNATURE}0.3'"),
            "give a bundle.out as Bundler and COLMAP write it",
        ));
    };
    if version.trim() != "0.3" {
        let version = quoted(version.trim());
        return Err(DataError::new(
            path,
            format!("version {version} of the format, and only 0.3 is read"),
            "export the bundle as version 0.3",
        )
        .at(Place::Line(1)));
    }
    let mut words = Words::new(rest, path);
    words.line = 1;
    let cameras = words.count("the number of cameras")?;
    let points = words.count("the number of points")?;
    check_room(cameras, points, rest.len(), path)?;
    let cameras = (0..cameras)
        .map(|_| camera(&mut words))
        .collect::<Result<_, _>>()?;
    let mut read = Points {
        positions: Vec::with_capacity(points),
        colours: Vec::with_capacity(points),
        random: false,
    };
    for _ in 0..points {
        let position: [f64; 3] = words.numbers("a point's position")?;
        let colour: [f64; 3] = words.numbers("a point's colour")?;
        let views = words.count("a point's number of views")?;
        for _ in 0..views {
            for _ in 0..4 {
                words.next("a point's view")?;
            }
        }
        read.positions.push(position.map(|v| v as f32));
        read.colours.push(colour.map(|v| v.round() as u8));
    }
    Ok(Bundle {
        cameras,
        points: read,
    })
}

/// Refuses counts that the file has no room for: a camera has 15 numbers, a point at least 7, each
/// at least a digit and a separator.
fn check_room(cameras: usize, points: usize, bytes: usize, path: &Path) -> Result<(), DataError> {
    let needed = cameras
        .checked_mul(30)
        .zip(points.checked_mul(14))
        .and_then(|(cameras, points)| cameras.checked_add(points));
    // The last number may lack its separator.
    if needed.is_some_and(|needed| needed <= bytes + 1) {
        return Ok(());
    }
    Err(DataError::new(
        path,
        format!("{cameras} cameras and {points} points declared, more than the file has room for"),
        REMEDY,
    )
    .at(Place::Line(2)))
}

fn camera(words: &mut Words) -> Result<Option<BundleCamera>, DataError> {
    let [focal, k1, k2] = words.numbers("a camera's focal length and distortion")?;
    let mut rotation = [[0.0; 3]; 3];
    for row in &mut rotation {
        *row = words.numbers("a camera's rotation")?;
    }
    let translation = words.numbers("a camera's translation")?;
    Ok((focal != 0.0).then_some(BundleCamera {
        focal,
        k: [k1, k2],
        rotation,
        translation,
    }))
}
