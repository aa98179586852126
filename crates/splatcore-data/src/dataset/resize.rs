//! Scaling photos down: separable Catmull-Rom whose support grows with the step, so that nothing
//! aliases. That is what Pillow's `resize` does, through which most trainers scale their photos.

use image::RgbImage;

/// Weights of one output pixel: first input pixel, and a weight for it and each that follows.
struct Taps {
    first: usize,
    weights: Vec<f32>,
}

/// Taps from `from` to `to` pixels, `to <= from`; those beyond the edge are left out and the rest
/// renormalised.
fn taps(from: u32, to: u32) -> Vec<Taps> {
    let step = from as f64 / to as f64;
    (0..to)
        .map(|i| {
            let centre = (i as f64 + 0.5) * step;
            let first = (centre - 2.0 * step + 0.5).floor().max(0.0) as usize;
            let end = ((centre + 2.0 * step + 0.5).floor() as usize).min(from as usize);
            let raw: Vec<f64> = (first..end)
                .map(|x| catmull_rom((x as f64 + 0.5 - centre) / step))
                .collect();
            let sum: f64 = raw.iter().sum();
            Taps {
                first,
                weights: raw.into_iter().map(|w| (w / sum) as f32).collect(),
            }
        })
        .collect()
}

/// Keys' cubic kernel with a = -1/2.
fn catmull_rom(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

/// The photo at a smaller size (neither side larger than it is).
pub(super) fn shrink(photo: &RgbImage, width: u32, height: u32) -> RgbImage {
    let (columns, rows) = (taps(photo.width(), width), taps(photo.height(), height));
    let stride = photo.width() as usize * 3;
    let bytes = photo.as_raw();
    let mut out = Vec::with_capacity(width as usize * height as usize * 3);
    // Down first, along whole rows (which vectorises), then across.
    let mut line = vec![0.0f32; stride];
    for row in &rows {
        line.fill(0.0);
        for (k, weight) in row.weights.iter().enumerate() {
            let source = &bytes[(row.first + k) * stride..][..stride];
            for (sum, &value) in line.iter_mut().zip(source) {
                *sum += weight * value as f32;
            }
        }
        for column in &columns {
            let source = &line[column.first * 3..][..column.weights.len() * 3];
            let mut sum = [0.5f32; 3];
            for (pixel, weight) in source.chunks_exact(3).zip(&column.weights) {
                for c in 0..3 {
                    sum[c] += weight * pixel[c];
                }
            }
            // The cast saturates at 0 and 255.
            out.extend(sum.map(|v| v as u8));
        }
    }
    RgbImage::from_raw(width, height, out).unwrap_or_else(|| RgbImage::new(width, height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;
    use image::imageops::{FilterType, resize};

    #[test]
    fn agrees_with_the_image_crate_within_its_rounding() {
        let photo = RgbImage::from_fn(123, 77, |x, y| {
            let noise = splatcore_core::random::mix((x * 1000 + y) as u64);
            Rgb([
                noise as u8,
                (noise >> 8) as u8,
                if x % 20 < 10 { 255 } else { 0 },
            ])
        });
        for (width, height) in [(123, 77), (61, 38), (122, 76), (40, 77), (5, 3), (1, 1)] {
            let ours = shrink(&photo, width, height);
            let theirs = resize(&photo, width, height, FilterType::CatmullRom);
            let pairs = ours.as_raw().iter().zip(theirs.as_raw());
            let worst = pairs.map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            assert!(worst <= 1, "{width}x{height}: off by {worst}");
        }
        assert_eq!(shrink(&photo, 123, 77), photo);
    }
}
