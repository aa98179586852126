//! `smoothing`: Mip-Splatting's 3D filter (Yu et al. 2024, section 4.1;
//! [`splatcore_core::columns::smoothing`]), a part of `project` and `project_backward`. Log scales
//! grow and opacities fall as they are loaded, and gradients go back the same way; all in between
//! knows nothing of it. Twin: `splatcore_reference::twin::smoothing`.

use crate::scene::Scene;
use crate::simd::{Lanes, Rows, load_columns, log2_one_plus_exp2};
use rayon::prelude::*;
use splatcore_core::columns::Column;
use splatcore_core::columns::smoothing::{Sampler, filter};
use splatcore_core::{Camera, Gaussians};
use std::f32::consts::{LN_2, LOG2_E};

/// The filter of every Gaussian.
pub(crate) fn filters(gaussians: &Gaussians, cameras: &[Camera]) -> Vec<f32> {
    let cameras: Vec<Sampler> = cameras.iter().map(Sampler::new).collect();
    gaussians
        .means
        .par_iter()
        .map(|&mean| filter(mean, &cameras))
        .collect()
}

/// Makes the log scales in columns 3 to 5 as they are drawn; returns by how much larger, in log2:
/// zero without a filter. ln opacity falls by the sum.
#[inline(always)]
pub(crate) fn grown<L: Lanes>(scene: &Scene<'_>, rows: &Rows, columns: &mut [L; 10]) -> [L; 3] {
    let mut growth = [L::splat(0.0); 3];
    let filters = scene.columns[Column::Filter];
    if filters.is_empty() {
        return growth;
    }
    let mut filter = [L::splat(0.0)];
    load_columns(filters, 1, rows, 1, &mut filter);
    for k in 0..3 {
        // sqrt(1 + f^2 / s^2)
        let over = (filter[0] - columns[3 + k]) * L::splat(2.0 * LOG2_E);
        growth[k] = L::splat(0.5) * log2_one_plus_exp2(over);
        columns[3 + k] = growth[k].mul_add(L::splat(LN_2), columns[3 + k]);
    }
    growth
}

/// Turns gradients with respect to the grown log scales into those of the stored ones, given the
/// gradient with respect to ln opacity, which fell by the growth.
#[inline(always)]
pub(crate) fn grown_backward<L: Lanes>(
    growth: &[L; 3],
    opacity_gradient: L,
    log_scales: &mut [L; 3],
) {
    for k in 0..3 {
        // s^2 / (s^2 + f^2)
        let own = (growth[k] * L::splat(-2.0)).exp2();
        log_scales[k] = own.mul_add(log_scales[k] - opacity_gradient, opacity_gradient);
    }
}
