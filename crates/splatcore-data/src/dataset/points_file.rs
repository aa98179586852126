//! A file of points that a caller names: a scan, or the vertices of a mesh, as PLY or OBJ.

use super::finding;
use super::found::Points;
use super::{Dataset, folder, plausible, point_cloud};
use crate::scene::ply::header::{self, Header};
use crate::{DataError, Place};
use std::io::Read;
use std::path::Path;

/// Properties that Gaussians have and points have not, of plain and of compressed PLY.
const OF_SCENES: [&str; 3] = ["scale_0", "f_dc_0", "packed_scale"];
/// Endings of scans and meshes that are not read.
const NOT_READ: [&str; 12] = [
    "las", "laz", "e57", "pcd", "pts", "ptx", "xyz", "stl", "fbx", "dae", "gltf", "off",
];
const REMEDY: &str = "save the points as PLY, for example with CloudCompare or MeshLab";
const SAMPLE: &str = "of a mesh, sample points on its surface (CloudCompare: Edit, Mesh, Sample \
                      points) and save them as PLY";

/// Whether a path names points, and no scene: an OBJ, a PLY whose vertices are no Gaussians, or a
/// file of another kind of points or meshes, which [`read_points`] then refuses by its name.
pub fn is_points_file(path: &Path) -> bool {
    path.is_file() && (ending(path, &["obj"]) || ending(path, &NOT_READ) || is_cloud(path))
}

/// Reads points and their colours, grey without; at most so many, evenly over the file's order.
/// Positions that are not finite are left out. Also returns what there is to say, a line each.
///
/// # Errors
/// A file that is no PLY or OBJ, is broken, or holds no points.
pub fn read_points(path: &Path, most: usize) -> Result<(Points, Vec<String>), DataError> {
    if ending(path, &NOT_READ) {
        return Err(DataError::new(
            path,
            "is of a kind that is not read",
            REMEDY,
        ));
    }
    let bytes = folder::read(path)?;
    let mut points = match ending(path, &["obj"]) {
        true => parse_obj(&bytes, path)?,
        false => point_cloud::parse(&bytes, path)?,
    };
    drop(bytes);
    let mut notes = Vec::new();
    points.drop_unusable(&mut notes);
    if points.positions.is_empty() {
        let problem = match notes.first() {
            Some(note) => format!("holds no points that can be used: {note}"),
            None => "holds no points".into(),
        };
        return Err(DataError::new(path, problem, SAMPLE));
    }
    let count = points.positions.len();
    if count > most {
        let kept = |i: usize| (i as u128 * count as u128 / most as u128) as usize;
        points.positions = (0..most).map(|i| points.positions[kept(i)]).collect();
        points.colours = (0..most).map(|i| points.colours[kept(i)]).collect();
        notes.push(format!(
            "{} of {count} points are left out, evenly over the file: {most} are enough to start \
             from",
            count - most
        ));
    }
    Ok((points, notes))
}

impl Dataset {
    /// Takes other points to start from, in the photos' frame. Returns a line if no camera sees
    /// any.
    pub fn start_from(&mut self, points: Points) -> Option<String> {
        self.points = points;
        let finding = plausible::points(&self.points, &self.entries)?;
        let line = finding::lines(std::slice::from_ref(&finding)).pop();
        self.findings.push(finding);
        line
    }
}

fn ending(path: &Path, endings: &[&str]) -> bool {
    let found = path.extension().unwrap_or_default().to_string_lossy();
    endings
        .iter()
        .any(|ending| found.eq_ignore_ascii_case(ending))
}

/// Whether a file is a PLY that holds points and no Gaussians.
fn is_cloud(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(header::LONGEST as u64).read_to_end(&mut head));
    let Ok(header) = read
        .map_err(drop)
        .and_then(|_| Header::parse(&head, path).map_err(drop))
    else {
        return false;
    };
    let names = || {
        let properties = header.elements.iter().flat_map(|of| &of.properties);
        properties.map(|property| property.name.as_str())
    };
    ["x", "y", "z"]
        .iter()
        .all(|axis| names().any(|name| name == *axis))
        && !names().any(|name| OF_SCENES.contains(&name))
}

/// The vertices of an OBJ: `v x y z`, and of some programs `v x y z r g b`, from 0 to 1 or to 255.
fn parse_obj(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    let mut points = Points::default();
    let mut colours: Vec<[f32; 3]> = Vec::new();
    for (line, text) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let Some(rest) = text
            .strip_prefix(b"v")
            .filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))
        else {
            continue;
        };
        let text = String::from_utf8_lossy(rest);
        let numbers: Option<Vec<f32>> = text
            .split_ascii_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let numbers = numbers
            .filter(|numbers| numbers.len() >= 3)
            .ok_or_else(|| {
                let place = Place::Line(line + 1);
                DataError::new(path, "a vertex is not three numbers", REMEDY).at(place)
            })?;
        points.positions.push([numbers[0], numbers[1], numbers[2]]);
        if let [.., r, g, b] = numbers[3..] {
            colours.push([r, g, b]);
        }
    }
    // Either all have one, or none counts.
    let brightest = colours.iter().flatten().copied().fold(0.0, f32::max);
    let scale = if brightest > 1.0 { 1.0 } else { 255.0 };
    points.colours = match colours.len() == points.positions.len() {
        true => colours
            .into_iter()
            .map(|colour| colour.map(|v| (v * scale).round().clamp(0.0, 255.0) as u8))
            .collect(),
        false => vec![[128; 3]; points.positions.len()],
    };
    Ok(points)
}
