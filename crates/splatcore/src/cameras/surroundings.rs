//! Where a scene is, for cameras that look at all of it.

use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::ranked::{median, percentile};

/// So many Gaussians are looked at to find where a scene is; the rest would change nothing.
const SAMPLED: usize = 200_000;

/// Indices of Gaussians that stand for all: every one, or every so many.
pub fn sampled(scene: &Gaussians) -> impl Iterator<Item = usize> + use<> {
    sampled_of(scene, SAMPLED)
}

/// As [`sampled`], of at most so many.
pub fn sampled_of(scene: &Gaussians, most: usize) -> impl Iterator<Item = usize> + use<> {
    let count = scene.len();
    (0..count).step_by(count.div_ceil(most).max(1))
}

/// The median of the visible Gaussians' centres, and a radius around it; nothing of an empty scene.
/// The radius is such that 95 % of them lie within, but at most 2.5 times as many units as the
/// nearer half needs: a far background must not make a dot of what the photos were about.
pub fn surroundings(scene: &Gaussians) -> Option<([f64; 3], f64)> {
    let visible = |i: &usize| sigmoid(scene.opacity_logits[*i]) >= 0.1;
    let mut means: Vec<[f32; 3]> = (0..scene.len())
        .filter(visible)
        .map(|i| scene.means[i])
        .collect();
    if means.is_empty() {
        means = scene.means.clone();
    }
    if means.is_empty() {
        return None;
    }
    let middle = |k: usize| median(means.iter().map(|m| m[k].into())).unwrap_or(0.0);
    let centre: [f64; 3] = std::array::from_fn(middle);
    let from_centre = |m: &[f32; 3]| {
        (0..3)
            .map(|k| (m[k] as f64 - centre[k]).powi(2))
            .sum::<f64>()
            .sqrt() as f32
    };
    let distances = || means.iter().map(|m| from_centre(m).into());
    let (most, half) = (percentile(distances(), 0.95)?, median(distances())?);
    Some((
        centre,
        f64::from((most as f32).min(2.5 * half as f32)).max(1e-3),
    ))
}
