//! Image metrics as the field reports them: PSNR and SSIM on images clamped to [0, 1].

use crate::{Image, Photo, colour};

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
    psnr_where(image, photo, |_| true)
}

/// [`psnr`] over those of the pixels, by their index, that `counts` holds for; infinite of none.
pub fn psnr_where(image: &Image, photo: &Photo, counts: impl Fn(usize) -> bool) -> f64 {
    let mut error = 0.0f64;
    let mut count = 0usize;
    for (i, (a, b)) in image.data.iter().zip(photo.rgb.chunks_exact(3)).enumerate() {
        if photo.mask.as_ref().is_some_and(|mask| mask[i] == 0) || !counts(i) {
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

/// [`psnr`] after the affine transform of colours that brings the image closest to the photo
/// ([`colour::fit`]): how good the image is if exposure and white balance of the photo are not
/// its business. Clamped after the transform.
pub fn psnr_aligned(image: &Image, photo: &Photo) -> f64 {
    psnr(
        &colour::transformed(image, &colour::fit(image, photo)),
        photo,
    )
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

/// Mean structural similarity over pixels that count and channels: 11x11 Gaussian window, sigma
/// 1.5, zero padding (Wang et al. 2004, as INRIA's code computes it). The image is clamped to [0,
/// 1] first. Ignored pixels are zero in both images and are left out of the mean.
pub fn ssim(image: &Image, photo: &Photo) -> f64 {
    let parts = 0..ssim_parts(image);
    ssim_of_parts(parts.map(|part| ssim_of_part(image, photo, part)), photo)
}

/// Into how many parts an image is divided, which may be computed at the same time.
pub fn ssim_parts(image: &Image) -> usize {
    3 * (image.height as usize).div_ceil(SSIM_ROWS)
}

/// The part of [`ssim`] of this number: some rows of a channel.
pub fn ssim_of_part(image: &Image, photo: &Photo, part: usize) -> f64 {
    let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
    let byte = |i: usize| photo.rgb[3 * i + part % 3] as f64 / 255.0;
    similarities(image, &byte, &counts, part)
}

/// [`ssim`] of all its parts, in their order.
pub fn ssim_of_parts(parts: impl Iterator<Item = f64>, photo: &Photo) -> f64 {
    parts.sum::<f64>() / (3 * photo.counted_pixels().max(1)) as f64
}

/// [`ssim`] of one image against another of its size, both clamped to [0, 1].
pub fn ssim_between(a: &Image, b: &Image) -> f64 {
    let value = |i: usize, channel: usize| b.data[i][channel].clamp(0.0, 1.0) as f64;
    let of = |part: usize| similarities(a, &|i| value(i, part % 3), &|_| true, part);
    let total: f64 = (0..ssim_parts(a)).map(of).sum();
    total / (3 * a.data.len().max(1)) as f64
}

/// Sum over the pixels of a part that count of the similarity to what `other` says of them. Row by
/// row: of what is blurred no more than the window's rows are held, which stay in the cache.
fn similarities(
    image: &Image,
    other: &impl Fn(usize) -> f64,
    counts: &impl Fn(usize) -> bool,
    part: usize,
) -> f64 {
    let (width, height) = (image.width as usize, image.height as usize);
    let (channel, first) = (part % 3, part / 3 * SSIM_ROWS);
    let end = height.min(first + SSIM_ROWS);
    let window = ssim_window();
    let mut total = 0.0;
    let row = || vec![0.0; width];
    // Of x, y, x x, y y and x y: the window's rows, each blurred along itself; row y lies at y
    // modulo their number.
    let mut ring: [[Vec<f64>; 5]; 2 * SSIM_RADIUS + 1] =
        std::array::from_fn(|_| std::array::from_fn(|_| row()));
    let mut blurred: [Vec<f64>; 5] = std::array::from_fn(|_| row());
    // With zeros at both ends.
    let mut padded = vec![0.0; width + 2 * SSIM_RADIUS];
    let (mut x, mut y) = (row(), row());
    for below in first.saturating_sub(SSIM_RADIUS)..end + SSIM_RADIUS {
        let newest = &mut ring[below % window.len()];
        if below < height {
            for (column, i) in (below * width..(below + 1) * width).enumerate() {
                [x[column], y[column]] = match counts(i) {
                    true => [image.data[i][channel].clamp(0.0, 1.0) as f64, other(i)],
                    false => [0.0; 2],
                };
            }
            for (of, to) in newest.iter_mut().enumerate() {
                for ((value, &x), &y) in padded[SSIM_RADIUS..].iter_mut().zip(&x).zip(&y) {
                    *value = [x, y, x * x, y * y, x * y][of];
                }
                convolve(to, &window, |k| &padded[k..][..width]);
            }
        } else {
            newest.iter_mut().for_each(|row| row.fill(0.0));
        }
        let Some(at) = below.checked_sub(SSIM_RADIUS).filter(|&at| at >= first) else {
            continue;
        };
        for (of, to) in blurred.iter_mut().enumerate() {
            // What is above the image has not been written yet: zeros.
            convolve(to, &window, |k| {
                &ring[(at + k + SSIM_RADIUS + 1) % window.len()][of]
            });
        }
        let [mean_x, mean_y, xx, yy, xy] = &blurred;
        for column in (0..width).filter(|column| counts(at * width + column)) {
            let (mx, my) = (mean_x[column], mean_y[column]);
            let (vx, vy, cov) = (
                xx[column] - mx * mx,
                yy[column] - my * my,
                xy[column] - mx * my,
            );
            total += ((2.0 * mx * my + SSIM_C1) * (2.0 * cov + SSIM_C2))
                / ((mx * mx + my * my + SSIM_C1) * (vx + vy + SSIM_C2));
        }
    }
    total
}

/// Rows of a part of [`ssim`].
const SSIM_ROWS: usize = 128;

/// Pixels that are summed side by side, so that the compiler keeps their sums in registers.
const SIDE_BY_SIDE: usize = 16;

/// `to[x]` = sum over k of `window[k] * from(k)[x]`, in the order of k.
fn convolve<'a>(
    to: &mut [f64],
    window: &[f64; 2 * SSIM_RADIUS + 1],
    from: impl Fn(usize) -> &'a [f64],
) {
    let sources: [&[f64]; 2 * SSIM_RADIUS + 1] = std::array::from_fn(from);
    let (blocks, rest) = to.as_chunks_mut::<SIDE_BY_SIDE>();
    let done = SIDE_BY_SIDE * blocks.len();
    for (block, to) in blocks.iter_mut().enumerate() {
        let mut sums = [0.0; SIDE_BY_SIDE];
        for (source, weight) in sources.iter().zip(window) {
            let Some(values) = source[block * SIDE_BY_SIDE..].first_chunk::<SIDE_BY_SIDE>() else {
                continue;
            };
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
        *to = sums;
    }
    for (x, to) in rest.iter_mut().enumerate() {
        *to = sources
            .iter()
            .zip(window)
            .map(|(source, weight)| weight * source[done + x])
            .sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn photo(width: u32, height: u32, value: impl Fn(usize) -> u8) -> Photo {
        let rgb = (0..width as usize * height as usize * 3)
            .map(value)
            .collect();
        Photo::opaque(width, height, rgb)
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

    /// The definition, with sums over both dimensions for each pixel.
    fn plain_ssim(image: &Image, photo: &Photo) -> f64 {
        let (w, h) = (image.width as i32, image.height as i32);
        let g = ssim_window();
        let radius = SSIM_RADIUS as i32;
        let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
        let (mut total, mut count) = (0.0, 0);
        for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))) {
            if !counts((y * w + x) as usize) {
                continue;
            }
            for channel in 0..3 {
                let mut sums = [0.0; 5];
                for (u, v) in (y - radius..=y + radius)
                    .flat_map(|v| (x - radius..=x + radius).map(move |u| (u, v)))
                {
                    let i = (v * w + u) as usize;
                    if u < 0 || v < 0 || u >= w || v >= h || !counts(i) {
                        continue;
                    }
                    let weight = g[(u - x + radius) as usize] * g[(v - y + radius) as usize];
                    let a = image.data[i][channel].clamp(0.0, 1.0) as f64;
                    let b = photo.rgb[3 * i + channel] as f64 / 255.0;
                    for (sum, value) in sums.iter_mut().zip([a, b, a * a, b * b, a * b]) {
                        *sum += weight * value;
                    }
                }
                let [a, b, aa, bb, ab] = sums;
                total += (2.0 * a * b + SSIM_C1) * (2.0 * (ab - a * b) + SSIM_C2)
                    / ((a * a + b * b + SSIM_C1) * (aa - a * a + bb - b * b + SSIM_C2));
                count += 1;
            }
        }
        total / count.max(1) as f64
    }

    #[test]
    fn ssim_is_that_of_its_definition() {
        // Blocks of columns side by side and what is left of them, several parts, less than a
        // window, a pixel, and nothing.
        for (width, height) in [
            (35, 23),
            (16, 12),
            (7, 30),
            (5, 300),
            (3, 129),
            (40, 3),
            (1, 1),
            (1, 14),
            (0, 0),
        ] {
            let mut p = photo(width, height, |i| (i * 37 % 256) as u8);
            let other = photo(width, height, |i| (i * 53 % 251) as u8);
            let mut image = other.to_image();
            for masked in [false, true] {
                if masked {
                    p.mask = Some(
                        (0..image.data.len())
                            .map(|i| (i * 7 % 5 != 0) as u8)
                            .collect(),
                    );
                    // Whatever is there is not looked at.
                    for c in image.data.iter_mut().step_by(5) {
                        *c = [f32::NAN; 3];
                    }
                }
                let (found, wanted) = (ssim(&image, &p), plain_ssim(&image, &p));
                assert!(
                    (found - wanted).abs() < 1e-12,
                    "{width}x{height}: {found}, not {wanted}"
                );
            }
        }
    }

    /// Bytes over 255 are rounded to f32 in an image, so sums differ by some 1e-7.
    #[test]
    fn ssim_of_two_images_is_that_of_image_and_photo() {
        let p = photo(37, 21, |i| (i * 37 % 256) as u8);
        let mut image = photo(37, 21, |i| (i * 53 % 251) as u8).to_image();
        image.data[5] = [-3.0, 7.0, 0.5];
        let mut other = p.to_image();
        let wanted = plain_ssim(&image, &p);
        assert!((ssim_between(&image, &other) - wanted).abs() < 1e-6);
        // What lies beyond [0, 1] is clamped in both.
        let white = other.data.iter().position(|c| c[0] == 1.0).unwrap();
        other.data[white][0] = 9.0;
        assert!((ssim_between(&image, &other) - wanted).abs() < 1e-6);
        assert!((ssim_between(&other, &other) - 1.0).abs() < 1e-12);
    }
}
