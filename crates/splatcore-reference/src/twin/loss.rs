//! `loss`: (1 - w) L1 + w (1 - SSIM) over the pixels that count, and its gradient with respect to
//! the image.
//!
//! L1 and SSIM are means over counted pixels and channels. SSIM is that of
//! [`splatcore_core::metrics::ssim`] (Wang et al. 2004; 11x11 Gaussian window, zeros outside the
//! image and at ignored pixels) on the image as it is, not clamped to [0, 1]. Source of the mix:
//! Kerbl et al. 2023, equation 7, with w = 0.2.

use splatcore_core::Photo;
use splatcore_core::metrics::{SSIM_C1, SSIM_C2, SSIM_RADIUS, ssim_window};

/// A loss and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// (1 - w) L1 + w (1 - SSIM).
    pub value: f64,
    /// Mean absolute difference.
    pub l1: f64,
    /// Mean structural similarity.
    pub ssim: f64,
    /// dL/dimage, `[height * width]` of r, g, b; zero at ignored pixels.
    pub gradient: Vec<[f64; 3]>,
}

/// The loss of `image` (`[height * width]`) against `photo`. All zero when no pixel counts.
pub fn loss(image: &[[f64; 3]], photo: &Photo, ssim_weight: f64) -> Loss {
    let (width, height) = (photo.width as usize, photo.height as usize);
    let counted = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
    let count = (3 * photo.counted_pixels()) as f64;
    let mut out = Loss {
        value: 0.0,
        l1: 0.0,
        ssim: 0.0,
        gradient: vec![[0.0; 3]; width * height],
    };
    if count == 0.0 {
        return out;
    }
    for channel in 0..3 {
        let masked = |i: usize, v: f64| if counted(i) { v } else { 0.0 };
        let x: Vec<f64> = (0..width * height)
            .map(|i| masked(i, image[i][channel]))
            .collect();
        let y: Vec<f64> = (0..width * height)
            .map(|i| masked(i, photo.rgb[3 * i + channel] as f64 / 255.0))
            .collect();
        let product =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let blurred = |plane: &[f64]| blur(plane, width, height);
        let (mean_x, mean_y) = (blurred(&x), blurred(&y));
        let (xx, yy, xy) = (
            blurred(&product(&x, &x)),
            blurred(&product(&y, &y)),
            blurred(&product(&x, &y)),
        );
        // Derivatives of the SSIM map with respect to blur(x), blur(x²) and blur(x y), zero where
        // ignored.
        let mut d_mean = vec![0.0; x.len()];
        let mut d_xx = vec![0.0; x.len()];
        let mut d_xy = vec![0.0; x.len()];
        for i in (0..x.len()).filter(|&i| counted(i)) {
            let (mx, my) = (mean_x[i], mean_y[i]);
            let a = 2.0 * mx * my + SSIM_C1;
            let b = 2.0 * (xy[i] - mx * my) + SSIM_C2;
            let c = mx * mx + my * my + SSIM_C1;
            let d = (xx[i] - mx * mx) + (yy[i] - my * my) + SSIM_C2;
            let s = a * b / (c * d);
            out.ssim += s / count;
            // s = a b / (c d); blur(x) enters a (2 my), b (-2 my), c (2 mx) and d (-2 mx).
            d_mean[i] = 2.0 * my * (b - a) / (c * d) - s * 2.0 * mx * (1.0 / c - 1.0 / d);
            d_xx[i] = -s / d;
            d_xy[i] = 2.0 * a / (c * d);
            out.l1 += (x[i] - y[i]).abs() / count;
        }
        // The window is symmetric, so its transpose is itself.
        let (d_mean, d_xx, d_xy) = (blurred(&d_mean), blurred(&d_xx), blurred(&d_xy));
        for i in (0..x.len()).filter(|&i| counted(i)) {
            let d_ssim = d_mean[i] + 2.0 * x[i] * d_xx[i] + y[i] * d_xy[i];
            let difference = x[i] - y[i];
            let d_l1 = if difference == 0.0 {
                0.0
            } else {
                difference.signum()
            };
            out.gradient[i][channel] = ((1.0 - ssim_weight) * d_l1 - ssim_weight * d_ssim) / count;
        }
    }
    out.value = (1.0 - ssim_weight) * out.l1 + ssim_weight * (1.0 - out.ssim);
    out
}

/// Convolution with the SSIM window, zeros outside the image, straight from the definition.
fn blur(plane: &[f64], width: usize, height: usize) -> Vec<f64> {
    let window = ssim_window();
    let along = |plane: &[f64],
                 step: usize,
                 position: &dyn Fn(usize) -> usize,
                 length: usize|
     -> Vec<f64> {
        (0..plane.len())
            .map(|i| {
                let p = position(i);
                (0..window.len())
                    .filter(|&k| p + k >= SSIM_RADIUS && p + k - SSIM_RADIUS < length)
                    .map(|k| window[k] * plane[i + k * step - SSIM_RADIUS * step])
                    .sum()
            })
            .collect()
    };
    let rows = along(plane, 1, &|i| i % width, width);
    along(&rows, width, &|i| i / width, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn case(width: u32, height: u32, masked: bool) -> (Vec<[f64; 3]>, Photo) {
        let mut rng = Rng::new(3, 1);
        let n = (width * height) as usize;
        let rgb = (0..3 * n).map(|_| rng.below(256) as u8).collect();
        let mask = masked.then(|| (0..n).map(|_| (rng.uniform() < 0.6) as u8).collect());
        // Beyond [0, 1] too: the loss does not clamp.
        let image = (0..n)
            .map(|_| [0; 3].map(|_| rng.uniform() as f64 * 1.4 - 0.2))
            .collect();
        let photo = Photo {
            mask,
            ..Photo::opaque(width, height, rgb)
        };
        (image, photo)
    }

    /// All pixels of images smaller and larger than the window, so borders and corners are in.
    #[test]
    fn gradient_matches_finite_differences() {
        for (width, height, masked) in [
            (17, 14, false),
            (17, 14, true),
            (4, 23, true),
            (1, 1, false),
        ] {
            let (image, photo) = case(width, height, masked);
            let exact = loss(&image, &photo, 0.2).gradient;
            let largest = exact
                .iter()
                .flatten()
                .fold(0.0f64, |a: f64, b: &f64| a.max(b.abs()));
            // L1's kink is |x - y| away, at least 1e-5 here in all but hopeless luck; the step
            // stays below that.
            let h = 1e-6;
            for i in 0..image.len() {
                for c in 0..3 {
                    let at = |d: f64| {
                        let mut moved = image.clone();
                        moved[i][c] += d;
                        loss(&moved, &photo, 0.2).value
                    };
                    let slope = (at(h) - at(-h)) / (2.0 * h);
                    // Rounding: 1e-16 / h = 1e-10 beside gradients of 1 / count, about 1e-3.
                    assert!(
                        (slope - exact[i][c]).abs() < 1e-6 * largest + 1e-9,
                        "{width}x{height} pixel {i} channel {c}: {slope} and {}",
                        exact[i][c]
                    );
                }
            }
        }
    }

    #[test]
    fn ssim_is_the_metric() {
        for masked in [false, true] {
            let (mut image, photo) = case(20, 15, masked);
            for v in image.iter_mut().flatten() {
                *v = (v.clamp(0.0, 1.0) as f32) as f64;
            }
            let data = image.iter().map(|p| p.map(|v| v as f32)).collect();
            let metric = splatcore_core::metrics::ssim(
                &splatcore_core::Image {
                    width: 20,
                    height: 15,
                    data,
                },
                &photo,
            );
            assert!((loss(&image, &photo, 0.2).ssim - metric).abs() < 1e-12);
        }
    }

    #[test]
    fn ignored_pixels_change_nothing() {
        let (image, photo) = case(16, 12, true);
        let before = loss(&image, &photo, 0.2);
        let mask = photo.mask.clone().unwrap();
        let mut moved = image.clone();
        for i in 0..moved.len() {
            if mask[i] == 0 {
                moved[i] = [9.0; 3];
                assert_eq!(before.gradient[i], [0.0; 3]);
            }
        }
        assert_eq!(loss(&moved, &photo, 0.2), before);
    }

    #[test]
    fn no_counted_pixel_means_no_loss() {
        let (image, mut photo) = case(5, 5, true);
        photo.mask = Some(vec![0; 25]);
        let nothing = loss(&image, &photo, 0.2);
        assert_eq!(nothing.value, 0.0);
        assert!(nothing.gradient.iter().flatten().all(|&g| g == 0.0));
    }
}
