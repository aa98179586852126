//! Scores: one number for each Gaussian, more for those that matter more to the views.

use clap::ValueEnum;
use splatcore_core::backend::{BackendError, RenderOptions, Scored, Visibility};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, View};

/// Which formula scores a Gaussian. Sums are over its fragments in all views; gamma is
/// min(V / V90, 1)^0.1 with the volume V, the product of the scales, and V90, the volume that a
/// tenth of the Gaussians exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Score {
    /// Its share of the images: the sum of alpha T, times gamma
    #[default]
    Transmittance,
    /// LightGaussian's formula (Fan et al. 2024, equation 4): opacity times the sum of T, times
    /// gamma
    #[value(name = "lightgaussian")]
    LightGaussian,
    /// As the code of LightGaussian computes it: opacity times the number of fragments, without T,
    /// times (V / V90)^0.1 without the limit
    Opacity,
}

/// Exponent of the volume (LightGaussian).
const VOLUME_POWER: f64 = 0.1;
/// Share of the Gaussians that are at most as large as V90.
const REFERENCE_SHARE: f64 = 0.9;

impl Score {
    /// The scores of a scene's Gaussians, `[n]`; `visibility` is of the same scene.
    pub fn of(self, scene: &Gaussians, visibility: &Visibility) -> Vec<f64> {
        let volumes = relative_volumes(scene);
        let opacity = |i: usize| f64::from(sigmoid(scene.opacity_logits[i]));
        let score = |i: usize| match self {
            Self::Transmittance => visibility.weights[i] * gamma(volumes[i].min(1.0)),
            Self::LightGaussian => {
                opacity(i) * visibility.transmittances[i] * gamma(volumes[i].min(1.0))
            }
            Self::Opacity => opacity(i) * visibility.fragments[i] as f64 * gamma(volumes[i]),
        };
        (0..scene.len()).map(score).collect()
    }
}

fn gamma(relative_volume: f64) -> f64 {
    relative_volume.powf(VOLUME_POWER)
}

/// V / V90 of each Gaussian.
fn relative_volumes(scene: &Gaussians) -> Vec<f64> {
    let log_volume = |scales: &[f32; 3]| scales.iter().map(|&s| f64::from(s)).sum::<f64>();
    let logs: Vec<f64> = scene.log_scales.iter().map(log_volume).collect();
    let mut sorted = logs.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (REFERENCE_SHARE * sorted.len() as f64) as usize;
    let reference = sorted.get(place).copied().unwrap_or(0.0);
    // In logarithms: a product of three scales may be outside the range of a number.
    logs.iter().map(|log| (log - reference).exp()).collect()
}

/// A Gaussian that no view shows counts as this share of the mean.
const MIN_WEIGHT: f64 = 0.01;

/// How much it matters that a Gaussian is close to what it was, `[n]`: its share of the images, the
/// sum of alpha T, since an error of its colour is one of the images by that much.
pub fn weights(visibility: &Visibility) -> Vec<f32> {
    let shares = &visibility.weights;
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    let least = (MIN_WEIGHT * mean).max(f64::from(f32::MIN_POSITIVE));
    shares.iter().map(|share| share.max(least) as f32).collect()
}

/// How much of each Gaussian all views show; `tell` hears how many are done.
///
/// # Errors
/// What the renderer reports.
pub fn visibility<S: Scored + ?Sized>(
    scene: &mut S,
    views: &[View],
    options: &RenderOptions,
    tell: &mut dyn FnMut(usize),
) -> Result<Visibility, BackendError> {
    let mut sums: Option<Visibility> = None;
    for (i, view) in views.iter().enumerate() {
        let shown = scene.visibility(&view.camera, options)?;
        match &mut sums {
            Some(sums) => sums.add(&shown),
            None => sums = Some(shown),
        }
        tell(i + 1);
    }
    sums.ok_or_else(|| BackendError::Input("no view to score Gaussians by".into()))
}
