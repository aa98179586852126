//! `loss`: (1 - lambda) L1 + lambda (1 - SSIM) over the pixels that count, and its gradient with
//! respect to the image.
//!
//! SSIM as INRIA computes it: 11x11 Gaussian window, sigma 1.5, zeros outside the image, mean over
//! pixels and channels. The window is separable, so three passes over rows do it: blur x, x - y,
//! x² + y² (SSIM wants only the sum of the variances) and (x - y)² along rows; blur those along
//! columns, form SSIM and its partial derivatives; blur the partials back (the window is symmetric)
//! along columns and rows. Ignored pixels are 0 in both images and the mean runs over the others.
//! Twin: `splatcore_reference::twin::loss`.
//!
//! A variance is a difference of two blurs, which f32 gets wrong by 1e-7 of x². So x and y are
//! taken from 0.5 on, of which no variance knows, and what the images differ by is not a difference
//! of three blurs: twice the covariance is the sum of the variances less the variance of x - y.
//! With x², y² and xy the value of an image that was 1e-3 off its photo was 4 % wrong, and its
//! gradient 2e-4.

use crate::shared::Disjoint;
use crate::simd::{Lanes, Level, dispatch};
use rayon::prelude::*;
use splatcore_core::Photo;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};

const TAPS: usize = 2 * SSIM_RADIUS + 1;
/// Padding on each side of a row: half the window, and a vector that starts on the last pixel.
const PAD: usize = 32;
/// Taken from all values, also where there is no pixel.
const CENTRE: f32 = 0.5;
/// Blurred: x, x - y, x² + y², (x - y)².
const MOMENTS: usize = 4;
/// Their values where there is no pixel.
const NO_PIXEL: [f32; MOMENTS] = [-CENTRE, 0.0, 2.0 * CENTRE * CENTRE, 0.0];
/// What the derivative of the summed SSIM is made of: see `ssim_row`.
const PARTIALS: usize = 3;
/// Rows that one thread takes at a time, or more.
const ROWS_AT_LEAST: usize = 16;

/// Buffers reused from step to step.
#[derive(Default)]
pub struct Loss {
    /// dL/d(colour), a plane a channel, `[height * width]`.
    pub gradient: [Vec<f32>; 3],
    /// Row-blurred moments of one channel.
    rows: [Vec<f32>; MOMENTS],
    /// Of the derivative of the summed SSIM: a constant, by x, by x - y.
    partials: [Vec<f32>; PARTIALS],
    sums: Vec<[f64; 2]>,
}

/// What one thread needs for a row.
struct RowScratch {
    /// 1 where the pixel counts.
    counts: Vec<f32>,
    /// The photo's channel, 0 to 1.
    photo: Vec<f32>,
    /// Rows with room for the window on both sides.
    padded: [Vec<f32>; MOMENTS],
    /// Blurred rows.
    blurred: [Vec<f32>; MOMENTS],
}

impl RowScratch {
    /// `outside`: what rows are padded with.
    fn new(width: usize, outside: [f32; MOMENTS]) -> Self {
        Self {
            // A vector may start on the last pixel.
            counts: vec![0.0; width + PAD],
            photo: vec![0.0; width + PAD],
            padded: outside.map(|value| vec![value; width + 2 * PAD]),
            blurred: outside.map(|_| vec![0.0; width + PAD]),
        }
    }

    /// Row `y` of a photo's channel and mask.
    fn load(&mut self, photo: &Photo, channel: usize, y: usize) {
        let width = photo.width as usize;
        for (to, from) in self
            .photo
            .iter_mut()
            .zip(photo.rgb[3 * y * width..3 * (y + 1) * width].chunks_exact(3))
        {
            *to = from[channel] as f32 * (1.0 / 255.0);
        }
        match &photo.mask {
            None => self.counts[..width].fill(1.0),
            Some(mask) => {
                for (to, &m) in self
                    .counts
                    .iter_mut()
                    .zip(&mask[y * width..(y + 1) * width])
                {
                    *to = (m != 0) as u8 as f32;
                }
            }
        }
    }
}

/// Loads up to a vector from the end of a slice.
#[inline(always)]
fn load_tail<L: Lanes>(slice: &[f32], x: usize) -> L {
    if x + L::WIDTH <= slice.len() {
        return L::load(&slice[x..]);
    }
    let mut tail = [0.0f32; 16];
    tail[..slice.len() - x].copy_from_slice(&slice[x..]);
    L::load(&tail)
}

/// Stores as much of a vector as there is room for.
#[inline(always)]
fn store_tail<L: Lanes>(value: L, slice: &mut [f32], x: usize) {
    if x + L::WIDTH <= slice.len() {
        return value.store(&mut slice[x..]);
    }
    let mut tail = [0.0f32; 16];
    value.store(&mut tail);
    let len = slice.len() - x;
    slice[x..].copy_from_slice(&tail[..len]);
}

/// Sum of the lanes, in order.
#[inline(always)]
fn total<L: Lanes>(value: L) -> f64 {
    let mut lanes = [0.0f32; 16];
    value.store(&mut lanes);
    lanes[..L::WIDTH].iter().map(|&v| v as f64).sum()
}

/// The window along a row whose pixel 0 is at `PAD`.
#[inline(always)]
fn blur_at<L: Lanes>(window: &[f32; TAPS], padded: &[f32], x: usize) -> L {
    let from = &padded[PAD - SSIM_RADIUS + x..];
    let mut sum = L::load(from) * L::splat(window[0]);
    for k in 1..TAPS {
        sum = L::load(&from[k..]).mul_add(L::splat(window[k]), sum);
    }
    sum
}

/// The window along a column at row `y` of a plane; rows that are not there hold `outside`.
#[inline(always)]
fn blur_column<L: Lanes>(
    window: &[f32; TAPS],
    plane: &[f32],
    size: [usize; 2],
    y: usize,
    outside: f32,
    out: &mut [f32],
) {
    let [width, height] = size;
    let from = y.saturating_sub(SSIM_RADIUS);
    let to = (y + SSIM_RADIUS + 1).min(height);
    let inside = from + SSIM_RADIUS - y..to + SSIM_RADIUS - y;
    let missing: f32 = (0..TAPS)
        .filter(|k| !inside.contains(k))
        .map(|k| window[k])
        .sum();
    let mut x = 0;
    while x < width {
        let mut sum = L::splat(missing * outside);
        for j in from..to {
            let row = load_tail::<L>(&plane[j * width..(j + 1) * width], x);
            sum = row.mul_add(L::splat(window[j + SSIM_RADIUS - y]), sum);
        }
        sum.store(&mut out[x..]);
        x += L::WIDTH;
    }
}

dispatch! {
    /// Pass 1: the row's moments, blurred along the row.
    fn moments_row / moments_row_kernel (
        window: &[f32; TAPS], image: &[f32], scratch: &mut RowScratch, out: [&mut [f32]; MOMENTS]
    )
}

#[inline(always)]
fn moments_row_kernel<L: Lanes>(
    window: &[f32; TAPS],
    image: &[f32],
    scratch: &mut RowScratch,
    out: [&mut [f32]; MOMENTS],
) {
    let width = image.len();
    let centre = L::splat(CENTRE);
    let mut x = 0;
    while x < width {
        let counts = L::load(&scratch.counts[x..]);
        let a = load_tail::<L>(image, x) * counts - centre;
        let b = L::load(&scratch.photo[x..]) * counts - centre;
        let difference = a - b;
        let values = [a, difference, a.mul_add(a, b * b), difference * difference];
        for k in 0..MOMENTS {
            store_tail(values[k], &mut scratch.padded[k][..PAD + width], PAD + x);
        }
        x += L::WIDTH;
    }
    for k in 0..MOMENTS {
        let mut x = 0;
        while x < width {
            store_tail(blur_at::<L>(window, &scratch.padded[k], x), out[k], x);
            x += L::WIDTH;
        }
    }
}

dispatch! {
    /// Pass 2: the moments blurred along the column, 1 - SSIM, and what SSIM's derivative is made
    /// of.
    fn ssim_row / ssim_row_kernel (
        window: &[f32; TAPS], moments: [&[f32]; MOMENTS], size: [usize; 2], y: usize,
        scratch: &mut RowScratch, partials: [&mut [f32]; PARTIALS], sum: &mut f64
    )
}

#[inline(always)]
fn ssim_row_kernel<L: Lanes>(
    window: &[f32; TAPS],
    moments: [&[f32]; MOMENTS],
    size: [usize; 2],
    y: usize,
    scratch: &mut RowScratch,
    partials: [&mut [f32]; PARTIALS],
    sum: &mut f64,
) {
    for k in 0..MOMENTS {
        blur_column::<L>(
            window,
            moments[k],
            size,
            y,
            NO_PIXEL[k],
            &mut scratch.blurred[k],
        );
    }
    let (c1, c2) = (L::splat(SSIM_C1 as f32), L::splat(SSIM_C2 as f32));
    let (zero, one, two, centre) = (
        L::splat(0.0),
        L::splat(1.0),
        L::splat(2.0),
        L::splat(CENTRE),
    );
    let [d_mean, d_size, d_difference] = partials;
    let mut dissimilar = zero;
    let mut x = 0;
    while x < size[0] {
        let mut blurred = [zero; MOMENTS];
        for k in 0..MOMENTS {
            blurred[k] = L::load(&scratch.blurred[k][x..]);
        }
        let [a, difference, squares, differences] = blurred;
        // Past the end of the row counts is 0, and so is everything.
        let counts = L::load(&scratch.counts[x..]);
        // S = n1 n2 / (m1 m2), with n1 = m1 - difference² and n2 = m2 - unlike. No variance is
        // below 0, whatever rounding says.
        let b = a - difference;
        let (bright_a, bright_b) = (a + centre, b + centre);
        let m1 = bright_a.mul_add(bright_a, bright_b.mul_add(bright_b, c1));
        let m2 = (squares - a.mul_add(a, b * b)).max(zero) + c2;
        let unlike = (differences - difference * difference).max(zero);
        let (n1, n2) = (m1 - difference * difference, m2 - unlike);
        let inverse = counts / (m1 * m2);
        let (inverse_m1, inverse_m2) = (m2 * inverse, m1 * inverse);
        let (g, c) = (n1 * inverse, n2 * inverse_m2);
        let lack = unlike * inverse_m2; // 1 - c
        dissimilar = inverse.mul_add(
            (difference * difference).mul_add(m2, n1 * unlike),
            dissimilar,
        );
        // Half of dS/dx, first by way of c = n2 / m2, then of n1 / m1.
        let by_c = g * (difference - a * lack);
        let relative = difference * inverse_m1;
        let by_l = c * relative * (bright_a * relative - one);
        store_tail(two * (by_c + by_l), d_mean, x);
        // dS/dx² = -g c and dS/dxy = 2 g come as 2 x dS/dx² + y dS/dxy, in which they nearly
        // cancel: as 2 g (1 - c) x - 2 g (x - y) nothing does.
        store_tail(two * (g * lack), d_size, x);
        store_tail(two * g, d_difference, x);
        x += L::WIDTH;
    }
    *sum = total(dissimilar);
}

dispatch! {
    /// Pass 3: the partials blurred back, and the gradient of the row.
    fn gradient_row / gradient_row_kernel (
        window: &[f32; TAPS], partials: [&[f32]; PARTIALS], size: [usize; 2], y: usize,
        image: &[f32], scratch: &mut RowScratch, scales: [f32; 2],
        gradient: &mut [f32], sum: &mut f64
    )
}

#[inline(always)]
fn gradient_row_kernel<L: Lanes>(
    window: &[f32; TAPS],
    partials: [&[f32]; PARTIALS],
    size: [usize; 2],
    y: usize,
    image: &[f32],
    scratch: &mut RowScratch,
    scales: [f32; 2],
    gradient: &mut [f32],
    sum: &mut f64,
) {
    let width = size[0];
    for k in 0..PARTIALS {
        blur_column::<L>(window, partials[k], size, y, 0.0, &mut scratch.blurred[k]);
        scratch.padded[k][PAD..PAD + width].copy_from_slice(&scratch.blurred[k][..width]);
    }
    let (zero, one, centre) = (L::splat(0.0), L::splat(1.0), L::splat(CENTRE));
    let (l1_scale, ssim_scale) = (L::splat(scales[0]), L::splat(scales[1]));
    let mut absolute = zero;
    let mut x = 0;
    while x < width {
        let d_mean = blur_at::<L>(window, &scratch.padded[0], x);
        let d_size = blur_at::<L>(window, &scratch.padded[1], x);
        let d_difference = blur_at::<L>(window, &scratch.padded[2], x);
        let counts = L::load(&scratch.counts[x..]);
        let a = load_tail::<L>(image, x);
        let b = L::load(&scratch.photo[x..]);
        let difference = (a - b) * counts;
        absolute = absolute + difference.max(-difference);
        let not_positive = zero.ge(difference);
        let not_negative = difference.ge(zero);
        let sign = L::select(not_positive, L::select(not_negative, zero, -one), one);
        let d_ssim = (a - centre).mul_add(d_size, d_mean) - difference * d_difference;
        store_tail(
            l1_scale.mul_add(sign, ssim_scale * d_ssim) * counts,
            gradient,
            x,
        );
        x += L::WIDTH;
    }
    *sum = total(absolute);
}

impl Loss {
    /// Returns the loss of an image (a plane a channel) against a photo of the same size, and fills
    /// `gradient`.
    pub fn fill(
        &mut self,
        level: Level,
        colour: &[Vec<f32>; 3],
        photo: &Photo,
        ssim_weight: f32,
    ) -> f64 {
        let (width, height) = (photo.width as usize, photo.height as usize);
        let pixels = width * height;
        let values = (3 * photo.counted_pixels()) as f64;
        for plane in self
            .gradient
            .iter_mut()
            .chain(&mut self.rows)
            .chain(&mut self.partials)
        {
            plane.resize(pixels, 0.0);
        }
        if values == 0.0 {
            self.gradient.iter_mut().for_each(|plane| plane.fill(0.0));
            return 0.0;
        }
        let pass = Passes {
            level,
            photo,
            window: &ssim_window().map(|w| w as f32),
            size: [width, height],
            scales: [
                (1.0 - ssim_weight) as f64 / values,
                -(ssim_weight as f64) / values,
            ]
            .map(|s| s as f32),
        };
        let (mut l1, mut dissimilar) = (0.0, 0.0);
        for channel in 0..3 {
            let image = &colour[channel];
            self.sums.clear();
            self.sums.resize(height, [0.0; 2]);
            pass.moments(channel, image, &mut self.rows);
            pass.ssim(channel, &self.rows, &mut self.partials, &mut self.sums);
            let gradient = &mut self.gradient[channel];
            pass.gradient(channel, image, &self.partials, gradient, &mut self.sums);
            l1 += self.sums.iter().map(|s| s[0]).sum::<f64>();
            dissimilar += self.sums.iter().map(|s| s[1]).sum::<f64>();
        }
        (1.0 - ssim_weight) as f64 * l1 / values + ssim_weight as f64 * dissimilar / values
    }
}

/// The three passes over the rows of a channel, and what they share.
struct Passes<'a> {
    level: Level,
    photo: &'a Photo,
    window: &'a [f32; TAPS],
    /// Width and height.
    size: [usize; 2],
    /// Weights of L1 and of SSIM over the number of values.
    scales: [f32; 2],
}

impl Passes<'_> {
    /// Pass 1: `rows` get the moments, blurred along rows.
    fn moments(&self, channel: usize, image: &[f32], rows: &mut [Vec<f32>; MOMENTS]) {
        let [width, height] = self.size;
        let rows = rows.each_mut().map(|plane| Disjoint::new(plane));
        (0..height)
            .into_par_iter()
            .with_min_len(ROWS_AT_LEAST)
            .for_each_init(
                || RowScratch::new(width, NO_PIXEL),
                |scratch, y| {
                    scratch.load(self.photo, channel, y);
                    // SAFETY: one thread a row.
                    let out = rows
                        .each_ref()
                        .map(|plane| unsafe { plane.get(y * width, width) });
                    let image_row = &image[y * width..(y + 1) * width];
                    moments_row(self.level, self.window, image_row, scratch, out);
                },
            );
    }

    /// Pass 2: `partials`, and in `sums[y][1]` the sum of 1 - SSIM of row y.
    fn ssim(
        &self,
        channel: usize,
        rows: &[Vec<f32>; MOMENTS],
        partials: &mut [Vec<f32>; PARTIALS],
        sums: &mut [[f64; 2]],
    ) {
        let (level, window, size) = (self.level, self.window, self.size);
        let width = size[0];
        let partials = partials.each_mut().map(|plane| Disjoint::new(plane));
        let moments = rows.each_ref().map(|plane| plane.as_slice());
        sums.par_iter_mut()
            .with_min_len(ROWS_AT_LEAST)
            .enumerate()
            .for_each_init(
                || RowScratch::new(width, [0.0; MOMENTS]),
                |scratch, (y, sums)| {
                    scratch.load(self.photo, channel, y);
                    // SAFETY: one thread a row.
                    let out = partials
                        .each_ref()
                        .map(|plane| unsafe { plane.get(y * width, width) });
                    ssim_row(level, window, moments, size, y, scratch, out, &mut sums[1]);
                },
            );
    }

    /// Pass 3: the gradient, and in `sums[y][0]` the sum of absolute differences of row y.
    fn gradient(
        &self,
        channel: usize,
        image: &[f32],
        partials: &[Vec<f32>; PARTIALS],
        gradient: &mut [f32],
        sums: &mut [[f64; 2]],
    ) {
        let width = self.size[0];
        let partials = partials.each_ref().map(|plane| plane.as_slice());
        sums.par_iter_mut()
            .zip(gradient.par_chunks_mut(width))
            .with_min_len(ROWS_AT_LEAST)
            .enumerate()
            .for_each_init(
                || RowScratch::new(width, [0.0; MOMENTS]),
                |scratch, (y, (sums, gradient))| {
                    scratch.load(self.photo, channel, y);
                    gradient_row(
                        self.level,
                        self.window,
                        partials,
                        self.size,
                        y,
                        &image[y * width..(y + 1) * width],
                        scratch,
                        self.scales,
                        gradient,
                        &mut sums[0],
                    );
                },
            );
    }
}
