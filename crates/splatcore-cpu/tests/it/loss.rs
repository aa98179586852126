//! The f32 loss against the f64 twin where the image is nearly the photo, so that the terms of the
//! gradient nearly cancel.

use splatcore_core::random::Rng;
use splatcore_cpu::loss::Loss;
use splatcore_cpu::simd::Level;
use splatcore_reference::conformance::scenes::nearly_its_photo;
use splatcore_reference::twin::loss::loss;

/// Of a value that is small here: some hundred roundings, few of them the same way.
const VALUE_TOLERANCE: f64 = 2e-5;

/// A photo's value is a 255th as f32, so half a unit of 2^-24 off, which is a share of what the
/// images differ by; and f32's own part.
fn gradient_tolerance(noise: f32) -> f64 {
    2f64.powi(-25) / noise as f64 + 5e-6
}

/// As long as variances came of blurs of x², y² and xy, the value was 4 % off for a noise of 1e-3
/// and several times itself for 1e-4, the gradient 2e-4 and 7.5e-4.
#[test]
fn the_loss_is_right_near_its_photo() {
    for (noise, masked) in [(3e-2f32, false), (1e-3, false), (1e-4, false), (1e-3, true)] {
        let (pixels, mut photo) = nearly_its_photo(61, 45, noise);
        let mut rng = Rng::new(8, 0);
        photo.mask = masked.then(|| pixels.iter().map(|_| (rng.uniform() < 0.6) as u8).collect());
        let image = [0, 1, 2].map(|c| pixels.iter().map(|p| p[c]).collect::<Vec<f32>>());
        let exact: Vec<[f64; 3]> = pixels.iter().map(|p| p.map(f64::from)).collect();
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
                "noise {noise}, masked {masked}, {}: the gradient is {error:.1e} off, the value \
                 {off:.1e}",
                level.name()
            );
        }
    }
}
