//! Writing PlayCanvas's compressed PLY.

use super::compressed::{BOUNDS, CHUNK, COLOUR_BOUNDS, WORDS};
use super::write::mip_comments;
use crate::scene::morton::morton_order;
use crate::scene::rows::{Rows, in_ordered_pieces};
use crate::scene::written::{
    Progress, WriteOptions, Written, clamped_note, degree_note, size_of, spool,
};
use crate::{DataError, file};
use rayon::prelude::*;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};
use std::fmt::Write as _;
use std::io::{Seek, Write};
use std::path::Path;

/// Log scales are clamped to this and its negative, as PlayCanvas does.
const MAX_SCALE: f32 = 20.0;
/// Higher coefficients are bytes over this and its negative.
const MAX_SH: f32 = 4.0;
/// Highest degree that the format has.
const MAX_DEGREE: u8 = 3;

/// The bounds of a chunk: 3 lower and 3 upper ends of positions, log scales and colours.
type Bounds = [f32; BOUNDS.len() + COLOUR_BOUNDS.len()];

/// Writes a scene as compressed PLY: in each chunk of 256 Gaussians positions and log scales are
/// rounded to 11, 10 and 11 bits, colours and opacities to 8 bits, rotations to 10 bits a
/// component, higher coefficients to bytes over [-4, 4]. Gaussians are put in Morton order, which
/// keeps the chunks small, unless [`WriteOptions::keep_order`] is set. Degree 4 is cut to 3.
///
/// # Errors
/// If the file cannot be written; then nothing is left under its name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    let degree = rows.sh_degree().min(MAX_DEGREE);
    let higher = sh::coefficients(degree) - 1;
    let order = (!options.keep_order).then(|| morton_order(rows));
    let order = order.transpose()?;
    let mut clamped = [0; 2];
    file::write_atomically(path, |writer| {
        let mut chunks: Vec<Bounds> = Vec::with_capacity(rows.len().div_ceil(CHUNK));
        let (mut vertices, mut coefficients) = (spool(path), spool(path));
        let mut packed = Packed::new(higher);
        in_ordered_pieces(rows, order.as_deref(), |start, piece| {
            let lost = packed.pack(piece);
            clamped = [clamped[0] + lost[0], clamped[1] + lost[1]];
            chunks.extend(&packed.bounds);
            let words = packed.words.as_flattened();
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            vertices.write_all(&words)?;
            coefficients.write_all(&packed.sh)?;
            progress("writing", (start + piece.len()) as u64, rows.len() as u64);
            std::io::Result::Ok(())
        })?;
        let head = header(rows.len(), higher, options.antialiased);
        writer.write_all(head.as_bytes())?;
        for bound in chunks.as_flattened() {
            writer.write_all(&bound.to_le_bytes())?;
        }
        for table in [&mut vertices, &mut coefficients] {
            table.rewind()?;
            std::io::copy(table, writer)?;
        }
        Ok(())
    })?;
    let [scales, higher] = clamped;
    let notes = [
        degree_note(rows, degree),
        clamped_note(scales, "a log scale outside [-20, 20]"),
        clamped_note(higher, "a higher coefficient outside [-4, 4]"),
    ];
    Ok(Written {
        bytes: size_of(path)?,
        notes: notes.into_iter().flatten().collect(),
    })
}

/// A piece as the file holds it.
struct Packed {
    /// Higher coefficients a channel.
    higher: usize,
    bounds: Vec<Bounds>,
    words: Vec<[u32; WORDS.len()]>,
    /// Bytes of higher coefficients, channel-major for each Gaussian.
    sh: Vec<u8>,
}

impl Packed {
    fn new(higher: usize) -> Self {
        Self {
            higher,
            bounds: Vec::new(),
            words: Vec::new(),
            sh: Vec::new(),
        }
    }

    /// Packs a piece that begins with a chunk; how many Gaussians have log scales and higher
    /// coefficients that were clamped.
    fn pack(&mut self, piece: &Gaussians) -> [u64; 2] {
        let count = piece.len();
        self.bounds.resize(count.div_ceil(CHUNK), [0.0; 18]);
        self.words.resize(count, [0; 4]);
        self.sh.resize(count * 3 * self.higher, 0);
        let chunks = self.bounds.par_iter_mut().enumerate();
        let scales = chunks
            .zip(self.words.par_chunks_mut(CHUNK))
            .map(|((chunk, bounds), words)| pack_chunk(piece, chunk * CHUNK, bounds, words))
            .sum();
        if self.higher == 0 {
            return [scales, 0];
        }
        let higher = self.higher;
        let rows = self.sh.par_chunks_exact_mut(3 * higher).enumerate();
        let sh = rows
            .map(|(i, row)| u64::from(!sh_bytes(&piece.sh_of(i)[1..=higher], row)))
            .sum();
        [scales, sh]
    }
}

/// Packs the Gaussians from `start` on, as many as there are words; how many have log scales that
/// were clamped.
fn pack_chunk(piece: &Gaussians, start: usize, bounds: &mut Bounds, words: &mut [[u32; 4]]) -> u64 {
    let values = |i: usize| -> [f32; 9] {
        let [[x, y, z], [u, v, w]] = [piece.means[i], piece.log_scales[i]];
        let [r, g, b] = piece.sh_of(i)[0].map(sh::to_colour);
        let scales = [u, v, w].map(|s| s.clamp(-MAX_SCALE, MAX_SCALE));
        let [u, v, w] = scales;
        // Not all that asks for a file keeps to finite values, and bounds must be.
        [x, y, z, u, v, w, r, g, b].map(|v| match v.is_nan() {
            true => 0.0,
            false => v.clamp(f32::MIN, f32::MAX),
        })
    };
    let (mut low, mut high) = ([f32::INFINITY; 9], [f32::NEG_INFINITY; 9]);
    for i in 0..words.len() {
        for (c, v) in values(start + i).into_iter().enumerate() {
            low[c] = low[c].min(v);
            high[c] = high[c].max(v);
        }
    }
    for kind in 0..3 {
        bounds[6 * kind..6 * kind + 3].copy_from_slice(&low[3 * kind..3 * kind + 3]);
        bounds[6 * kind + 3..6 * kind + 6].copy_from_slice(&high[3 * kind..3 * kind + 3]);
    }
    let share = |v: [f32; 9], c: usize| {
        let [v, low, high] = [v[c], low[c], high[c]].map(f64::from);
        if high > low {
            (v - low) / (high - low)
        } else {
            0.0
        }
    };
    let mut clamped = 0;
    for (i, word) in (start..).zip(words) {
        let v = values(i);
        let [red, green, blue] = [6, 7, 8].map(|c| unorm(share(v, c), 8));
        let alpha = unorm(f64::from(sigmoid(piece.opacity_logits[i])), 8);
        *word = [
            pack_11_10_11([0, 1, 2].map(|c| share(v, c))),
            smallest_three(piece.rotations[i]),
            pack_11_10_11([3, 4, 5].map(|c| share(v, c))),
            red << 24 | green << 16 | blue << 8 | alpha,
        ];
        let beyond = piece.log_scales[i].iter().any(|s| s.abs() > MAX_SCALE);
        clamped += u64::from(beyond);
    }
    clamped
}

/// The nearest of 2^bits values over [0, 1].
fn unorm(share: f64, bits: u32) -> u32 {
    let most = (1u32 << bits) - 1;
    ((share * f64::from(most)).round() as u32).min(most)
}

/// The top 11, the middle 10 and the low 11 bits, each over [0, 1].
fn pack_11_10_11([a, b, c]: [f64; 3]) -> u32 {
    unorm(a, 11) << 21 | unorm(b, 10) << 11 | unorm(c, 11)
}

/// The index of the largest of w, x, y, z in the top two bits, then the three others in 10 bits
/// each over [-1/√2, 1/√2], with the sign for which the largest is positive. A quaternion of no
/// length stands for no rotation.
fn smallest_three(q: [f32; 4]) -> u32 {
    let mut q = q.map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    match length > 0.0 && length.is_finite() {
        true => q = q.map(|v| v / length),
        false => q = [1.0, 0.0, 0.0, 0.0],
    }
    let mut largest = 0;
    for i in 1..4 {
        if q[i].abs() > q[largest].abs() {
            largest = i;
        }
    }
    let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut word = largest as u32;
    for i in (0..4).filter(|&i| i != largest) {
        let share = q[i] * sign * std::f64::consts::FRAC_1_SQRT_2 + 0.5;
        word = word << 10 | unorm(share, 10);
    }
    word
}

/// Coefficients of one Gaussian as bytes, channel-major: 256 equal parts of [-4, 4]. Whether all
/// were in range.
fn sh_bytes(coefficients: &[[f32; 3]], bytes: &mut [u8]) -> bool {
    let mut kept = true;
    for (k, coefficient) in coefficients.iter().enumerate() {
        for (channel, v) in coefficient.iter().enumerate() {
            let share = f64::from(*v) / f64::from(2.0 * MAX_SH) + 0.5;
            bytes[channel * coefficients.len() + k] = (share * 256.0) as u8;
            kept &= v.abs() <= MAX_SH;
        }
    }
    kept
}

/// The header for `count` Gaussians with `higher` coefficients a channel above degree 0.
fn header(count: usize, higher: usize, antialiased: bool) -> String {
    let mut header = format!(
        "ply\nformat binary_little_endian 1.0\n{}",
        mip_comments(antialiased)
    );
    let mut element = |name: &str, count: usize, kind: &str, properties: &[String]| {
        // Writing into a String cannot fail.
        let _ = writeln!(header, "element {name} {count}");
        for property in properties {
            let _ = writeln!(header, "property {kind} {property}");
        }
    };
    let names = |all: &[&str]| all.iter().map(|&name| name.into()).collect::<Vec<String>>();
    let bounds = [names(&BOUNDS), names(&COLOUR_BOUNDS)].concat();
    element("chunk", count.div_ceil(CHUNK), "float", &bounds);
    element("vertex", count, "uint", &names(&WORDS));
    if higher > 0 {
        let rest: Vec<String> = (0..3 * higher).map(|i| format!("f_rest_{i}")).collect();
        element("sh", count, "uchar", &rest);
    }
    header.push_str("end_header\n");
    header
}
