//! The data of a binary PLY.

use super::header::{Element, Encoding, Header, Kind, Scalar};
use super::layout::{Layout, Slot, TRUNCATED, fill, fill_row};
use crate::words::quoted;
use crate::{DataError, Place};
use rayon::prelude::*;
use splatcore_core::Gaussians;
use std::path::Path;

/// Rows that a thread takes at a time.
const CHUNK: usize = 4096;

/// Where the rows of the element `vertex` are.
#[derive(Clone, Debug)]
pub struct Table {
    /// The byte of the first row.
    pub start: usize,
    /// Rows, which are all inside the file if they have no lists.
    pub count: usize,
    /// Bytes of a row; none if rows hold lists, which have any length.
    pub stride: Option<usize>,
    /// Values are big-endian.
    pub big: bool,
}

impl Table {
    /// Finds the rows, behind those of the elements before.
    pub fn find(
        bytes: &[u8],
        header: &Header,
        layout: &Layout,
        path: &Path,
    ) -> Result<Self, DataError> {
        let big = header.encoding == Encoding::Big;
        let mut start = header.end;
        for element in &header.elements[..layout.element] {
            start = skip(bytes, start, element, big, path)?;
        }
        let vertex = &header.elements[layout.element];
        Ok(Self {
            start,
            count: fitting(bytes, start, vertex, path)?,
            stride: vertex.stride(),
            big,
        })
    }

    /// What to say of bytes behind the last row, if no other element is there.
    pub fn rest(&self, bytes: &[u8], header: &Header, layout: &Layout) -> Option<String> {
        let end = self.start + self.count * self.stride?;
        let last = layout.element + 1 == header.elements.len();
        (last && end < bytes.len()).then(|| {
            format!(
                "{} bytes after the last of {} Gaussians were ignored",
                bytes.len() - end,
                self.count
            )
        })
    }
}

/// Decodes the element `vertex`.
pub fn decode(
    bytes: &[u8],
    header: &Header,
    layout: &Layout,
    notes: &mut Vec<String>,
    path: &Path,
) -> Result<Gaussians, DataError> {
    let table = Table::find(bytes, header, layout, path)?;
    let mut gaussians = Gaussians::zeros(table.count, layout.sh_degree);
    let Some(stride) = table.stride else {
        let vertex = &header.elements[layout.element];
        walk(
            bytes,
            table.start,
            vertex,
            layout,
            table.big,
            &mut gaussians,
            path,
        )?;
        return Ok(gaussians);
    };
    let rows = &bytes[table.start..table.start + table.count * stride];
    // Exporters nearly always write f32 in the machine's order: then a value is a plain copy.
    if !table.big && layout.is_f32() {
        gather(rows, stride, layout, &mut gaussians, |row, slot| {
            le_f32(row, slot.offset)
        });
    } else {
        gather(rows, stride, layout, &mut gaussians, |row, slot| {
            value(row, slot.offset, slot.scalar, table.big)
        });
    }
    notes.extend(table.rest(bytes, header, layout));
    Ok(gaussians)
}

/// The count of an element, once it is sure that so many rows can be there.
fn fitting(bytes: &[u8], at: usize, element: &Element, path: &Path) -> Result<usize, DataError> {
    let left = bytes.len() - at;
    let stride = element.least_stride();
    let needed = element.count.checked_mul(stride as u64);
    match needed {
        Some(needed) if needed <= left as u64 => Ok(element.count as usize),
        _ => {
            let whole = left / stride.max(1);
            let problem = format!(
                "the header declares {} rows of element {} of at least {stride} bytes, the data \
                 ends after {whole}",
                element.count,
                quoted(&element.name),
            );
            Err(DataError::new(path, problem, TRUNCATED).at(Place::Byte(bytes.len() as u64)))
        }
    }
}

/// Fills the Gaussians from rows of equal length; `value` gives one value of a row.
fn gather(
    rows: &[u8],
    stride: usize,
    layout: &Layout,
    gaussians: &mut Gaussians,
    value: impl Fn(&[u8], Slot) -> f32 + Sync,
) {
    let k = gaussians.coefficients();
    let slots = &layout.slots;
    (
        rows.par_chunks(stride * CHUNK),
        gaussians.means.par_chunks_mut(CHUNK),
        gaussians.log_scales.par_chunks_mut(CHUNK),
        gaussians.rotations.par_chunks_mut(CHUNK),
        gaussians.opacity_logits.par_chunks_mut(CHUNK),
        gaussians.sh.par_chunks_mut(CHUNK * k),
    )
        .into_par_iter()
        .for_each(|(rows, means, log_scales, rotations, opacity_logits, sh)| {
            for (i, row) in rows.chunks_exact(stride).enumerate() {
                fill(
                    slots,
                    |slot| value(row, slot),
                    &mut means[i],
                    &mut log_scales[i],
                    &mut rotations[i],
                    &mut opacity_logits[i],
                    &mut sh[i * k..(i + 1) * k],
                );
            }
        });
}

/// Fills the Gaussians from rows that hold lists, one value after the other.
fn walk(
    bytes: &[u8],
    mut at: usize,
    vertex: &Element,
    layout: &Layout,
    big: bool,
    gaussians: &mut Gaussians,
    path: &Path,
) -> Result<(), DataError> {
    let mut row = vec![0.0; vertex.properties.len()];
    for i in 0..gaussians.len() {
        for (column, property) in vertex.properties.iter().enumerate() {
            if let Kind::Scalar(scalar) = property.kind
                && let Some(field) = bytes.get(at..at + scalar.size())
            {
                row[column] = value(field, 0, scalar, big);
            }
            at = after(bytes, at, property.kind, big)
                .ok_or_else(|| ends_inside(bytes, vertex, i, path))?;
        }
        fill_row(gaussians, i, &layout.slots, |slot| row[slot.column]);
    }
    Ok(())
}

/// Where an element that is not wanted ends.
fn skip(
    bytes: &[u8],
    mut at: usize,
    element: &Element,
    big: bool,
    path: &Path,
) -> Result<usize, DataError> {
    let count = fitting(bytes, at, element, path)?;
    if let Some(stride) = element.stride() {
        return Ok(at + count * stride);
    }
    for row in 0..count {
        for property in &element.properties {
            at = after(bytes, at, property.kind, big)
                .ok_or_else(|| ends_inside(bytes, element, row, path))?;
        }
    }
    Ok(at)
}

fn ends_inside(bytes: &[u8], element: &Element, row: usize, path: &Path) -> DataError {
    let name = quoted(&element.name);
    let problem = format!(
        "the data ends inside row {row} of {} of element {name}",
        element.count
    );
    DataError::new(path, problem, TRUNCATED).at(Place::Byte(bytes.len() as u64))
}

/// Where a property that starts at `at` ends, if that is inside the file.
fn after(bytes: &[u8], at: usize, kind: Kind, big: bool) -> Option<usize> {
    let end = match kind {
        Kind::Scalar(scalar) => at + scalar.size(),
        Kind::List { count, item } => {
            let field = bytes.get(at..at + count.size())?;
            // f64 holds every 32-bit count exactly; a negative one becomes no items.
            let items = number(field, 0, count, big) as u64;
            let length = usize::try_from(items.checked_mul(item.size() as u64)?).ok()?;
            (at + count.size()).checked_add(length)?
        }
    };
    (end <= bytes.len()).then_some(end)
}

#[inline]
fn le_f32(row: &[u8], offset: usize) -> f32 {
    f32::from_le_bytes(field(row, offset))
}

/// The value of a type at an offset, as f32.
pub fn value(row: &[u8], offset: usize, scalar: Scalar, big: bool) -> f32 {
    match (scalar, big) {
        // Not through f64: that would change the bits of a NaN.
        (Scalar::F32, false) => le_f32(row, offset),
        (Scalar::F32, true) => f32::from_be_bytes(field(row, offset)),
        _ => number(row, offset, scalar, big) as f32,
    }
}

/// The value of a type at an offset, in either byte order.
pub(crate) fn number(row: &[u8], offset: usize, scalar: Scalar, big: bool) -> f64 {
    macro_rules! read {
        ($type:ty) => {
            match big {
                true => <$type>::from_be_bytes(field(row, offset)) as f64,
                false => <$type>::from_le_bytes(field(row, offset)) as f64,
            }
        };
    }
    match scalar {
        Scalar::I8 => read!(i8),
        Scalar::U8 => read!(u8),
        Scalar::I16 => read!(i16),
        Scalar::U16 => read!(u16),
        Scalar::I32 => read!(i32),
        Scalar::U32 => read!(u32),
        Scalar::F32 => read!(f32),
        Scalar::F64 => read!(f64),
    }
}

/// The `N` bytes at `offset`, which callers have checked to be there.
#[inline]
fn field<const N: usize>(row: &[u8], offset: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&row[offset..offset + N]);
    bytes
}
