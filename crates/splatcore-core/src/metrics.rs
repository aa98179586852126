//! Image metrics as the field reports them: PSNR and SSIM on images clamped to [0, 1].

use crate::{Image, Photo, exposure};

/// Half width of the SSIM window: 11 x 11.
pub const SSIM_RADIUS: usize = 5;
/// Standard deviation of the SSIM window in pixels.
pub const SSIM_SIGMA: f64 = 1.5;
/// SSIM's stabilising constants for a value range of 1.
pub const SSIM_C1: f64 = 0.01 * 0.01;
/// See [`SSIM_C1`].
pub const SSIM_C2: f64 = 0.03 * 0.03;

/// The normalised 11-tap Gaussian window of SSIM.
pub fn ssim_window() -> [f64; 2 * SSIM_RADIUS + 1] {
    let mut window = std::array::from_fn(|i| {
        (-((i as f64 - SSIM_RADIUS as f64).powi(2)) / (2.0 * SSIM_SIGMA * SSIM_SIGMA)).exp()
    });
    let sum: f64 = window.iter().sum();
    for w in &mut window {
        *w /= sum;
    }
    window
}

/// Peak signal-to-noise ratio in dB over the pixels that count; infinite for equal images.
/// The image is clamped to [0, 1] first.
pub fn psnr(image: &Image, photo: &Photo) -> f64 {
    let mut error = 0.0f64;
    let mut count = 0usize;
    for (i, (a, b)) in image.data.iter().zip(photo.rgb.chunks_exact(3)).enumerate() {
        if photo.mask.as_ref().is_some_and(|mask| mask[i] == 0) {
            continue;
        }
        for c in 0..3 {
            let d = (a[c].clamp(0.0, 1.0) - b[c] as f32 / 255.0) as f64;
            error += d * d;
        }
        count += 3;
    }
    -10.0 * (error / count.max(1) as f64).log10()
}

/// [`psnr`] after the affine transform of colours that brings the image closest to the photo ([`exposure::fit`]): how good
/// the image is if exposure and white balance of the photo are not its business. Clamped after the transform.
pub fn psnr_aligned(image: &Image, photo: &Photo) -> f64 {
    psnr(&exposure::transformed(image, &exposure::fit(image, photo)), photo)
}

/// PSNR in dB of one image against another, both clamped to [0, 1].
pub fn psnr_between(a: &Image, b: &Image) -> f64 {
    let clamp = |v: f32| v.clamp(0.0, 1.0) as f64;
    let error: f64 = a
        .data
        .iter()
        .flatten()
        .zip(b.data.iter().flatten())
        .map(|(&x, &y)| (clamp(x) - clamp(y)).powi(2))
        .sum();
    -10.0 * (error / (3 * a.data.len()).max(1) as f64).log10()
}

/// Mean structural similarity over pixels that count and channels: 11x11 Gaussian window, sigma 1.5, zero padding
/// (Wang et al. 2004, as INRIA's code computes it). The image is clamped to [0, 1] first. Ignored pixels are
/// zero in both images and are left out of the mean.
pub fn ssim(image: &Image, photo: &Photo) -> f64 {
    let (width, height) = (image.width as usize, image.height as usize);
    let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
    let mut total = 0.0;
    for channel in 0..3 {
        let plane = |value: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..width * height)
                .map(|i| if counts(i) { value(i) } else { 0.0 })
                .collect()
        };
        let x = plane(&|i| image.data[i][channel].clamp(0.0, 1.0) as f64);
        let y = plane(&|i| photo.rgb[3 * i + channel] as f64 / 255.0);
        let product = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let mean_x = blur(&x, width, height);
        let mean_y = blur(&y, width, height);
        let xx = blur(&product(&x, &x), width, height);
        let yy = blur(&product(&y, &y), width, height);
        let xy = blur(&product(&x, &y), width, height);
        for i in (0..width * height).filter(|&i| counts(i)) {
            let (mx, my) = (mean_x[i], mean_y[i]);
            let (vx, vy, cov) = (xx[i] - mx * mx, yy[i] - my * my, xy[i] - mx * my);
            total += ((2.0 * mx * my + SSIM_C1) * (2.0 * cov + SSIM_C2))
                / ((mx * mx + my * my + SSIM_C1) * (vx + vy + SSIM_C2));
        }
    }
    total / (3 * photo.counted_pixels()).max(1) as f64
}

/// Convolution with the SSIM window, zeros outside the image.
fn blur(plane: &[f64], width: usize, height: usize) -> Vec<f64> {
    let window = ssim_window();
    let mut rows = vec![0.0; plane.len()];
    for y in 0..height {
        for x in 0..width {
            let from = x.saturating_sub(SSIM_RADIUS);
            let to = (x + SSIM_RADIUS + 1).min(width);
            rows[y * width + x] = (from..to)
                .map(|i| window[i + SSIM_RADIUS - x] * plane[y * width + i])
                .sum();
        }
    }
    let mut out = vec![0.0; plane.len()];
    for y in 0..height {
        let from = y.saturating_sub(SSIM_RADIUS);
        let to = (y + SSIM_RADIUS + 1).min(height);
        for j in from..to {
            let w = window[j + SSIM_RADIUS - y];
            for x in 0..width {
                out[y * width + x] += w * rows[j * width + x];
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(width: u32, height: u32, value: impl Fn(usize) -> u8) -> Photo {
        let rgb = (0..width as usize * height as usize * 3).map(value).collect();
        Photo {
            width,
            height,
            rgb,
            mask: None,
            alpha: None,
        }
    }

    #[test]
    fn psnr_of_a_known_error() {
        let p = photo(4, 4, |_| 0);
        assert!((psnr(&Image::filled(4, 4, [0.1; 3]), &p) - 20.0).abs() < 1e-5);
        assert_eq!(psnr(&Image::filled(4, 4, [0.0; 3]), &p), f64::INFINITY);
    }

    #[test]
    fn masked_pixels_count_nowhere() {
        let mut p = photo(16, 16, |i| (i * 7 % 251) as u8);
        let mut image = p.to_image();
        p.mask = Some((0..256).map(|i| (i % 16 < 8) as u8).collect());
        for (i, c) in image.data.iter_mut().enumerate() {
            if i % 16 >= 8 {
                *c = [0.9, 0.1, 0.3];
            }
        }
        assert_eq!(psnr(&image, &p), f64::INFINITY);
        assert!((ssim(&image, &p) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ssim_is_one_for_equal_and_small_for_unrelated() {
        let p = photo(24, 20, |i| (i * 37 % 256) as u8);
        assert!((ssim(&p.to_image(), &p) - 1.0).abs() < 1e-12);
        let other = photo(24, 20, |i| (i * 101 % 253) as u8);
        assert!(ssim(&other.to_image(), &p) < 0.3);
    }

    /// Against the definition without separation, in the middle and at a corner.
    #[test]
    fn blur_is_the_two_dimensional_window() {
        let (w, h) = (13, 12);
        let plane: Vec<f64> = (0..w * h).map(|i| ((i * 29) % 17) as f64).collect();
        let out = blur(&plane, w, h);
        let g = ssim_window();
        for (x, y) in [(6usize, 6usize), (0, 0), (12, 3)] {
            let mut sum = 0.0;
            for dy in -5i32..=5 {
                for dx in -5i32..=5 {
                    let (u, v) = (x as i32 + dx, y as i32 + dy);
                    if u >= 0 && v >= 0 && (u as usize) < w && (v as usize) < h {
                        sum +=
                            g[(dx + 5) as usize] * g[(dy + 5) as usize] * plane[v as usize * w + u as usize];
                    }
                }
            }
            assert!((out[y * w + x] - sum).abs() < 1e-9);
        }
    }
}
