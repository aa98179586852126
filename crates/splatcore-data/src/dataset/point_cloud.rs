//! A point cloud as PLY: x, y, z and red, green, blue of the first element, ascii or binary.

use super::Points;
use crate::{DataError, Place};
use std::path::Path;

const REMEDY: &str = "write the point cloud again, as PLY with x, y, z, red, green, blue";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "char" | "int8" => Kind::I8,
            "uchar" | "uint8" => Kind::U8,
            "short" | "int16" => Kind::I16,
            "ushort" | "uint16" => Kind::U16,
            "int" | "int32" => Kind::I32,
            "uint" | "uint32" => Kind::U32,
            "float" | "float32" => Kind::F32,
            "double" | "float64" => Kind::F64,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// The value of `self.size()` bytes, most significant last.
    fn value(self, little: [u8; 8]) -> f64 {
        let [a, b, c, d, ..] = little;
        match self {
            Kind::I8 => a as i8 as f64,
            Kind::U8 => a as f64,
            Kind::I16 => i16::from_le_bytes([a, b]) as f64,
            Kind::U16 => u16::from_le_bytes([a, b]) as f64,
            Kind::I32 => i32::from_le_bytes([a, b, c, d]) as f64,
            Kind::U32 => u32::from_le_bytes([a, b, c, d]) as f64,
            Kind::F32 => f32::from_le_bytes([a, b, c, d]) as f64,
            Kind::F64 => f64::from_le_bytes(little),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Ascii,
    Little,
    Big,
}

struct Header {
    encoding: Encoding,
    count: u64,
    properties: Vec<(String, Kind)>,
    /// Offset and line number of what follows.
    body: usize,
    line: usize,
}

fn header(bytes: &[u8], path: &Path) -> Result<Header, DataError> {
    let wrong = |line: usize, problem: String| DataError::new(path, problem, REMEDY).at(Place::Line(line));
    let (mut encoding, mut count, mut properties) = (None, None, Vec::new());
    let (mut at, mut elements) = (0, 0);
    for line in 1..=1000 {
        let Some(length) = bytes[at..].iter().take(4096).position(|&b| b == b'\n') else {
            return Err(wrong(line, "the header has no end_header".into()));
        };
        let text = String::from_utf8_lossy(&bytes[at..at + length]);
        at += length + 1;
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["ply"] if line == 1 => {}
            _ if line == 1 => {
                return Err(wrong(1, "not a PLY file (its first line is not 'ply')".into()));
            }
            ["format", kind, "1.0"] => {
                encoding = Some(match *kind {
                    "ascii" => Encoding::Ascii,
                    "binary_little_endian" => Encoding::Little,
                    "binary_big_endian" => Encoding::Big,
                    _ => return Err(wrong(line, format!("unknown format '{kind}'"))),
                });
            }
            ["element", name, number] => {
                elements += 1;
                if elements == 1 {
                    if *name != "vertex" {
                        return Err(wrong(line, format!("the first element is '{name}', not vertex")));
                    }
                    count = Some(
                        number
                            .parse()
                            .map_err(|_| wrong(line, format!("'{number}' is no count")))?,
                    );
                }
            }
            ["property", "list", ..] if elements == 1 => {
                return Err(wrong(line, "a vertex with a list property".into()));
            }
            ["property", kind, name] if elements == 1 => {
                let kind = Kind::named(kind).ok_or_else(|| wrong(line, format!("unknown type '{kind}'")))?;
                properties.push(((*name).to_owned(), kind));
            }
            ["end_header"] => {
                let (Some(encoding), Some(count)) = (encoding, count) else {
                    return Err(wrong(line, "the header declares no format or no vertices".into()));
                };
                return Ok(Header {
                    encoding,
                    count,
                    properties,
                    body: at,
                    line: line + 1,
                });
            }
            _ => {}
        }
    }
    Err(wrong(1000, "the header has no end_header".into()))
}

/// Reads a point cloud. Colours are 8 bit, 16 bit, or floats in [0, 1]; without them points are grey. `path` is
/// for messages only. Positions may be non-finite.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Points, DataError> {
    let header = header(bytes, path)?;
    let column = |names: [&str; 3]| {
        header
            .properties
            .iter()
            .position(|(name, _)| names.contains(&name.as_str()))
    };
    let xyz = [column(["x"; 3]), column(["y"; 3]), column(["z"; 3])];
    let [Some(x), Some(y), Some(z)] = xyz else {
        return Err(DataError::new(path, "the vertices have no x, y or z", REMEDY));
    };
    let rgb = [
        column(["red", "r", "diffuse_red"]),
        column(["green", "g", "diffuse_green"]),
        column(["blue", "b", "diffuse_blue"]),
    ];
    let body = &bytes[header.body..];
    let stride: usize = header.properties.iter().map(|(_, kind)| kind.size()).sum();
    // An ascii row has at least a digit and a separator for each value; the last may lack the separator.
    let (smallest, room) = match header.encoding {
        Encoding::Ascii => (2 * header.properties.len() as u64, body.len() as u64 + 1),
        _ => (stride as u64, body.len() as u64),
    };
    if header
        .count
        .checked_mul(smallest)
        .is_none_or(|needed| needed > room)
    {
        return Err(DataError::new(
            path,
            format!(
                "{} vertices declared, but the file has room for {}",
                header.count,
                room / smallest
            ),
            "the file is truncated or corrupt: copy or write it again",
        ));
    }
    let count = header.count as usize;
    let mut points = Points {
        positions: Vec::with_capacity(count),
        colours: Vec::with_capacity(count),
        random: false,
    };
    let mut push = |row: &[f64]| {
        points.positions.push([row[x], row[y], row[z]].map(|v| v as f32));
        points.colours.push(rgb.map(|column| {
            let Some(column) = column else { return 128 };
            let scale = match header.properties[column].1 {
                Kind::F32 | Kind::F64 => 255.0,
                Kind::U16 => 1.0 / 257.0,
                _ => 1.0,
            };
            (row[column] * scale).round().clamp(0.0, 255.0) as u8
        }));
    };
    let mut row = vec![0.0; header.properties.len()];
    if header.encoding == Encoding::Ascii {
        let text = std::str::from_utf8(body).map_err(|_| DataError::new(path, "not ascii", REMEDY))?;
        let mut lines = text
            .lines()
            .zip(header.line..)
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
            for (value, (_, kind)) in row.iter_mut().zip(&header.properties) {
                let size = kind.size();
                let mut little = [0; 8];
                little[..size].copy_from_slice(&vertex[at..at + size]);
                if header.encoding == Encoding::Big {
                    little[..size].reverse();
                }
                *value = kind.value(little);
                at += size;
            }
            push(&row);
        }
    }
    Ok(points)
}
