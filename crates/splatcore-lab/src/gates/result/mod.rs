//! What a candidate computes, looked at by the parent: images and gradients beside the reference,
//! which is rendered by the processor's own backend from none of the candidate's text.

mod compare;
mod kinds;
mod metamorphic;
mod scenes;
mod world;

pub use compare::{GradientError, ImageError, bits, gradient_errors, image_error};
pub use metamorphic::check as check_metamorphic;
pub use scenes::{TestScene, Wanted, for_sanitizers, hostile, of_timed_size, random, wanted};

use super::{Gate, Rejection};

/// PSNR in dB beyond which images count as equally exact. Two images of one method in f32 differ by
/// roundings (more than 120 dB), and no photo of 8 or 16 bits shows a difference beyond 100.
pub const EXACT: f64 = 100.0;
/// What a candidate may lose against the baseline, dB, beyond what chance explains: in any view,
/// and in the mean over views.
pub const LOSS: f64 = 0.05;
/// What a candidate may lose in any view however chance explains it, dB.
pub const LOSS_BY_CHANCE: f64 = 0.5;
/// Standard errors that chance explains: images of two candidates with roundings of one size differ
/// by more in one view of 30,000, of a normal distribution.
const CHANCE: f64 = 4.0;
/// A pixel may be off by this (of the brightest value beyond 1), or by twice what the
/// baseline's worst pixel is off by: a fragment at the
/// threshold of 1/255 or of the early end may fall on either side.
pub const PIXEL: f64 = 0.01;
/// A gradient's relative L2 error that counts as rounding (`GRADIENT_IN_SINGLE`).
pub const GRADIENT: f64 = splatcore_core::precision::GRADIENT_IN_SINGLE;
/// Beyond [`GRADIENT`] a candidate's error may be the baseline's times this.
pub const GRADIENT_GROWTH: f64 = 1.1;
/// Gaussians that may lose their own gradient besides those of the baseline, as a share of all that
/// have one: where positive and negative parts cancel, roundings are left.
pub const GRADIENTS_LOST: f64 = 0.002;

/// Whether a candidate's image is as close to the reference as the baseline's.
///
/// # Errors
/// With [`Gate::Result`] if a pixel is wrong, with [`Gate::Precision`] if the image as a whole is
/// less exact.
pub fn judge_image(
    name: &str,
    candidate: &ImageError,
    baseline: &ImageError,
) -> Result<(), Rejection> {
    let most = (PIXEL * baseline.largest).max(2.0 * baseline.worst);
    // A NaN is an infinite error, even where the baseline has one.
    if candidate.worst > most || candidate.worst.is_infinite() {
        return Err(Rejection::new(
            Gate::Result,
            format!(
                "{name}: pixel {:?} is off by {:.3e} of the reference, {most:.3e} is allowed (the \
                 baseline's worst is off by {:.3e})",
                candidate.at, candidate.worst, baseline.worst
            ),
        ));
    }
    let lost = baseline.psnr.min(EXACT) - candidate.psnr;
    if lost <= LOSS {
        return Ok(());
    }
    let (growth, error) = candidate.growth(baseline);
    let chance = growth - CHANCE * error <= share(LOSS);
    if chance && lost <= LOSS_BY_CHANCE && baseline.psnr < EXACT {
        return Ok(());
    }
    Err(Rejection::new(
        Gate::Precision,
        format!(
            "{name}: {:.2} dB against the reference, the baseline has {:.2}",
            candidate.psnr, baseline.psnr
        ),
    ))
}

/// A loss in dB as a share of squared error.
fn share(loss: f64) -> f64 {
    10f64.powf(loss / 10.0) - 1.0
}

/// What a candidate's views lose together. What chance explains in each shows here, if it always
/// falls on one side.
#[derive(Debug, Default)]
pub struct Losses(Vec<f64>);

impl Losses {
    /// Takes in a view. Where the baseline counts as exact, [`judge_image`] has said all.
    pub fn push(&mut self, candidate: &ImageError, baseline: &ImageError) {
        if baseline.psnr < EXACT {
            self.0.push(candidate.growth(baseline).0);
        }
    }

    /// Whether the mean over views is no loss.
    ///
    /// # Errors
    /// With [`Gate::Precision`].
    pub fn judge(&self) -> Result<(), Rejection> {
        let count = self.0.len() as f64;
        if count < 2.0 {
            return Ok(());
        }
        let mean = self.0.iter().sum::<f64>() / count;
        let spread: f64 = self.0.iter().map(|growth| (growth - mean).powi(2)).sum();
        let error = (spread / (count - 1.0) / count).sqrt();
        if mean - CHANCE * error <= share(LOSS) {
            return Ok(());
        }
        Err(Rejection::new(
            Gate::Precision,
            format!(
                "{count} views together: {:.1} % more squared error than the baseline's, with a \
                 standard error of {:.1} %",
                100.0 * mean,
                100.0 * error
            ),
        ))
    }
}

/// Whether a candidate's gradients are as close to the reference as the baseline's.
///
/// # Errors
/// As [`judge_image`].
pub fn judge_gradients(
    name: &str,
    candidate: &[GradientError],
    baseline: &[GradientError],
) -> Result<(), Rejection> {
    /// An error of this size is no loss of precision but another result.
    const WRONG: f64 = 0.1;
    for (candidate, baseline) in candidate.iter().zip(baseline) {
        let most = baseline.lost + 1 + (GRADIENTS_LOST * baseline.of as f64) as usize;
        if candidate.lost > most {
            return Err(Rejection::new(
                Gate::Result,
                format!(
                    "{name}: {} of {} Gaussians have another gradient of the {}, {most} are \
                     allowed (the baseline has {})",
                    candidate.lost, candidate.of, candidate.group, baseline.lost
                ),
            ));
        }
    }
    for (candidate, baseline) in candidate.iter().zip(baseline) {
        let most = GRADIENT.max(GRADIENT_GROWTH * baseline.relative);
        if candidate.relative <= most {
            continue;
        }
        let wrong = candidate.relative > WRONG && candidate.relative > 2.0 * baseline.relative;
        let gate = if wrong { Gate::Result } else { Gate::Precision };
        return Err(Rejection::new(
            gate,
            format!(
                "{name}: gradients of the {} are off by {:.3e} (relative L2), {most:.3e} is \
                 allowed (the baseline's by {:.3e})",
                candidate.group, candidate.relative, baseline.relative
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;
    use splatcore_core::{Gaussians, Image};

    fn judged(change: impl Fn(&mut Image), baseline: impl Fn(&mut Image)) -> Option<Gate> {
        let reference = Image::filled(64, 48, [0.5; 3]);
        let error = |change: &dyn Fn(&mut Image)| {
            let mut image = reference.clone();
            change(&mut image);
            image_error(&image, &reference)
        };
        let judged = judge_image("image", &error(&change), &error(&baseline));
        judged.err().map(|rejection| rejection.gate)
    }

    #[test]
    fn an_image_is_held_to_the_reference_and_to_the_baseline() {
        let same = |_: &mut Image| {};
        let all = |by: f32| {
            move |image: &mut Image| image.data.iter_mut().flatten().for_each(|v| *v += by)
        };
        let one = |by: f32| move |image: &mut Image| image.data[100][1] += by;
        assert_eq!(judged(same, same), None);
        assert_eq!(judged(all(1e-6), same), None, "roundings");
        assert_eq!(judged(all(1e-4), same), Some(Gate::Precision), "halves");
        assert_eq!(judged(all(1e-4), all(1e-4)), None, "as the baseline");
        assert_eq!(judged(all(1.02e-3), all(1e-3)), Some(Gate::Precision));
        // Noise of one size, from two seeds: chance. A tenth more: none.
        let noise = |seed: u64, size: f32| {
            move |image: &mut Image| {
                let mut rng = Rng::new(seed, 0);
                image.data.iter_mut().for_each(|pixel| {
                    let by = size * (rng.uniform() - 0.5);
                    pixel.iter_mut().for_each(|v| *v += by);
                });
            }
        };
        for seed in 0..20 {
            let (one, other) = (noise(2 * seed, 1e-3), noise(2 * seed + 1, 1e-3));
            assert_eq!(judged(one, other), None, "{seed}");
            let more = noise(2 * seed, 1.1e-3);
            assert_eq!(judged(more, other), Some(Gate::Precision), "{seed}");
        }
        assert_eq!(judged(one(0.004), same), None, "a fragment at a threshold");
        assert_eq!(judged(one(0.02), same), Some(Gate::Result));
        assert_eq!(judged(one(f32::NAN), same), Some(Gate::Result));
        assert_eq!(judged(one(f32::NAN), one(f32::NAN)), Some(Gate::Result));
    }

    #[test]
    fn views_together_lose_nothing() {
        let of = |seed: u64, size: f32| {
            let reference = Image::filled(24, 24, [0.5; 3]);
            let mut image = reference.clone();
            let mut rng = Rng::new(seed, 0);
            image.data.iter_mut().for_each(|pixel| {
                pixel[0] += size * (rng.uniform() - 0.5);
            });
            image_error(&image, &reference)
        };
        // 6 % more squared error: chance in one small view, and not in forty.
        let judged = |size: f32| {
            let mut losses = Losses::default();
            for view in 0..40 {
                let (candidate, baseline) = (of(2 * view, size), of(2 * view + 1, 1e-3));
                losses.push(&candidate, &baseline);
            }
            losses.judge().is_ok()
        };
        assert!(judged(1e-3) && !judged(1.08e-3));
    }

    #[test]
    fn a_bright_image_may_be_off_by_as_much_of_its_brightness() {
        let judged = |by: f32| {
            let reference = Image::filled(64, 48, [8.0; 3]);
            let mut image = reference.clone();
            image.data[100][1] += by;
            let of = |image: &Image| image_error(image, &reference);
            judge_image("image", &of(&image), &of(&reference)).is_ok()
        };
        assert!(judged(0.06) && !judged(0.1));
    }

    #[test]
    fn gradients_are_held_to_the_baseline() {
        let of = |relative| {
            vec![GradientError {
                group: "means",
                relative,
                lost: 0,
                of: 100,
            }]
        };
        let judged = |candidate, baseline| {
            let judged = judge_gradients("scene", &of(candidate), &of(baseline));
            judged.err().map(|rejection| rejection.gate)
        };
        assert_eq!(judged(9e-5, 1e-7), None);
        assert_eq!(judged(1e-3, 1e-7), Some(Gate::Precision));
        assert_eq!(judged(1e-3, 1e-3), None);
        assert_eq!(judged(0.5, 1e-3), Some(Gate::Result));
        assert_eq!(judged(f64::INFINITY, 1e-3), Some(Gate::Result));
    }

    #[test]
    fn small_gradients_count_as_much_as_large_ones() {
        let mut right = Gaussians::zeros(1000, 0);
        for (i, mean) in right.means.iter_mut().enumerate() {
            *mean = [if i % 2 == 0 { 1.0 } else { 1e-7 }; 3];
        }
        let judged = |from: usize, to: usize| {
            let mut found = right.clone();
            found.means[from..to].iter_mut().for_each(|mean| {
                if mean[0] < 0.5 {
                    *mean = [0.0; 3];
                }
            });
            let exact = gradient_errors(&right, &right);
            judge_gradients("scene", &gradient_errors(&found, &right), &exact)
        };
        assert!(judged(0, 4).is_ok());
        let error = judged(0, 1000).unwrap_err().to_string();
        assert!(error.contains("500 of 1000 Gaussians"), "{error}");
    }
}
