//! `loss`: (1 - lambda) L1 + lambda (1 - SSIM) over the pixels that count, and its gradient with respect to the image.
//!
//! SSIM as INRIA computes it: 11x11 Gaussian window, sigma 1.5, zeros outside the image, mean over pixels and
//! channels. The window is separable, so three passes over rows do it: blur x, y, x², y², xy along rows; blur those
//! along columns, form SSIM and its partial derivatives; blur the partials back (the window is symmetric) along columns
//! and rows. Ignored pixels are 0 in both images and the mean runs over the others. Twin: [`crate::twin`]'s `loss`.

use crate::shared::Disjoint;
use crate::simd::{Lanes, Level, dispatch};
use rayon::prelude::*;
use splatcore_core::Photo;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};

const TAPS: usize = 2 * SSIM_RADIUS + 1;
/// Padding on each side of a row, so that a vector load may run past the window.
const PAD: usize = 16;

/// Buffers reused from step to step.
#[derive(Default)]
pub struct Loss {
    /// dL/d(colour), a plane a channel, `[height * width]`.
    pub gradient: [Vec<f32>; 3],
    /// Row-blurred x, y, x², y², xy of one channel.
    rows: [Vec<f32>; 5],
    /// Partial derivatives of the summed SSIM with respect to the blurred x, x², xy.
    partials: [Vec<f32>; 3],
    sums: Vec<[f64; 2]>,
}

/// One row of the work; every slice is `width` long but for the padded ones.
struct BlurRow<'a> {
    window: [f32; TAPS],
    /// `PAD + width + PAD`.
    padded: &'a [f32],
    out: &'a mut [f32],
}

dispatch! { fn blur_row / blur_row_kernel (row: &mut BlurRow<'_>) }

#[inline(always)]
fn blur_row_kernel<L: Lanes>(row: &mut BlurRow<'_>) {
    let width = row.out.len();
    let mut x = 0;
    let mut tail = [0.0f32; 16];
    while x < width {
        let mut sum = L::splat(0.0);
        for (k, &w) in row.window.iter().enumerate() {
            sum = L::load(&row.padded[PAD - SSIM_RADIUS + x + k..]).mul_add(L::splat(w), sum);
        }
        if x + L::WIDTH <= width {
            sum.store(&mut row.out[x..]);
        } else {
            sum.store(&mut tail);
            row.out[x..].copy_from_slice(&tail[..width - x]);
        }
        x += L::WIDTH;
    }
}

/// Blurs `N` planes along columns at row `y`.
struct BlurColumn<'a, const N: usize> {
    window: [f32; TAPS],
    planes: [&'a [f32]; N],
    width: usize,
    height: usize,
    y: usize,
    out: [&'a mut [f32]; N],
}

dispatch! { fn blur_column5 / blur_column_kernel5 (column: &mut BlurColumn<'_, 5>) }
dispatch! { fn blur_column3 / blur_column_kernel3 (column: &mut BlurColumn<'_, 3>) }

#[inline(always)]
fn blur_column_kernel5<L: Lanes>(column: &mut BlurColumn<'_, 5>) {
    blur_column_kernel::<L, 5>(column);
}

#[inline(always)]
fn blur_column_kernel3<L: Lanes>(column: &mut BlurColumn<'_, 3>) {
    blur_column_kernel::<L, 3>(column);
}

#[inline(always)]
fn blur_column_kernel<L: Lanes, const N: usize>(column: &mut BlurColumn<'_, N>) {
    let width = column.width;
    let from = column.y.saturating_sub(SSIM_RADIUS);
    let to = (column.y + SSIM_RADIUS + 1).min(column.height);
    for n in 0..N {
        let (plane, out) = (column.planes[n], &mut *column.out[n]);
        let mut x = 0;
        while x + L::WIDTH <= width {
            let mut sum = L::splat(0.0);
            for j in from..to {
                let w = L::splat(column.window[j + SSIM_RADIUS - column.y]);
                sum = L::load(&plane[j * width + x..]).mul_add(w, sum);
            }
            sum.store(&mut out[x..]);
            x += L::WIDTH;
        }
        for x in x..width {
            out[x] = (from..to).map(|j| plane[j * width + x] * column.window[j + SSIM_RADIUS - column.y]).sum();
        }
    }
}

/// One row of SSIM and its partials.
struct SsimRow<'a> {
    blurred: [&'a [f32]; 5],
    /// 1 where the pixel counts.
    counts: &'a [f32],
    partials: [&'a mut [f32]; 3],
    sum: f64,
}

dispatch! { fn ssim_row / ssim_row_kernel (row: &mut SsimRow<'_>) }

#[inline(always)]
fn ssim_row_kernel<L: Lanes>(row: &mut SsimRow<'_>) {
    let width = row.counts.len();
    let mut x = 0;
    while x < width {
        let lanes = (width - x).min(L::WIDTH);
        let load = |slice: &[f32]| {
            if lanes == L::WIDTH {
                L::load(&slice[x..])
            } else {
                let mut tail = [0.0f32; 16];
                tail[..lanes].copy_from_slice(&slice[x..]);
                L::load(&tail)
            }
        };
        let [mx, my, xx, yy, xy] = row.blurred.map(load);
        let counts = load(row.counts);
        let (c1, c2, two) = (L::splat(SSIM_C1 as f32), L::splat(SSIM_C2 as f32), L::splat(2.0));
        let mxy = mx * my;
        let squares = mx.mul_add(mx, my * my);
        let a1 = two.mul_add(mxy, c1);
        let a2 = two.mul_add(xy - mxy, c2);
        let b1 = squares + c1;
        let b2 = xx + yy - squares + c2;
        let inverse = L::splat(1.0).div(b1 * b2);
        let ssim = a1 * a2 * inverse * counts;
        // With S = a1 a2 / (b1 b2): dS/dxx = -S / b2, dS/dxy = 2 a1 / (b1 b2), and mx enters all four.
        let d_xx = -(ssim * b1 * inverse);
        let d_xy = two * a1 * inverse * counts;
        let d_mx = two * inverse * counts * my * (a2 - a1) + two * mx * ssim * inverse * (b1 - b2);
        let mut out = [0.0f32; 16];
        ssim.store(&mut out);
        row.sum += out[..lanes].iter().map(|&v| v as f64).sum::<f64>();
        for (partial, value) in row.partials.iter_mut().zip([d_mx, d_xx, d_xy]) {
            value.store(&mut out);
            partial[x..x + lanes].copy_from_slice(&out[..lanes]);
        }
        x += L::WIDTH;
    }
}

impl Loss {
    /// Returns the loss of an image (a plane a channel) against a photo of the same size, and fills `gradient`.
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
        for plane in self.gradient.iter_mut().chain(&mut self.rows).chain(&mut self.partials) {
            plane.resize(pixels, 0.0);
        }
        if values == 0.0 {
            self.gradient.iter_mut().for_each(|plane| plane.fill(0.0));
            return 0.0;
        }
        let l1_scale = ((1.0 - ssim_weight) as f64 / values) as f32;
        let ssim_scale = (-(ssim_weight as f64) / values) as f32;
        let window = ssim_window().map(|w| w as f32);
        let counted = |y: usize, out: &mut [f32]| match &photo.mask {
            None => out.fill(1.0),
            Some(mask) => {
                for (o, &m) in out.iter_mut().zip(&mask[y * width..(y + 1) * width]) {
                    *o = (m != 0) as u8 as f32;
                }
            }
        };
        let (mut l1, mut ssim) = (0.0, 0.0);
        for channel in 0..3 {
            let image = &colour[channel];
            self.sums.clear();
            self.sums.resize(height, [0.0; 2]);

            let rows = self.rows.each_mut().map(|plane| Disjoint::new(plane));
            (0..height).into_par_iter().with_min_len(8).for_each_init(
                || (vec![0.0f32; width], [0; 5].map(|_| vec![0.0f32; width + 2 * PAD])),
                |(counts, padded), y| {
                    counted(y, counts);
                    let photo_row = &photo.rgb[3 * y * width..3 * (y + 1) * width];
                    let image_row = &image[y * width..(y + 1) * width];
                    for x in 0..width {
                        let a = image_row[x] * counts[x];
                        let b = photo_row[3 * x + channel] as f32 * (1.0 / 255.0) * counts[x];
                        for (p, v) in padded.iter_mut().zip([a, b, a * a, b * b, a * b]) {
                            p[PAD + x] = v;
                        }
                    }
                    for (row, padded) in rows.iter().zip(padded) {
                        // SAFETY: one thread a row.
                        let out = unsafe { row.get(y * width, width) };
                        blur_row(level, &mut BlurRow { window, padded, out });
                    }
                },
            );

            let partials = self.partials.each_mut().map(|plane| Disjoint::new(plane));
            let planes = self.rows.each_ref().map(|plane| plane.as_slice());
            self.sums.par_iter_mut().with_min_len(8).enumerate().for_each_init(
                || (vec![0.0f32; width], [0; 5].map(|_| vec![0.0f32; width])),
                |(counts, blurred), (y, sums)| {
                    counted(y, counts);
                    let out = blurred.each_mut().map(|row| row.as_mut_slice());
                    blur_column5(level, &mut BlurColumn { window, planes, width, height, y, out });
                    // SAFETY: one thread a row.
                    let partials = partials.each_ref().map(|plane| unsafe { plane.get(y * width, width) });
                    let blurred = blurred.each_ref().map(|row| row.as_slice());
                    let mut row = SsimRow { blurred, counts, partials, sum: 0.0 };
                    ssim_row(level, &mut row);
                    sums[1] = row.sum;
                },
            );

            let planes = self.partials.each_ref().map(|plane| plane.as_slice());
            self.sums
                .par_iter_mut()
                .zip(self.gradient[channel].par_chunks_mut(width))
                .with_min_len(8)
                .enumerate()
                .for_each_init(
                    || {
                        (
                            vec![0.0f32; width],
                            [0; 3].map(|_| vec![0.0f32; width]),
                            vec![0.0f32; width + 2 * PAD],
                            [0; 3].map(|_| vec![0.0f32; width]),
                        )
                    },
                    |(counts, columns, padded, blurred), (y, (sums, gradient))| {
                        counted(y, counts);
                        let out = columns.each_mut().map(|row| row.as_mut_slice());
                        blur_column3(level, &mut BlurColumn { window, planes, width, height, y, out });
                        for (column, out) in columns.iter().zip(blurred.iter_mut()) {
                            padded[PAD..PAD + width].copy_from_slice(column);
                            blur_row(level, &mut BlurRow { window, padded, out });
                        }
                        let mut total = 0.0f64;
                        for x in 0..width {
                            let a = image[y * width + x];
                            let b = photo.rgb[3 * (y * width + x) + channel] as f32 * (1.0 / 255.0);
                            let difference = (a - b) * counts[x];
                            total += difference.abs() as f64;
                            let sign =
                                if difference > 0.0 { 1.0 } else { -((difference < 0.0) as u8 as f32) };
                            let d_ssim = blurred[0][x] + 2.0 * a * blurred[1][x] + b * blurred[2][x];
                            gradient[x] = (l1_scale * sign + ssim_scale * d_ssim) * counts[x];
                        }
                        sums[0] = total;
                    },
                );
            l1 += self.sums.iter().map(|s| s[0]).sum::<f64>();
            ssim += self.sums.iter().map(|s| s[1]).sum::<f64>();
        }
        (1.0 - ssim_weight) as f64 * l1 / values + ssim_weight as f64 * (1.0 - ssim / values)
    }
}
