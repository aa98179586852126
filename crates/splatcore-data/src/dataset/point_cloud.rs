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

/// Reads a point cloud. Colours are 8 bit, 16 bit, or floats in [0, 1]; without them points are
/// grey. `path` is for messages only. Positions may be non-finite.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    let header = Header::parse(bytes, path)?;
    let (vertex, columns) = vertices(&header, path)?;
    let column = |names: [&str; 3]| columns.iter().position(|(name, _)| names.contains(name));
    let xyz = [column(["x"; 3]), column(["y"; 3]), column(["z"; 3])];
    let [Some(x), Some(y), Some(z)] = xyz else {
        return Err(DataError::new(
            path,
            "the vertices have no x, y or z",
            REMEDY,
        ));
    };
    let rgb = [
        column(["red", "r", "diffuse_red"]),
        column(["green", "g", "diffuse_green"]),
        column(["blue", "b", "diffuse_blue"]),
    ];
    let body = &bytes[header.end..];
    let stride = vertex.least_stride();
    // An ascii row has at least a digit and a separator for each value; the last may lack the
    // separator.
    let (smallest, room) = match header.encoding {
        Encoding::Ascii => (2 * columns.len() as u64, body.len() as u64 + 1),
        _ => (stride as u64, body.len() as u64),
    };
    if vertex
        .count
        .checked_mul(smallest)
        .is_none_or(|needed| needed > room)
    {
        return Err(DataError::new(
            path,
            format!(
                "{} vertices declared, but the file has room for {}",
                vertex.count,
                room / smallest
            ),
            "the file is truncated or corrupt: copy or write it again",
        ));
    }
    let count = vertex.count as usize;
    let mut points = Points {
        positions: Vec::with_capacity(count),
        colours: Vec::with_capacity(count),
        random: false,
    };
    let mut push = |row: &[f64]| {
        points
            .positions
            .push([row[x], row[y], row[z]].map(|v| v as f32));
        points.colours.push(rgb.map(|column| {
            let Some(column) = column else { return 128 };
            let scale = match columns[column].1 {
                Scalar::F32 | Scalar::F64 => 255.0,
                Scalar::U16 => 1.0 / 257.0,
                _ => 1.0,
            };
            (row[column] * scale).round().clamp(0.0, 255.0) as u8
        }));
    };
    let mut row = vec![0.0; columns.len()];
    if header.encoding == Encoding::Ascii {
        let text =
            std::str::from_utf8(body).map_err(|_| DataError::new(path, "not ascii", REMEDY))?;
        let mut lines = text
            .lines()
            .zip(header.lines + 1..)
            .filter(|(line, _)| !line.trim().is_empty());
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
            push(&row);
        }
    } else {
        for vertex in body.chunks_exact(stride).take(count) {
            let mut at = 0;
            for (value, &(_, scalar)) in row.iter_mut().zip(&columns) {
                *value = number(vertex, at, scalar, header.encoding == Encoding::Big);
                at += scalar.size();
            }
            push(&row);
        }
    }
    Ok(points)
}
