//! How large a Gaussian may be: a share of its distance from the nearest camera, or a size that is
//! always allowed.
//!
//! Splatting replaces the projection near a Gaussian's mean by an affine one (Zwicker et al. 2001,
//! EWA), which holds while the Gaussian is small against its depth. What has grown beyond that fits
//! the photos that it was trained on and is drawn anywhere in others: of a million Gaussians of a
//! scene, ten sheets of three to six times the radius of the cameras' positions, on a wall and next
//! to its plane, covered half of a held-out photo (docs/log/training-view-0110.md). A limit in
//! units of the scene would not do: a sky far away may be of large Gaussians. Nor would the share
//! alone: a plain wall beside the cameras is of Gaussians that are large against its distance, and
//! limits on these cost 0.7 dB in a corridor.

use crate::camera::{Camera, dot};
use crate::semantics::NEAR_PLANE;

/// Natural log of the largest standard deviation, world units, of a Gaussian at `mean`: `share` of
/// its distance from the nearest camera, whether that looks at it or not, and of the near plane at
/// least; no less than `floor`, world units, 0 or above. Infinite without cameras.
pub fn scale_limit(mean: [f32; 3], cameras: &[Camera], share: f32, floor: f32) -> f32 {
    let mean = mean.map(f64::from);
    let mut nearest = f64::INFINITY;
    for camera in cameras {
        let eye = camera.position();
        let away: [f64; 3] = std::array::from_fn(|k| mean[k] - eye[k]);
        nearest = nearest.min(dot(away, away));
    }
    let limit = (nearest.sqrt().max(NEAR_PLANE) * f64::from(share)).ln() as f32;
    limit.max(floor.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_camera_limits() {
        let at = |z: f64| {
            Camera::look_at(
                [0.0, 0.0, z],
                [1.0, 2.0, z + 3.0],
                [0.0, 1.0, 0.0],
                1.0,
                8,
                8,
            )
        };
        let cameras = [at(8.0), at(2.0), at(-4.0)];
        let limit = |mean| f64::from(scale_limit(mean, &cameras, 0.25, 0.0));
        assert!((limit([0.0; 3]) - 0.5f64.ln()).abs() < 1e-6);
        // Behind the third camera, and in the second.
        assert!((limit([0.0, 4.0, -7.0]) - 1.25f64.ln()).abs() < 1e-6);
        assert!((limit([0.0, 0.0, 2.0]) - (0.25 * NEAR_PLANE).ln()).abs() < 1e-6);
        assert_eq!(scale_limit([0.0; 3], &[], 0.25, 0.0), f32::INFINITY);
        // What the floor allows is allowed beside a camera, too.
        let allowed = |mean| scale_limit(mean, &cameras, 0.25, 0.75).exp();
        assert!((allowed([0.0; 3]) - 0.75).abs() < 1e-6);
        assert!((allowed([0.0, 4.0, -7.0]) - 1.25).abs() < 1e-6);
    }
}
