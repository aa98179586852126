//! The second pass over the Gaussians: the bytes of the images.

use super::codebook::{ENTRIES, Histogram, nearest};
use super::palette::{Known, Palette, Sample, Search, Sums, Vectors};
use super::survey::{Survey, log};
use crate::DataError;
use crate::scene::rows::{PIECE, Rows};
use crate::scene::written::{Progress, WriteOptions};
use image_webp::{ColorType, EncoderParams, EncodingError, WebPEncoder};
use rayon::prelude::*;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};

pub const MEANS_LOW: &str = "means_l.webp";
pub const MEANS_HIGH: &str = "means_u.webp";
pub const QUATS: &str = "quats.webp";
pub const SCALES: &str = "scales.webp";
pub const SH0: &str = "sh0.webp";
pub const CENTROIDS: &str = "shN_centroids.webp";
pub const LABELS: &str = "shN_labels.webp";

/// All images.
pub const NAMES: [&str; 7] = [MEANS_LOW, MEANS_HIGH, QUATS, SCALES, SH0, CENTROIDS, LABELS];

/// Pixels a side of a lossless WebP.
const LONGEST_SIDE: usize = 1 << 14;
/// Entries of a row of the palette's image.
const PALETTE_ROW: usize = super::super::meta::PALETTE_ROW;
/// Vectors of the sample for each entry of the palette.
const SAMPLES: usize = 8;
/// Gaussians that a thread takes at a time.
const CHUNK: usize = 1024;
/// Of a Gaussian whose weight no caller gives; its inverse is the largest.
const LEAST_WEIGHT: f32 = 1e-6;

/// The pixels of the images that have one for each Gaussian.
pub struct Planes {
    means_low: Vec<[u8; 3]>,
    means_high: Vec<[u8; 3]>,
    quats: Vec<[u8; 4]>,
    scales: Vec<[u8; 3]>,
    sh0: Vec<[u8; 4]>,
    /// Empty at degree 0.
    labels: Vec<[u8; 3]>,
}

/// The palette in bytes.
pub struct PaletteImage {
    pub entries: usize,
    pub codebook: [f32; ENTRIES],
    width: usize,
    pixels: Vec<[u8; 3]>,
}

/// Width and height of the images: nearly square, multiples of 4; none if that is too large.
pub fn size(count: usize) -> Option<(usize, usize)> {
    let width = ((count as f64).sqrt().ceil() as usize)
        .next_multiple_of(4)
        .max(4);
    let height = count.div_ceil(width).next_multiple_of(4).max(4);
    (width <= LONGEST_SIDE && height <= LONGEST_SIDE).then_some((width, height))
}

/// Entries of the palette for so many Gaussians: the largest power of two that they reach, in 1,024
/// to 65,536, as PlayCanvas's splat-transform has it, and one for each of fewer than 1,024; never
/// more than `most`.
fn palette_entries(count: usize, most: u32) -> usize {
    let entries = match count {
        0..1024 => count,
        _ => 1 << count.ilog2().min(16),
    };
    entries.min(most.max(1) as usize)
}

/// How much an error of a Gaussian's harmonics matters: what the caller says, or the root of its
/// opacity times its radius, the geometric mean of its two longest axes. Of the forms that were
/// tried this one loses on no scene (docs/log/files.md).
fn weight(options: &WriteOptions, piece: &Gaussians, i: usize, row: u32) -> f32 {
    if options.weights.is_some() {
        return options.weight(row);
    }
    let mut log_scales = piece.log_scales[i];
    log_scales.sort_unstable_by(f32::total_cmp);
    let radius = (0.5 * (log_scales[1] + log_scales[2])).exp();
    let weight = (sigmoid(piece.opacity_logits[i]) * radius).sqrt();
    weight.clamp(LEAST_WEIGHT, 1.0 / LEAST_WEIGHT)
}

/// Calls `each` with the harmonics above degree 0 of every Gaussian of an order, and with how much
/// these matter, until that returns `false`.
fn each_harmonics(
    rows: &dyn Rows,
    order: &[u32],
    options: &WriteOptions,
    mut each: impl FnMut(&[f32], f32) -> bool,
) -> Result<(), DataError> {
    let mut piece = Gaussians::empty(rows.sh_degree());
    for which in order.chunks(PIECE) {
        piece.retain(|_| false);
        rows.gather(which, &mut piece)?;
        for (i, &row) in which.iter().enumerate() {
            let weight = weight(options, &piece, i, row);
            if !each(piece.sh_of(i)[1..].as_flattened(), weight) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The palette of the harmonics above degree 0, none if there are none: all of them, if few enough
/// differ, or clusters of a sample.
pub fn train(
    rows: &dyn Rows,
    order: &[u32],
    options: &WriteOptions,
    progress: Progress,
) -> Result<Option<Palette>, DataError> {
    if rows.sh_degree() == 0 || order.is_empty() {
        return Ok(None);
    }
    progress("clustering", 0, 1);
    let dimensions = 3 * (sh::coefficients(rows.sh_degree()) - 1);
    let entries = palette_entries(order.len(), options.sog.palette);
    let mut known = Known::new(dimensions, entries);
    each_harmonics(rows, order, options, |vector, _| known.add(vector))?;
    if let Some(palette) = known.palette() {
        return Ok(Some(palette));
    }
    let samples = order.len().min(SAMPLES * entries);
    let mut sample = Sample::new(dimensions);
    let which: Vec<u32> = (0..samples)
        .map(|i| order[(i as u128 * order.len() as u128 / samples as u128) as usize])
        .collect();
    each_harmonics(rows, &which, options, |vector, weight| {
        sample.push(vector, weight);
        true
    })?;
    let palette = Palette::train(&sample, entries, options.sog.iterations);
    Ok(Some(palette))
}

/// Makes all bytes; the palette's entries become the means of what is given to them.
pub fn fill(
    rows: &dyn Rows,
    order: &[u32],
    (width, height): (usize, usize),
    (survey, palette): (&Survey, Option<Palette>),
    options: &WriteOptions,
    progress: Progress,
) -> Result<(Planes, Option<PaletteImage>), DataError> {
    let pixels = width * height;
    let mut planes = Planes {
        means_low: vec![[0; 3]; pixels],
        means_high: vec![[0; 3]; pixels],
        quats: vec![[0, 0, 0, 252]; pixels],
        scales: vec![[0; 3]; pixels],
        sh0: vec![[0; 4]; pixels],
        labels: vec![[0; 3]; if palette.is_some() { pixels } else { 0 }],
    };
    let mut sums = palette.as_ref().map(|palette| Sums::new(palette.entries()));
    let mut piece = Gaussians::empty(rows.sh_degree());
    let mut vectors = Vectors::zeros(0, 3 * (piece.coefficients() - 1));
    for (start, which) in order.chunks(PIECE).enumerate() {
        let start = start * PIECE;
        piece.retain(|_| false);
        rows.gather(which, &mut piece)?;
        planes.fill_piece(start, &piece, survey);
        if let (Some(palette), Some(sums)) = (&palette, &mut sums) {
            vectors = vectors.zeros_like(0);
            (0..piece.len()).for_each(|i| vectors.push(piece.sh_of(i)[1..].as_flattened()));
            let found: Vec<u32> = (0..piece.len())
                .into_par_iter()
                .with_min_len(CHUNK)
                .map_init(Search::default, |search, i| {
                    palette.nearest(vectors.row(i), search)
                })
                .collect();
            for (i, (label, &row)) in found.into_iter().zip(which).enumerate() {
                let weight = weight(options, &piece, i, row);
                let [low, high, ..] = label.to_le_bytes();
                // Blue means nothing; equal to green it costs nothing, since green is subtracted.
                planes.labels[start + i] = [low, high, high];
                sums.add(label as usize, vectors.row(i), weight);
            }
        }
        progress("encoding", (start + which.len()) as u64, order.len() as u64);
    }
    let higher = piece.coefficients() - 1;
    let image = palette
        .zip(sums)
        .map(|(palette, sums)| PaletteImage::of(&palette.moved(&sums), &sums, higher));
    Ok((planes, image))
}

impl Planes {
    /// The bytes of consecutive Gaussians, but for labels.
    fn fill_piece(&mut self, start: usize, piece: &Gaussians, survey: &Survey) {
        let range = start..start + piece.len();
        (
            self.means_low[range.clone()].par_chunks_mut(CHUNK),
            self.means_high[range.clone()].par_chunks_mut(CHUNK),
            self.quats[range.clone()].par_chunks_mut(CHUNK),
            self.scales[range.clone()].par_chunks_mut(CHUNK),
            self.sh0[range].par_chunks_mut(CHUNK),
        )
            .into_par_iter()
            .enumerate()
            .for_each(|(chunk, (low, high, quats, scales, sh0))| {
                for row in 0..low.len() {
                    let i = chunk * CHUNK + row;
                    for c in 0..3 {
                        let (min, max) = (survey.mins[c], survey.maxs[c]);
                        let at = (log(piece.means[i][c]) - min) / (max - min);
                        // Without extent 0/0, which the cast makes 0.
                        let [l, h] = ((at * 65535.0).round() as u16).to_le_bytes();
                        (low[row][c], high[row][c]) = (l, h);
                        scales[row][c] = nearest(&survey.scales, piece.log_scales[i][c]);
                        sh0[row][c] = nearest(&survey.colours, piece.sh_of(i)[0][c]);
                    }
                    quats[row] = smallest_three(piece.rotations[i]);
                    sh0[row][3] = (255.0 * sigmoid(piece.opacity_logits[i])).round() as u8;
                }
            });
    }
}

/// The three components besides the largest, over [-1/√2, 1/√2], and 252 plus the position of the
/// largest among w, x, y, z. All zeros become the identity.
fn smallest_three(wxyz: [f32; 4]) -> [u8; 4] {
    let q = wxyz.map(f64::from);
    // By the largest component first, so that no square overflows or vanishes.
    let largest = (0..4).fold(
        0,
        |best, i| if q[i].abs() > q[best].abs() { i } else { best },
    );
    if q[largest] == 0.0 {
        return [128, 128, 128, 252];
    }
    let scaled = q.map(|v| v / q[largest]);
    let length = scaled.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut bytes = [0, 0, 0, 252 + largest as u8];
    for (to, i) in (0..4).filter(|&i| i != largest).enumerate() {
        let unit = scaled[i] / length * std::f64::consts::SQRT_2;
        bytes[to] = ((unit + 1.0) * 127.5).round() as u8;
    }
    bytes
}

impl PaletteImage {
    /// Rounds entries of `3 * higher` values to the codebook that makes the least square error of
    /// the Gaussians that have them.
    fn of(entries: &Vectors, sums: &Sums, higher: usize) -> Self {
        let mut histogram = Histogram::new();
        let mean = sums.weights.iter().sum::<f64>() / entries.len() as f64;
        for entry in 0..entries.len() {
            // An entry that no Gaussian has counts little.
            let weight = sums.weights[entry].max(1e-3 * mean);
            for &v in &entries.row(entry)[..3 * higher] {
                histogram.add(v, weight);
            }
        }
        let codebook = histogram.codebook();
        let width = PALETTE_ROW * higher;
        let height = entries.len().div_ceil(PALETTE_ROW);
        let mut pixels = vec![[0; 3]; width * height];
        // Rows of 64 entries side by side: pixels in reading order are entry after entry.
        pixels
            .par_chunks_mut(higher)
            .take(entries.len())
            .enumerate()
            .for_each(|(entry, pixels)| {
                for (j, pixel) in pixels.iter_mut().enumerate() {
                    let values = &entries.row(entry)[3 * j..3 * j + 3];
                    *pixel = std::array::from_fn(|c| nearest(&codebook, values[c]));
                }
            });
        Self {
            entries: entries.len(),
            codebook,
            width,
            pixels,
        }
    }
}

/// The images as lossless WebP, with their names.
pub fn compress(
    (width, height): (usize, usize),
    planes: &Planes,
    palette: Option<&PaletteImage>,
    progress: Progress,
) -> Result<Vec<(String, Vec<u8>)>, EncodingError> {
    progress("compressing", 0, 1);
    let rgb = ColorType::Rgb8;
    let rgba = ColorType::Rgba8;
    let mut images = vec![
        (
            MEANS_LOW,
            planes.means_low.as_flattened(),
            width,
            height,
            rgb,
        ),
        (
            MEANS_HIGH,
            planes.means_high.as_flattened(),
            width,
            height,
            rgb,
        ),
        (QUATS, planes.quats.as_flattened(), width, height, rgba),
        (SCALES, planes.scales.as_flattened(), width, height, rgb),
        (SH0, planes.sh0.as_flattened(), width, height, rgba),
    ];
    if let Some(palette) = palette {
        let rows = palette.pixels.len() / palette.width;
        let pixels = palette.pixels.as_flattened();
        images.push((CENTROIDS, pixels, palette.width, rows, rgb));
        images.push((LABELS, planes.labels.as_flattened(), width, height, rgb));
    }
    images
        .into_par_iter()
        .map(|(name, pixels, width, height, kind)| {
            // Differences between neighbours suit some images, runs of equal pixels others.
            let encoded = |predictor: bool| -> Result<Vec<u8>, EncodingError> {
                let mut bytes = Vec::new();
                let mut encoder = WebPEncoder::new(&mut bytes);
                let mut params = EncoderParams::default();
                params.use_predictor_transform = predictor;
                encoder.set_params(params);
                encoder.encode(pixels, width as u32, height as u32, kind)?;
                Ok(bytes)
            };
            let (differences, runs) = (encoded(true)?, encoded(false)?);
            let shorter = if runs.len() < differences.len() {
                runs
            } else {
                differences
            };
            Ok((name.to_string(), shorter))
        })
        .collect()
}
