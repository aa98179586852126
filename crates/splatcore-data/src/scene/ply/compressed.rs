//! The compressed PLY of PlayCanvas and SuperSplat: 16 bytes a Gaussian, in chunks of 256 that
//! share bounds.
//!
//! Element `chunk` holds each chunk's bounds of positions, log scales and, in newer files, colours;
//! `vertex` four words a Gaussian; `sh`, where there is one, a byte for each higher coefficient.
//! The format: developer.playcanvas.com, "The Compressed PLY Format".

use super::binary::number;
use super::header::{Element, Encoding, Header, Kind, Scalar};
use super::layout::{EXPORT, TRUNCATED};
use crate::scene::opacity::logit_of_byte;
use crate::words::quoted;
use crate::{DataError, Place};
use rayon::prelude::*;
use splatcore_core::{Gaussians, sh};
use std::ops::Range;
use std::path::Path;

/// Gaussians that share bounds.
pub const CHUNK: usize = 256;

/// Bounds that every chunk has.
pub const BOUNDS: [&str; 12] = [
    "min_x",
    "min_y",
    "min_z",
    "max_x",
    "max_y",
    "max_z",
    "min_scale_x",
    "min_scale_y",
    "min_scale_z",
    "max_scale_x",
    "max_scale_y",
    "max_scale_z",
];
/// Bounds of colours, absent from older files, whose colours lie in [0, 1].
pub const COLOUR_BOUNDS: [&str; 6] = ["min_r", "min_g", "min_b", "max_r", "max_g", "max_b"];
/// What a Gaussian has.
pub const WORDS: [&str; 4] = [
    "packed_position",
    "packed_rotation",
    "packed_scale",
    "packed_color",
];

/// Whether the Gaussians of this file are packed.
pub fn is_compressed(header: &Header) -> bool {
    let packed = |e: &Element| e.properties.iter().any(|p| p.name == WORDS[0]);
    header
        .elements
        .iter()
        .any(|e| e.name == "vertex" && packed(e))
}

/// Decodes a compressed PLY.
pub fn decode(
    bytes: &[u8],
    header: &Header,
    notes: &mut Vec<String>,
    path: &Path,
) -> Result<Gaussians, DataError> {
    let wrong =
        |problem: String| DataError::new(path, problem, EXPORT).at(Place::Part("header".into()));
    let big = match header.encoding {
        Encoding::Little => false,
        Encoding::Big => true,
        Encoding::Ascii => return Err(wrong("a compressed PLY cannot be ascii".into())),
    };
    let (tables, end) = tables(bytes, header, path)?;
    let layout = Layout::find(bytes, header, &tables).map_err(wrong)?;
    let mut gaussians = Gaussians::zeros(layout.count, layout.sh_degree);
    if layout.count == 0 {
        return Ok(gaussians);
    }
    unpack(&layout, big, &mut gaussians);
    unpack_higher(&layout, &mut gaussians);
    if end < bytes.len() {
        notes.push(format!(
            "{} bytes after the last element were ignored",
            bytes.len() - end
        ));
    }
    Ok(gaussians)
}

/// Where the parts of a packed scene are.
struct Layout<'a> {
    /// Gaussians in the file.
    count: usize,
    /// Rows of element `chunk`, all of them.
    chunks: &'a [u8],
    chunk_stride: usize,
    bounds: [usize; 12],
    colour_bounds: Option<[usize; 6]>,
    /// Rows of element `vertex`.
    vertices: &'a [u8],
    vertex_stride: usize,
    words: [usize; 4],
    /// Rows of element `sh`, and their stride.
    higher: Option<(&'a [u8], usize)>,
    sh_degree: u8,
    /// Where r, g, b of each higher coefficient are in a row of `sh`.
    coefficients: Vec<[usize; 3]>,
}

impl<'a> Layout<'a> {
    fn find(bytes: &'a [u8], header: &Header, tables: &[Range<usize>]) -> Result<Self, String> {
        let table = |name: &str| {
            let found = header.elements.iter().position(|e| e.name == name)?;
            Some((&header.elements[found], &bytes[tables[found].clone()]))
        };
        let required = |name: &str| {
            table(name)
                .ok_or_else(|| format!("a compressed PLY without the element {}", quoted(name)))
        };
        let (chunk, chunks) = required("chunk")?;
        let (vertex, vertices) = required("vertex")?;
        let sh = table("sh");

        // `tables` made sure that all rows are there.
        let count = vertex.count as usize;
        if chunk.count < vertex.count.div_ceil(CHUNK as u64) {
            return Err(format!(
                "{} chunks of {CHUNK} cannot hold {count} Gaussians",
                chunk.count
            ));
        }
        if let Some((sh, _)) = sh.filter(|(sh, _)| sh.count != vertex.count) {
            return Err(format!(
                "{} rows of element \"sh\" for {count} Gaussians",
                sh.count
            ));
        }
        let bounds = offsets(chunk, &BOUNDS, Scalar::F32)?;
        let has_colours = chunk.properties.iter().any(|p| p.name == COLOUR_BOUNDS[0]);
        let colour_bounds = match has_colours {
            true => Some(offsets(chunk, &COLOUR_BOUNDS, Scalar::F32)?),
            false => None,
        };
        let words = offsets(vertex, &WORDS, Scalar::U32)?;
        let (sh_degree, coefficients) = match sh {
            Some((sh, _)) => higher(sh)?,
            None => (0, Vec::new()),
        };
        Ok(Self {
            count,
            chunks,
            chunk_stride: chunk.least_stride(),
            bounds,
            colour_bounds,
            vertices,
            vertex_stride: vertex.least_stride(),
            words,
            higher: sh.map(|(sh, rows)| (rows, sh.least_stride())),
            sh_degree,
            coefficients,
        })
    }
}

/// Unpacks all but the higher harmonics.
fn unpack(layout: &Layout, big: bool, gaussians: &mut Gaussians) {
    let k = gaussians.coefficients();
    let stride = layout.vertex_stride;
    let chunks = layout.chunks.par_chunks_exact(layout.chunk_stride);
    let rows = layout.vertices.par_chunks(CHUNK * stride);
    (
        (chunks.take(layout.count.div_ceil(CHUNK)), rows),
        gaussians.means.par_chunks_mut(CHUNK),
        gaussians.log_scales.par_chunks_mut(CHUNK),
        gaussians.rotations.par_chunks_mut(CHUNK),
        gaussians.opacity_logits.par_chunks_mut(CHUNK),
        gaussians.sh.par_chunks_mut(CHUNK * k),
    )
        .into_par_iter()
        .for_each(
            |((chunk, rows), means, log_scales, rotations, logits, sh)| {
                let bound = |at: usize| number(chunk, at, Scalar::F32, big);
                let b: [f64; 12] = std::array::from_fn(|i| bound(layout.bounds[i]));
                let mut colours = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
                if let Some(at) = &layout.colour_bounds {
                    colours = std::array::from_fn(|i| bound(at[i]));
                }
                for (i, row) in rows.chunks_exact(stride).enumerate() {
                    let word = |w: usize| number(row, layout.words[w], Scalar::U32, big) as u32;
                    let [position, rotation, scale, colour] = std::array::from_fn(word);
                    means[i] = lerp(&b[..6], unpack_11_10_11(position)).map(|v| v as f32);
                    log_scales[i] = lerp(&b[6..], unpack_11_10_11(scale)).map(|v| v as f32);
                    rotations[i] = smallest_three(rotation);
                    let [red, green, blue, alpha] = colour.to_be_bytes();
                    let rgb = lerp(&colours, [red, green, blue].map(|c| f64::from(c) / 255.0));
                    sh[i * k] = rgb.map(|c| ((c - 0.5) / sh::C0) as f32);
                    logits[i] = logit_of_byte(alpha);
                }
            },
        );
}

/// Unpacks the harmonics above degree 0, if there are any.
fn unpack_higher(layout: &Layout, gaussians: &mut Gaussians) {
    let Some((rows, stride)) = layout.higher else {
        return;
    };
    let k = gaussians.coefficients();
    let table = sh_table();
    gaussians
        .sh
        .par_chunks_exact_mut(k)
        .zip(rows.par_chunks_exact(stride))
        .for_each(|(sh, row)| {
            for (to, from) in sh[1..].iter_mut().zip(&layout.coefficients) {
                *to = from.map(|at| table[row[at] as usize]);
            }
        });
}

/// Where each element's rows are, all inside the file, and where the last one ends.
fn tables(
    bytes: &[u8],
    header: &Header,
    path: &Path,
) -> Result<(Vec<Range<usize>>, usize), DataError> {
    let mut at = header.end;
    let mut tables = Vec::with_capacity(header.elements.len());
    for element in &header.elements {
        let name = quoted(&element.name);
        let Some(stride) = element.stride() else {
            let problem = format!("element {name} of a compressed PLY holds lists");
            return Err(DataError::new(path, problem, EXPORT).at(Place::Part("header".into())));
        };
        let left = bytes.len() - at;
        let Some(length) = element
            .count
            .checked_mul(stride as u64)
            .filter(|&length| length <= left as u64)
        else {
            let problem = format!(
                "the header declares {} rows of element {name} of {stride} bytes, the data ends \
                 after {}",
                element.count,
                left / stride.max(1)
            );
            return Err(
                DataError::new(path, problem, TRUNCATED).at(Place::Byte(bytes.len() as u64))
            );
        };
        tables.push(at..at + length as usize);
        at += length as usize;
    }
    Ok((tables, at))
}

/// The bytes in a row at which the named properties are, which must have one type.
fn offsets<const N: usize>(
    element: &Element,
    names: &[&str; N],
    scalar: Scalar,
) -> Result<[usize; N], String> {
    let mut found = [0; N];
    for (offset, name) in found.iter_mut().zip(names) {
        *offset = offset_of(element, name, scalar)?;
    }
    Ok(found)
}

fn offset_of(element: &Element, name: &str, scalar: Scalar) -> Result<usize, String> {
    let mut offset = 0;
    for property in &element.properties {
        let Kind::Scalar(found) = property.kind else {
            break;
        };
        if property.name == name {
            return match found == scalar {
                true => Ok(offset),
                false => Err(format!(
                    "property {name} is {found:?}, a compressed PLY has {scalar:?} there"
                )),
            };
        }
        offset += found.size();
    }
    Err(format!("element {} lacks {name}", quoted(&element.name)))
}

/// The degree of the spherical harmonics and where r, g, b of each higher coefficient are in a row.
fn higher(element: &Element) -> Result<(u8, Vec<[usize; 3]>), String> {
    let properties = &element.properties;
    let rest = properties
        .iter()
        .filter(|p| p.name.starts_with("f_rest_"))
        .count();
    let sh_degree = match rest {
        0 => 0,
        9 => 1,
        24 => 2,
        45 => 3,
        _ => {
            return Err(format!(
                "{rest} properties f_rest_*, where 0, 9, 24 or 45 make a degree of 0 to 3"
            ));
        }
    };
    let higher = sh::coefficients(sh_degree) - 1;
    let mut found = vec![[0; 3]; higher];
    for (coefficient, offsets) in found.iter_mut().enumerate() {
        for (channel, offset) in offsets.iter_mut().enumerate() {
            // Channel-major, as in a plain PLY.
            let name = format!("f_rest_{}", channel * higher + coefficient);
            *offset = offset_of(element, &name, Scalar::U8)?;
        }
    }
    Ok((sh_degree, found))
}

/// The coefficient of each byte: 0 and 255 are the ends of [-4, 4], the others the middles of
/// 1/256ths.
fn sh_table() -> [f32; 256] {
    std::array::from_fn(|byte| {
        let unit = match byte {
            0 => 0.0,
            255 => 1.0,
            _ => (byte as f64 + 0.5) / 256.0,
        };
        ((unit - 0.5) * 8.0) as f32
    })
}

/// Three values between the bounds, lower ones first.
fn lerp(bounds: &[f64], at: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|c| bounds[c] * (1.0 - at[c]) + bounds[3 + c] * at[c])
}

/// The top 11, the middle 10 and the low 11 bits, each over [0, 1].
fn unpack_11_10_11(word: u32) -> [f64; 3] {
    [
        f64::from(word >> 21) / 2047.0,
        f64::from(word >> 11 & 1023) / 1023.0,
        f64::from(word & 2047) / 2047.0,
    ]
}

/// The index of the largest of w, x, y, z in the top two bits, then the three others in 10 bits
/// each over [-1/√2, 1/√2]; the largest is positive, from the unit length. Returns w, x, y, z.
fn smallest_three(word: u32) -> [f32; 4] {
    let largest = (word >> 30) as usize;
    let mut wxyz = [0.0f64; 4];
    let mut squares = 0.0;
    for (i, shift) in (0..4).filter(|&i| i != largest).zip([20, 10, 0]) {
        let value = (f64::from(word >> shift & 1023) / 1023.0 - 0.5) * std::f64::consts::SQRT_2;
        wxyz[i] = value;
        squares += value * value;
    }
    wxyz[largest] = (1.0 - squares).max(0.0).sqrt();
    wxyz.map(|v| v as f32)
}
