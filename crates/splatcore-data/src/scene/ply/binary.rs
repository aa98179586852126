//! The data of a binary PLY.

use super::header::{Element, Encoding, Header, Kind, Scalar};
use super::layout::{Layout, Slot, TRUNCATED, fill, fill_row};
use crate::scene::source::Bytes;
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
    /// Finds the rows, behind those of the elements before; if there are lists, the bytes are in
    /// memory.
    pub fn find(
        bytes: Bytes<'_>,
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
            count: fitting(bytes.len(), start, vertex, path)?,
            stride: vertex.stride(),
            big,
        })
    }

    /// What to say of bytes behind the last row, if no other element is there.
    pub fn rest(&self, bytes: Bytes<'_>, header: &Header, layout: &Layout) -> Option<String> {
        let end = (self.start + self.count * self.stride?) as u64;
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
    bytes: Bytes<'_>,
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
            bytes.in_memory(),
            table.start,
            vertex,
            layout,
            table.big,
            &mut gaussians,
            path,
        )?;
        return Ok(gaussians);
    };
    let rows = RowDecoder::new(layout, table.big);
    let parts = parts(&mut gaussians, 0, CHUNK).enumerate();
    parts.try_for_each_init(Vec::new, |buffer, (chunk, mut part)| {
        let start = table.start + chunk * CHUNK * stride;
        let bytes = bytes.part(start as u64, part.means.len() * stride, buffer)?;
        for (i, row) in bytes.chunks_exact(stride).enumerate() {
            rows.decode(row, &mut part, i);
        }
        Ok::<(), DataError>(())
    })?;
    notes.extend(table.rest(bytes, header, layout));
    Ok(gaussians)
}

/// The count of an element, once it is sure that so many rows can be there.
fn fitting(length: u64, at: usize, element: &Element, path: &Path) -> Result<usize, DataError> {
    let left = length - at as u64;
    let stride = element.least_stride();
    let needed = element.count.checked_mul(stride as u64);
    match needed {
        Some(needed) if needed <= left => Ok(element.count as usize),
        _ => {
            let whole = left / stride.max(1) as u64;
            let problem = format!(
                "the header declares {} rows of element {} of at least {stride} bytes, the data \
                 ends after {whole}",
                element.count,
                quoted(&element.name),
            );
            Err(DataError::new(path, problem, TRUNCATED).at(Place::Byte(length)))
        }
    }
}

/// Gaussians that lie one after another.
pub struct Part<'a> {
    pub means: &'a mut [[f32; 3]],
    log_scales: &'a mut [[f32; 3]],
    rotations: &'a mut [[f32; 4]],
    opacity_logits: &'a mut [f32],
    sh: &'a mut [[f32; 3]],
    /// Coefficients of a Gaussian.
    coefficients: usize,
}

/// The Gaussians from `start` on in parts of `size`, the last of what is left.
pub fn parts(
    gaussians: &mut Gaussians,
    start: usize,
    size: usize,
) -> impl IndexedParallelIterator<Item = Part<'_>> {
    let k = gaussians.coefficients();
    let columns = (
        gaussians.means[start..].par_chunks_mut(size),
        gaussians.log_scales[start..].par_chunks_mut(size),
        gaussians.rotations[start..].par_chunks_mut(size),
        gaussians.opacity_logits[start..].par_chunks_mut(size),
        gaussians.sh[start * k..].par_chunks_mut(size * k),
    );
    let part = move |(means, log_scales, rotations, opacity_logits, sh)| Part {
        means,
        log_scales,
        rotations,
        opacity_logits,
        sh,
        coefficients: k,
    };
    columns.into_par_iter().map(part)
}

/// Decodes rows without lists.
pub struct RowDecoder<'a> {
    slots: &'a [Slot],
    big: bool,
    /// Exporters nearly always write f32 in the machine's order: then a value is a plain copy.
    copies: bool,
}

impl<'a> RowDecoder<'a> {
    pub fn new(layout: &'a Layout, big: bool) -> Self {
        Self {
            slots: &layout.slots,
            big,
            copies: !big && layout.is_f32(),
        }
    }

    /// Decodes a row to the Gaussian `i` of a part.
    #[inline]
    pub fn decode(&self, row: &[u8], part: &mut Part<'_>, i: usize) {
        match self.copies {
            true => self.fill(part, i, |slot| le_f32(row, slot.offset)),
            false => self.fill(part, i, |slot| {
                value(row, slot.offset, slot.scalar, self.big)
            }),
        }
    }

    #[inline]
    fn fill(&self, part: &mut Part<'_>, i: usize, value: impl Fn(Slot) -> f32) {
        let k = part.coefficients;
        fill(
            self.slots,
            value,
            &mut part.means[i],
            &mut part.log_scales[i],
            &mut part.rotations[i],
            &mut part.opacity_logits[i],
            &mut part.sh[i * k..(i + 1) * k],
        );
    }
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
    bytes: Bytes<'_>,
    mut at: usize,
    element: &Element,
    big: bool,
    path: &Path,
) -> Result<usize, DataError> {
    let count = fitting(bytes.len(), at, element, path)?;
    if let Some(stride) = element.stride() {
        return Ok(at + count * stride);
    }
    let bytes = bytes.in_memory();
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
