//! `limit_scales`: no Gaussian is larger than a share of its distance from the nearest camera
//! ([`splatcore_core::scale_limit`]).

use rayon::prelude::*;
use splatcore_core::scale_limit::scale_limit;
use splatcore_core::{Camera, Gaussians};

/// Caps the log scales.
pub(crate) fn limit_scales(
    gaussians: &mut Gaussians,
    cameras: &[Camera],
    (share, floor): (f32, f32),
) {
    let scales = gaussians.log_scales.par_iter_mut();
    scales.zip(&gaussians.means).for_each(|(scales, &mean)| {
        let limit = scale_limit(mean, cameras, share, floor);
        *scales = scales.map(|scale| scale.min(limit));
    });
}
