//! The f32 loss against the f64 twin where the image is nearly the photo, so that the terms of the gradient nearly cancel.
#![allow(clippy::unwrap_used)] // helpers of tests

use splatcore_core::Photo;
use splatcore_core::random::Rng;
use splatcore_cpu::loss::Loss;
use splatcore_cpu::simd::Level;
use splatcore_cpu::twin::loss::loss;

const WIDTH: u32 = 61;
const HEIGHT: u32 = 45;

/// A photo of flat surfaces, one of them with grain, and an image that is nearly it.
fn near(noise: f32, masked: bool) -> ([Vec<f32>; 3], Photo) {
    let mut rng = Rng::new(7, noise.to_bits() as u64);
    let n = (WIDTH * HEIGHT) as usize;
    let rgb: Vec<u8> = (0..3 * n)
        .map(|i| match i / 3 % WIDTH as usize * 3 / WIDTH as usize {
            0 => 200,
            1 => 120 + rng.below(60) as u8,
            _ => 20 + (i % 3) as u8,
        })
        .collect();
    let plane = |c: usize, rng: &mut Rng| {
        let pixels = rgb.chunks(3);
        pixels
            .map(|p| p[c] as f32 / 255.0 + noise * rng.normal())
            .collect()
    };
    let image = [0, 1, 2].map(|c| plane(c, &mut rng));
    let mask = masked.then(|| (0..n).map(|_| (rng.uniform() < 0.6) as u8).collect());
    let photo = Photo {
        width: WIDTH,
        height: HEIGHT,
        rgb,
        mask,
        alpha: None,
    };
    (image, photo)
}

/// Of a value that is small here: some hundred roundings, few of them the same way.
const VALUE_TOLERANCE: f64 = 2e-5;

/// A photo's value is a 255th as f32, so half a unit of 2^-24 off, which is a share of what the images differ by; and f32's own
/// part.
fn gradient_tolerance(noise: f32) -> f64 {
    2f64.powi(-25) / noise as f64 + 5e-6
}

/// As long as variances came of blurs of x², y² and xy, the value was 4 % off for a noise of 1e-3 and several times itself for 1e-4,
/// the gradient 2e-4 and 7.5e-4.
#[test]
fn the_loss_is_right_near_its_photo() {
    for (noise, masked) in [(3e-2f32, false), (1e-3, false), (1e-4, false), (1e-3, true)] {
        let (image, photo) = near(noise, masked);
        let exact: Vec<[f64; 3]> = (0..image[0].len())
            .map(|i| [0, 1, 2].map(|c| image[c][i] as f64))
            .collect();
        let want = loss(&exact, &photo, 1.0);
        for level in Level::available() {
            let mut own = Loss::default();
            let value = own.fill(level, &image, &photo, 1.0);
            let (mut error, mut norm) = (0.0f64, 0.0f64);
            for (i, want) in want.gradient.iter().enumerate() {
                for (c, want) in want.iter().enumerate() {
                    error += (own.gradient[c][i] as f64 - want).powi(2);
                    norm += want * want;
                }
            }
            let (error, off) = ((error / norm).sqrt(), (value / want.value - 1.0).abs());
            assert!(
                error < gradient_tolerance(noise) && off < VALUE_TOLERANCE,
                "noise {noise}, masked {masked}, {}: the gradient is {error:.1e} off, the value {off:.1e}",
                level.name()
            );
        }
    }
}
