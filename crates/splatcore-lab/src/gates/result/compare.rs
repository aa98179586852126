//! How far results are from a reference.

use splatcore_core::{Gaussians, Image};

/// How far an image is from the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageError {
    /// The largest error of a channel; infinite if a value is not a number.
    pub worst: f64,
    /// The pixel with it, x and y.
    pub at: [usize; 2],
    /// The largest value of the reference, at least 1: a fragment at a threshold weighs as much as
    /// its colour.
    pub largest: f64,
    /// PSNR in dB, unclamped, without the few worst pixels: a fragment at a threshold is no loss of
    /// precision. At most 200.
    pub psnr: f64,
    /// Squared errors, without those pixels, summed over squares of [`SIDE`] pixels, row by row.
    squares: Vec<f64>,
}

/// Pixels of a side of the squares over which errors are summed: roundings of neighbours are alike,
/// those of one square and another less so.
const SIDE: usize = 8;

/// The bits of an image's values, in the order of its pixels: equal where images are.
pub fn bits(image: &Image) -> Vec<u32> {
    image.data.iter().flatten().map(|v| v.to_bits()).collect()
}

/// PSNR of images with the same bits.
pub const BEST: f64 = 200.0;

/// Pixels that the PSNR leaves out: one in a thousand, and four of a small image.
fn left_out(pixels: usize) -> usize {
    (pixels / 1000).max(4).min(pixels / 2)
}

/// How far `image` is from `reference`, an image of the same size.
pub fn image_error(image: &Image, reference: &Image) -> ImageError {
    let pairs = image.data.iter().zip(&reference.data);
    let mut errors: Vec<(f64, usize)> = pairs
        .enumerate()
        .map(|(i, (a, b))| {
            let channels = a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b));
            let worst = channels.fold(0.0f64, |worst, d| match d.is_nan() {
                true => f64::INFINITY,
                false => worst.max(d.abs()),
            });
            (worst, i)
        })
        .collect();
    if image.data.len() != reference.data.len() {
        errors = vec![(f64::INFINITY, 0)];
    }
    errors.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (worst, i) = errors.first().copied().unwrap_or_default();
    let width = (reference.width as usize).max(1);
    let counted = &errors[left_out(errors.len())..];
    let across = width.div_ceil(SIDE);
    let mut squares = vec![0.0; across * (reference.height as usize).div_ceil(SIDE)];
    for (error, i) in counted {
        let square = i / width / SIDE * across + i % width / SIDE;
        if let Some(sum) = squares.get_mut(square) {
            *sum += error * error;
        }
    }
    let square: f64 = counted.iter().map(|(error, _)| error * error).sum();
    let psnr = -10.0 * (square / counted.len().max(1) as f64).log10();
    ImageError {
        worst,
        at: [i % width, i / width],
        largest: largest(reference),
        psnr: psnr.min(BEST),
        squares,
    }
}

impl ImageError {
    /// How much more squared error this has than `baseline`, as a share of the baseline's, and the
    /// standard error of that share: how far it is by chance from 0 where both have roundings of
    /// one size. Infinite where the baseline has none.
    pub fn growth(&self, baseline: &Self) -> (f64, f64) {
        let differences = self.squares.iter().zip(&baseline.squares);
        let differences: Vec<f64> = differences.map(|(a, b)| a - b).collect();
        let count = differences.len() as f64;
        let sum: f64 = differences.iter().sum();
        let spread: f64 = differences.iter().map(|d| (d - sum / count).powi(2)).sum();
        // The error of a sum of `count` values.
        let error = (count / (count - 1.0).max(1.0) * spread).sqrt();
        let of: f64 = baseline.squares.iter().sum();
        (sum / of, error / of)
    }
}

fn largest(image: &Image) -> f64 {
    let values = image.data.iter().flatten().map(|v| f64::from(v.abs()));
    values.filter(|v| v.is_finite()).fold(1.0, f64::max)
}

/// How far the gradients of a parameter group are from the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientError {
    /// The group.
    pub group: &'static str,
    /// L2 norm of the difference over that of the reference; infinite if a value is not a number.
    pub relative: f64,
    /// Gaussians whose own gradient is off by more than half: small ones do not show in the norm of
    /// the group.
    pub lost: usize,
    /// Gaussians that have a gradient, or should.
    pub of: usize,
}

/// The errors of all groups.
pub fn gradient_errors(gradients: &Gaussians, reference: &Gaussians) -> Vec<GradientError> {
    let a_gaussian = reference.sh.len() / reference.len().max(1);
    let groups: [(&'static str, usize, &[f32], &[f32]); 5] = [
        (
            "means",
            3,
            gradients.means.as_flattened(),
            reference.means.as_flattened(),
        ),
        (
            "log scales",
            3,
            gradients.log_scales.as_flattened(),
            reference.log_scales.as_flattened(),
        ),
        (
            "rotations",
            4,
            gradients.rotations.as_flattened(),
            reference.rotations.as_flattened(),
        ),
        (
            "opacity logits",
            1,
            &gradients.opacity_logits,
            &reference.opacity_logits,
        ),
        (
            "harmonics",
            3 * a_gaussian,
            gradients.sh.as_flattened(),
            reference.sh.as_flattened(),
        ),
    ];
    let error = |(group, row, values, wanted): (&'static str, usize, &[f32], &[f32])| {
        let (lost, of) = lost(values, wanted, row.max(1));
        GradientError {
            group,
            relative: relative(values, wanted),
            lost,
            of,
        }
    };
    groups.map(error).to_vec()
}

/// How many rows are off by more than half of what they should be, and how many there are.
fn lost(values: &[f32], wanted: &[f32], row: usize) -> (usize, usize) {
    let pairs = values.chunks(row).zip(wanted.chunks(row));
    let rows = pairs.filter(|(found, right)| found.iter().chain(*right).any(|v| *v != 0.0));
    rows.fold((0, 0), |(lost, of), (found, right)| {
        let is_lost = relative(found, right) > 0.5;
        (lost + usize::from(is_lost), of + 1)
    })
}

fn relative(values: &[f32], wanted: &[f32]) -> f64 {
    if values.len() != wanted.len() || values.iter().any(|v| !v.is_finite()) {
        return f64::INFINITY;
    }
    let square = |v: f64| v * v;
    let pairs = values.iter().zip(wanted);
    let difference: f64 = pairs
        .map(|(a, b)| square(f64::from(*a) - f64::from(*b)))
        .sum();
    let size: f64 = wanted.iter().map(|v| square(f64::from(*v))).sum();
    match (difference, size) {
        (0.0, _) => 0.0,
        (_, 0.0) => f64::INFINITY,
        _ => (difference / size).sqrt(),
    }
}
