//! NumPy's `.npy` files, as far as datasets need them: matrices of numbers.
//!
//! Source: numpy.lib.format, "Format specification", versions 1.0 to 3.0.

use crate::words::quoted;
use crate::{DataError, Place};
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";
const REMEDY: &str = "write it again with numpy.save, as float64";
/// NumPy writes headers of some hundred bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// `rows * columns` values, row by row. They may be non-finite.
    pub values: Vec<f64>,
    /// They are stored as integers.
    pub integers: bool,
}

/// Whether the bytes begin as a `.npy` file does.
pub(super) fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a matrix of floats of 2 to 8 bytes or of integers without sign of 1 to 4, of either byte
/// order, stored by rows or by columns; a third dimension of 1 is left out. `path` is for messages
/// only.
///
/// # Errors
/// Another type or number of dimensions, a header that is no NumPy header, or more or fewer values
/// than the shape says.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Matrix, DataError> {
    let ([rows, columns], array) = Array::parse(bytes, path, |header| {
        two_counts(&header.shape).ok_or("its shape has not two dimensions")
    })?;
    let mut values = array.values;
    if array.header.by_columns {
        let stored = values;
        values = Vec::with_capacity(stored.len());
        for row in 0..rows {
            values.extend((0..columns).map(|column| stored[column * rows + row]));
        }
    }
    Ok(Matrix {
        rows,
        columns,
        values,
        integers: array.header.integers,
    })
}

/// The bytes of a file with a matrix of rows of so many values, as f32.
///
/// # Panics
/// If the values are not whole rows.
pub fn bytes_of(columns: usize, values: &[f32]) -> Vec<u8> {
    assert!(values.len().is_multiple_of(columns), "a part of a row");
    let shape = format!("({}, {columns})", values.len() / columns);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    // The values begin at a multiple of 64 bytes, behind the end of a line.
    let begin = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64);
    let length = begin - MAGIC.len() - 4;
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes()].concat();
    bytes.extend(format!("{header:<width$}\n", width = length - 1).into_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Three numbers for each place of a matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vectors {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<[f64; 3]>,
}

/// Reads vectors, their three numbers along the last dimension or along the first. Types as
/// [`parse`]; not stored by columns.
///
/// # Errors
/// As [`parse`].
pub(super) fn parse_vectors(bytes: &[u8], path: &Path) -> Result<Vectors, DataError> {
    let ((rows, columns, last), Array { values, .. }) =
        Array::parse(bytes, path, |header| match header.shape[..] {
            _ if header.by_columns => Err("it is stored by columns"),
            [rows, columns, 3] | [1, rows, columns, 3] => Ok((rows, columns, true)),
            [3, rows, columns] | [1, 3, rows, columns] => Ok((rows, columns, false)),
            _ => Err("its shape is not that of three numbers for each pixel"),
        })?;
    let places = rows * columns;
    let vector = |i: usize| match last {
        true => [0, 1, 2].map(|k| values[3 * i + k]),
        false => [0, 1, 2].map(|k| values[k * places + i]),
    };
    Ok(Vectors {
        rows,
        columns,
        values: (0..places).map(vector).collect(),
    })
}

/// What a file holds, in its own order.
struct Array {
    header: Header,
    values: Vec<f64>,
}

impl Array {
    /// Reads it, if its header is as it should be; also what that says.
    fn parse<T>(
        bytes: &[u8],
        path: &Path,
        shape: impl Fn(&Header) -> Result<T, &'static str>,
    ) -> Result<(T, Self), DataError> {
        let error = |problem: String| DataError::new(path, problem, REMEDY);
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| error("not a .npy file".into()))?;
        let cut = || error("the file ends inside its header".into());
        let ([major, _minor], rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (length, rest) = match major {
            1 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (u16::from_le_bytes(*length) as usize, rest)
            }
            2 | 3 => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
            _ => return Err(error(format!("version {major} of the format is not known"))),
        };
        if length > LONGEST_HEADER {
            return Err(error(format!("a header of {length} bytes")));
        }
        let (header, body) = rest.split_at_checked(length).ok_or_else(cut)?;
        let header =
            std::str::from_utf8(header).map_err(|_| error("the header is no text".into()))?;
        let header = Header::parse(header).map_err(error)?;
        let shape = shape(&header).map_err(|problem| error(problem.into()))?;
        let count = header
            .shape
            .iter()
            .try_fold(1usize, |all, &count| all.checked_mul(count));
        let wanted = count.and_then(|count| count.checked_mul(header.size));
        if wanted != Some(body.len()) || body.is_empty() {
            let counts: Vec<String> = header.shape.iter().map(usize::to_string).collect();
            return Err(error(format!(
                "{} values of {} bytes declared, {} bytes follow the header",
                counts.join("x"),
                header.size,
                body.len()
            ))
            .at(Place::Byte((bytes.len() - body.len()) as u64)));
        }
        let values = body.chunks_exact(header.size).map(|v| header.value(v));
        let values = values.collect();
        Ok((shape, Self { header, values }))
    }
}

/// What the header's dictionary says.
struct Header {
    /// Bytes of a value.
    size: usize,
    integers: bool,
    big_endian: bool,
    by_columns: bool,
    /// Two or more counts.
    shape: Vec<usize>,
}

impl Header {
    /// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (20, 17), }`: these three keys, in
    /// any order, each once.
    fn parse(text: &str) -> Result<Self, String> {
        let inner = text
            .trim()
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .ok_or("the header is no dictionary")?;
        let (mut descr, mut by_columns, mut shape) = (None, None, None);
        let mut rest = inner.trim();
        while !rest.is_empty() {
            let (key, after) = string(rest).ok_or("the header has a key that is no string")?;
            let after = after
                .trim_start()
                .strip_prefix(':')
                .ok_or("the header has a key without a value")?
                .trim_start();
            let end = match after.strip_prefix('(') {
                Some(tuple) => 2 + tuple.find(')').ok_or("the header has an open tuple")?,
                None => after.find(',').unwrap_or(after.len()),
            };
            let (value, after) = after.split_at(end);
            let slot = match key {
                "descr" => &mut descr,
                "fortran_order" => &mut by_columns,
                "shape" => &mut shape,
                _ => return Err("the header has a key that is not NumPy's".into()),
            };
            if slot.replace(value.trim()).is_some() {
                return Err(format!("the header has '{key}' twice"));
            }
            let after = after.trim_start();
            rest = match after.strip_prefix(',') {
                Some(after) => after.trim_start(),
                None if after.is_empty() => after,
                None => return Err("the header has something behind a value".into()),
            };
        }
        let descr = descr.ok_or("the header names no type")?.trim_matches('\'');
        let known = descr
            .split_at_checked(1)
            .filter(|(order, _)| matches!(*order, "<" | ">" | "|"));
        let (size, integers) = match known.map(|(_, kind)| kind) {
            Some("f2") => (2, false),
            Some("f4") => (4, false),
            Some("f8") => (8, false),
            Some("u1") => (1, true),
            Some("u2") => (2, true),
            Some("u4") => (4, true),
            _ => {
                let other = quoted(descr);
                let read = "only floats and integers without sign are read";
                return Err(format!("its type is {other}, and {read}"));
            }
        };
        let big_endian = descr.starts_with('>');
        let by_columns = match by_columns {
            Some("False") => false,
            Some("True") => true,
            _ => return Err("the header does not say its order".into()),
        };
        let shape = shape.and_then(counts).filter(|shape| shape.len() > 1);
        Ok(Self {
            size,
            integers,
            big_endian,
            by_columns,
            shape: shape.ok_or("its shape has not two dimensions")?,
        })
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let mut order = [0; 8];
        let order = &mut order[..bytes.len()];
        order.copy_from_slice(bytes);
        if self.big_endian {
            order.reverse();
        }
        match *order {
            [byte] => f64::from(byte),
            [a, b] if self.integers => f64::from(u16::from_le_bytes([a, b])),
            [a, b] => f64::from(half::f16::from_le_bytes([a, b])),
            [a, b, c, d] if self.integers => f64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => f64::NAN,
        }
    }
}

/// A string in single quotes at the start, and what follows it.
fn string(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\'')?.split_once('\'')
}

/// `(20, 17)`, and as many counts as there are.
fn counts(text: &str) -> Option<Vec<usize>> {
    let inner = text
        .strip_prefix('(')?
        .strip_suffix(')')?
        .trim_end_matches(',');
    let counts = inner.split(',').map(|count| count.trim().parse().ok());
    counts.collect()
}

/// Of `(20, 17)`, `(1, 20, 17)` or `(20, 17, 1)`.
fn two_counts(shape: &[usize]) -> Option<[usize; 2]> {
    match *shape {
        [rows, columns] | [1, rows, columns] | [rows, columns, 1] => Some([rows, columns]),
        _ => None,
    }
}
