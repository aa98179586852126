//! A point cloud as PLY: x, y, z and red, green, blue of the first element, ascii or binary.

use super::found::Points;
use crate::scene::ply::binary::number;
use crate::scene::ply::header::{Element, Encoding, Header, Kind, Scalar};
use crate::{DataError, Place};
use std::path::Path;

const REMEDY: &str = "write the point cloud again, as PLY with x, y, z, red, green, blue";

/// Names and types of the vertices' columns.
type Columns<'a> = Vec<(&'a str, Scalar)>;

/// The vertices, which must come first and hold no lists.
fn vertices<'a>(header: &'a Header, path: &Path) -> Result<(&'a Element, Columns<'a>), DataError> {
    let wrong = |problem: &str| DataError::new(path, problem, REMEDY);
    let vertex = header
        .elements
        .first()
        .filter(|element| element.name == "vertex");
    let vertex = vertex.ok_or_else(|| wrong("the first element is not vertex"))?;
    let columns = vertex
        .properties
        .iter()
        .map(|property| match property.kind {
            Kind::Scalar(scalar) => Ok((property.name.as_str(), scalar)),
            Kind::List { .. } => Err(wrong("a vertex with a list property")),
        });
    Ok((vertex, columns.collect::<Result<_, _>>()?))
}

/// Where a point's numbers are in a row.
struct Layout<'a> {
    columns: Columns<'a>,
    xyz: [usize; 3],
    rgb: [Option<usize>; 3],
}

impl<'a> Layout<'a> {
    /// `None` without x, y and z.
    fn find(columns: Columns<'a>) -> Option<Self> {
        let column = |names: [&str; 3]| columns.iter().position(|(name, _)| names.contains(name));
        let xyz = [column(["x"; 3])?, column(["y"; 3])?, column(["z"; 3])?];
        let rgb = [
            column(["red", "r", "diffuse_red"]),
            column(["green", "g", "diffuse_green"]),
            column(["blue", "b", "diffuse_blue"]),
        ];
        Some(Self { columns, xyz, rgb })
    }

    /// Appends the point of a row.
    fn push(&self, row: &[f64], points: &mut Points) {
        points.positions.push(self.xyz.map(|at| row[at] as f32));
        points.colours.push(self.rgb.map(|column| {
            let Some(column) = column else { return 128 };
            let scale = match self.columns[column].1 {
                Scalar::F32 | Scalar::F64 => 255.0,
                Scalar::U16 => 1.0 / 257.0,
                _ => 1.0,
            };
            (row[column] * scale).round().clamp(0.0, 255.0) as u8
        }));
    }
}

/// Reads a point cloud. Colours are 8 bit, 16 bit, or floats in [0, 1]; without them points are
/// grey. `path` is for messages only. Positions may be non-finite.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    let header = Header::parse(bytes, path)?;
    let (vertex, columns) = vertices(&header, path)?;
    let Some(layout) = Layout::find(columns) else {
        return Err(DataError::new(
            path,
            "the vertices have no x, y or z",
            REMEDY,
        ));
    };
    let body = &bytes[header.end..];
    check_room(&header, vertex, &layout, body, path)?;
    let count = vertex.count as usize;
    let mut points = Points {
        positions: Vec::with_capacity(count),
        colours: Vec::with_capacity(count),
        random: false,
    };
    if header.encoding == Encoding::Ascii {
        read_ascii(body, &header, count, &layout, &mut points, path)?;
    } else {
        let mut row = vec![0.0; layout.columns.len()];
        for vertex in body.chunks_exact(vertex.least_stride()).take(count) {
            let mut at = 0;
            for (value, &(_, scalar)) in row.iter_mut().zip(&layout.columns) {
                *value = number(vertex, at, scalar, header.encoding == Encoding::Big);
                at += scalar.size();
            }
            layout.push(&row, &mut points);
        }
    }
    Ok(points)
}

/// Refuses more vertices than the file has room for.
fn check_room(
    header: &Header,
    vertex: &Element,
    layout: &Layout,
    body: &[u8],
    path: &Path,
) -> Result<(), DataError> {
    // An ascii row has at least a digit and a separator for each value; the last may lack the
    // separator.
    let (smallest, room) = match header.encoding {
        Encoding::Ascii => (2 * layout.columns.len() as u64, body.len() as u64 + 1),
        _ => (vertex.least_stride() as u64, body.len() as u64),
    };
    if vertex
        .count
        .checked_mul(smallest)
        .is_some_and(|needed| needed <= room)
    {
        return Ok(());
    }
    Err(DataError::new(
        path,
        format!(
            "{} vertices declared, but the file has room for {}",
            vertex.count,
            room / smallest
        ),
        "the file is truncated or corrupt: copy or write it again",
    ))
}

/// Reads `count` rows of text that begin after `header`.
fn read_ascii(
    body: &[u8],
    header: &Header,
    count: usize,
    layout: &Layout,
    points: &mut Points,
    path: &Path,
) -> Result<(), DataError> {
    let text = std::str::from_utf8(body).map_err(|_| DataError::new(path, "not ascii", REMEDY))?;
    let mut lines = text
        .lines()
        .zip(header.lines + 1..)
        .filter(|(line, _)| !line.trim().is_empty());
    let mut row = vec![0.0; layout.columns.len()];
    for done in 0..count {
        let Some((text, line)) = lines.next() else {
            return Err(DataError::new(
                path,
                format!("{count} vertices declared, {done} found"),
                REMEDY,
            ));
        };
        let mut words = text.split_ascii_whitespace();
        for value in &mut row {
            *value = words.next().and_then(|w| w.parse().ok()).ok_or_else(|| {
                DataError::new(path, "a vertex lacks a number", REMEDY).at(Place::Line(line))
            })?;
        }
        layout.push(&row, points);
    }
    Ok(())
}
