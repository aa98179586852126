//! What the CSV says, as written.

use crate::words::{one_line, quoted};
use crate::{DataError, Place};
use std::path::Path;

const REMEDY: &str = "export Internal/External camera parameters again, with all columns";

/// One photo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// File name.
    pub name: String,
    /// x, y, altitude of the camera, world units.
    pub position: [f64; 3],
    /// Heading (yaw), pitch, roll in degrees.
    pub angles: [f64; 3],
    /// Focal length in millimetres on film 36 mm wide; the film's width is the photo's longer side.
    pub focal: f64,
    /// Principal point from the centre, right and down, as a share of the photo's longer side.
    pub principal: [f64; 2],
    /// Radial k1 to k4.
    pub k: [f64; 4],
    /// Tangential t1, t2.
    pub t: [f64; 2],
}

/// A column's name in RealityCapture, and in RealityScan if that differs.
type Column = [&'static str; 2];

const NAME: Column = ["name"; 2];
/// In the order of [`Row`]'s numbers; the first seven must be there.
const NUMBERS: [Column; 15] = [
    ["x"; 2],
    ["y"; 2],
    ["alt"; 2],
    ["heading", "yaw"],
    ["pitch"; 2],
    ["roll"; 2],
    ["f", "f_35mm"],
    ["px", "px_norm"],
    ["py", "py_norm"],
    ["k1"; 2],
    ["k2"; 2],
    ["k3"; 2],
    ["k4"; 2],
    ["t1"; 2],
    ["t2"; 2],
];
const REQUIRED: usize = 7;

/// Where the columns are.
struct Header {
    name: usize,
    numbers: [Option<usize>; NUMBERS.len()],
}

impl Header {
    /// Reads `#name,x,y,alt,...`; nothing if a required column is missing.
    fn parse<'a>(fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let own: Vec<String> = fields
            .map(|field| field.trim().trim_start_matches('#').to_lowercase())
            .collect();
        let find = |column: Column| own.iter().position(|own| column.contains(&own.as_str()));
        let numbers = NUMBERS.map(find);
        let complete = numbers[..REQUIRED].iter().all(Option::is_some);
        let name = find(NAME)?;
        complete.then_some(Self { name, numbers })
    }
}

/// Whether the first line, or the second after a line `#cameras N`, names the columns.
pub(super) fn has_header(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|&b| b == b'\n').take(2).any(|line| {
        let line = std::str::from_utf8(line).ok();
        line.is_some_and(|line| Header::parse(line.split(',')).is_some())
    })
}

/// Reads the file. `path` is for messages only. Numbers may be non-finite.
///
/// # Errors
/// No line with the names of the columns, a line that lacks one, a field that is no number.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Vec<Row>, DataError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let mut header = None;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| DataError::new(path, one_line(&e), REMEDY))?;
        let line = record.position().map_or(0, |at| at.line() as usize);
        let Some(header) = &header else {
            if record
                .get(0)
                .is_some_and(|first| first.starts_with("#cameras"))
            {
                continue;
            }
            header = Header::parse(record.iter());
            if header.is_none() {
                break;
            }
            continue;
        };
        if record.iter().all(str::is_empty) {
            continue;
        }
        let row = row(header, &record);
        rows.push(
            row.map_err(|problem| DataError::new(path, problem, REMEDY).at(Place::Line(line)))?,
        );
    }
    if header.is_none() {
        return Err(DataError::new(
            path,
            "the first line does not name the columns (#name,x,y,alt,heading,pitch,roll,f,...)",
            REMEDY,
        ));
    }
    Ok(rows)
}

fn row(header: &Header, record: &csv::StringRecord) -> Result<Row, String> {
    let name = record.get(header.name).unwrap_or("");
    if name.is_empty() {
        return Err("the photo's name is missing".into());
    }
    let mut values = [0.0; NUMBERS.len()];
    for (i, value) in values.iter_mut().enumerate() {
        let Some(column) = header.numbers[i] else {
            continue;
        };
        let what = NUMBERS[i][0];
        let field = record.get(column).ok_or(format!("{what} is missing"))?;
        *value = field.parse().map_err(|_| {
            let field = quoted(field);
            format!("{what} is {field}, not a number")
        })?;
    }
    let [
        x,
        y,
        z,
        heading,
        pitch,
        roll,
        focal,
        px,
        py,
        k1,
        k2,
        k3,
        k4,
        t1,
        t2,
    ] = values;
    Ok(Row {
        name: name.to_owned(),
        position: [x, y, z],
        angles: [heading, pitch, roll],
        focal,
        principal: [px, py],
        k: [k1, k2, k3, k4],
        t: [t1, t2],
    })
}
