//! Mip-Splatting's 3D smoothing filter (Yu et al. 2024, section 4.1): no Gaussian is finer than the
//! photos can tell.
//!
//! A camera samples what lies at depth d with the interval d / f. The finest interval T among the
//! training cameras that see a Gaussian bounds what its shape can be known by, so it is convolved
//! with a Gaussian of variance 0.2 T² (eq. 8, where T is 1 / nu): its scales become sqrt(s² + 0.2
//! T²) and its opacity falls by as much as its volume grows. A learner keeps the filter of each
//! Gaussian beside its parameters, as the log of the standard deviation, and renders through it;
//! parameters stay free to shrink, and from the filter alone an ever finer one changes no image.
//! What leaves training is [`fuse`]d: a scene file needs no filter.
//!
//! Everything else goes by the Gaussians' own scales and opacities, as in the authors' code, but
//! for the reset of opacities: there the filtered ones are capped, or those that the filter made
//! faint would fall below what is drawn at all and never come back.

use super::entry::{Entry, Rule};
use crate::camera::{Camera, dot};
use crate::gaussians::Gaussians;
use crate::lens::{Lens, Projection};
use crate::semantics::NEAR_PLANE;

/// Variance of the filter in squared sampling intervals.
pub const VARIANCE: f64 = 0.2;
/// A camera sees a mean that lies outside its image by no more than this share of the side.
pub const MARGIN: f64 = 0.15;

pub(super) const ENTRY: Entry = Entry {
    name: "smoothing filters",
    width: 1,
    arrays: &[("smoothing", Rule::Copied)],
    learns: None,
};

/// A camera that samples the scene.
#[derive(Clone, Debug)]
pub struct Sampler {
    camera: Camera,
    /// Of a camera with a lens.
    projection: Option<Projection>,
}

impl Sampler {
    /// Of a camera. How it moves while a photo is read changes no interval.
    pub fn new(camera: &Camera) -> Self {
        let camera = camera.still();
        Self {
            projection: match camera.lens {
                Lens::Pinhole => None,
                _ => Projection::new(&camera),
            },
            camera,
        }
    }

    /// The interval with which it samples what lies at a place, if it sees that: depth over focal
    /// length, which is pixels per radian for a fisheye; of parallel rays the same everywhere.
    fn interval(&self, view: [f64; 3]) -> Option<f64> {
        let camera = &self.camera;
        let (depth, [u, v]) = match &self.projection {
            None => {
                let [x, y, z] = view;
                // In pixels times z, so that nothing is divided by it.
                (
                    z,
                    [camera.fx * x + camera.cx * z, camera.fy * y + camera.cy * z],
                )
            }
            Some(lens) if lens.sees_centre(view) => {
                let depth = lens.depth(view);
                (depth, lens.project(view).map(|at| at * depth))
            }
            Some(_) => return None,
        };
        let within = |projected: f64, side: u32| {
            let side = side as f64 * depth;
            projected >= -MARGIN * side && projected <= (1.0 + MARGIN) * side
        };
        let in_view = depth > NEAR_PLANE && within(u, camera.width) && within(v, camera.height);
        in_view.then(|| self.over_focal(depth))
    }

    /// The interval at a depth.
    fn over_focal(&self, depth: f64) -> f64 {
        let lens = self.projection.as_ref();
        let grows = lens.is_none_or(|lens| lens.polynomial.plane.grows_with_depth());
        let depth = if grows { depth } else { 1.0 };
        depth / self.camera.fx.max(self.camera.fy)
    }
}

/// Natural log of the filter's standard deviation, world units, for a Gaussian at `mean`. One that
/// no camera sees gets what the nearest camera would give if it turned towards it; without cameras
/// there is no filter, negative infinity.
pub fn filter(mean: [f32; 3], cameras: &[Sampler]) -> f32 {
    let mean = mean.map(f64::from);
    let (mut seen, mut unseen) = (f64::INFINITY, f64::INFINITY);
    for sampler in cameras {
        let view = sampler.camera.to_view(mean);
        if let Some(interval) = sampler.interval(view) {
            seen = seen.min(interval);
        }
        let distance = dot(view, view).sqrt();
        unseen = unseen.min(sampler.over_focal(distance.max(NEAR_PLANE)));
    }
    let interval = if seen.is_finite() { seen } else { unseen };
    match interval.is_finite() {
        true => (VARIANCE.sqrt() * interval).ln() as f32,
        false => f32::NEG_INFINITY,
    }
}

/// By how much the filter makes a log scale larger: ln(sqrt(s² + f²) / s), the logs of s and f
/// given.
pub fn growth(log_scale: f64, filter: f64) -> f64 {
    let over = filter - log_scale;
    over.max(0.0) + 0.5 * (-2.0 * over.abs()).exp().ln_1p()
}

/// Gaussians with their filters (one each, or none at all) in scales and opacities.
pub fn fuse(mut gaussians: Gaussians, filters: &[f32]) -> Gaussians {
    for (i, &filter) in filters.iter().enumerate() {
        let mut lost = 0.0;
        for scale in &mut gaussians.log_scales[i] {
            let grown = growth(*scale as f64, filter as f64);
            *scale = (*scale as f64 + grown) as f32;
            lost += grown;
        }
        let logit = gaussians.opacity_logits[i] as f64;
        // ln o' = ln sigmoid(logit) - lost; its logit is ln o' - ln(1 - o').
        let opacity = logit.min(0.0) - (-logit.abs()).exp().ln_1p() - lost;
        gaussians.opacity_logits[i] = match lost > 0.0 {
            true => (opacity - (-opacity.exp_m1()).ln()) as f32,
            false => gaussians.opacity_logits[i],
        };
    }
    gaussians
}

/// The logit that caps a Gaussian's filtered opacity at `ceiling`: infinite if the filter takes
/// more than that.
pub fn ceiling_logit(ceiling: f32, log_scales: [f32; 3], filter: f32) -> f32 {
    let lost: f64 = log_scales
        .iter()
        .map(|&s| growth(s as f64, filter as f64))
        .sum();
    let own = ceiling as f64 * lost.exp();
    match own < 1.0 {
        true => (own / (1.0 - own)).ln() as f32,
        false => f32::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussians::sigmoid;

    fn camera(z: f64, focal: f64) -> Camera {
        Camera {
            fx: focal,
            fy: focal,
            ..Camera::look_at(
                [0.0, 0.0, z],
                [0.0, 0.0, z + 1.0],
                [0.0, -1.0, 0.0],
                1.0,
                100,
                80,
            )
        }
    }

    #[test]
    fn the_finest_camera_that_sees_it_decides() {
        let cameras = [camera(-4.0, 100.0), camera(-2.0, 80.0), camera(1.0, 1000.0)];
        let deviation = |mean, cameras: &[Camera]| {
            let samplers: Vec<Sampler> = cameras.iter().map(Sampler::new).collect();
            (filter(mean, &samplers) as f64).exp()
        };
        // 4 / 100 and 2 / 80; the third looks away.
        let want = 0.2f64.sqrt() * 2.0 / 80.0;
        assert!((deviation([0.0; 3], &cameras) / want - 1.0).abs() < 1e-6);
        // 64 pixels from the middle at most, margin included: 1.2 at a depth of 2 lies in the first
        // image alone.
        let beside = deviation([1.7, 0.0, 0.0], &cameras[..2]);
        assert!((beside / (0.2f64.sqrt() * 4.0 / 100.0) - 1.0).abs() < 1e-6);
        // Seen by none: as the nearest would, at its distance.
        let away = deviation([0.0, 30.0, -2.0], &cameras[..2]);
        let want = 0.2f64.sqrt() * (904.0f64.sqrt() / 100.0).min(30.0 / 80.0);
        assert!((away / want - 1.0).abs() < 1e-6);
        assert_eq!(filter([0.0; 3], &[]), f32::NEG_INFINITY);
    }

    /// A fisheye samples what is beside it, in pixels per radian.
    #[test]
    fn a_fisheye_samples_beside_itself() {
        let fisheye = Camera {
            lens: Lens::Fisheye {
                k: [0.0; 4],
                p: [0.0; 2],
                s: [0.0; 2],
            },
            ..camera(0.0, 30.0)
        };
        let beside = [2.0, 0.0, -0.1];
        let of = |camera: &Camera| f64::from(filter(beside, &[Sampler::new(camera)])).exp();
        let distance = (4.0f64 + 0.01).sqrt();
        assert!((of(&fisheye) / (0.2f64.sqrt() * distance / 30.0) - 1.0).abs() < 1e-6);
        // With the finer one that does not see it, the other way round.
        let finer = Sampler::new(&camera(0.0, 60.0));
        let both = filter(beside, &[Sampler::new(&fisheye), finer]);
        assert!((f64::from(both).exp() / of(&fisheye) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn fused_gaussians_are_convolved() {
        let mut g = Gaussians::zeros(3, 0);
        g.log_scales[0] = [0.5f32.ln(), 0.02f32.ln(), 1e-9f32.ln()];
        g.opacity_logits = vec![1.0, 20.0, -3.0];
        let filters = [0.1f32.ln(), f32::NEG_INFINITY, 2.0f32.ln()];
        let fused = fuse(g.clone(), &filters);
        let scales = [0.5f64, 0.02, 1e-9];
        let mut ratio = 1.0;
        for (k, s) in scales.into_iter().enumerate() {
            let want = (s * s + 0.01).sqrt();
            ratio *= s / want;
            assert!((fused.log_scales[0][k] as f64 - want.ln()).abs() < 1e-6);
        }
        let got = sigmoid(fused.opacity_logits[0]) as f64;
        assert!((got / (sigmoid(1.0) as f64 * ratio) - 1.0).abs() < 1e-5);
        assert_eq!(fused.opacity_logits[1], 20.0);
        assert_eq!(fused.log_scales[1], g.log_scales[1]);
        let want = sigmoid(-3.0) / 125.0f32.sqrt();
        assert!((sigmoid(fused.opacity_logits[2]) / want - 1.0).abs() < 1e-5);
        assert_eq!(fuse(g.clone(), &[]), g);
    }

    #[test]
    fn a_capped_opacity_is_the_ceiling_once_filtered() {
        let mut g = Gaussians::zeros(1, 0);
        g.log_scales[0] = [0.1f32.ln(); 3];
        let filter = 0.15f32.ln();
        g.opacity_logits[0] = ceiling_logit(0.01, g.log_scales[0], filter);
        let filtered = sigmoid(fuse(g, &[filter]).opacity_logits[0]);
        assert!((filtered - 0.01).abs() < 1e-6, "{filtered}");
        assert_eq!(ceiling_logit(0.01, [-9.0; 3], 0.0), f32::INFINITY);
    }
}
