//! The constants of the reference rasterizer (INRIA's, as in "3D Gaussian Splatting for Real-Time
//! Radiance Field Rendering", 2023). Every backend and the f64 twin take them from here.

/// A Gaussian is drawn only if its centre lies further than this from the camera plane (view-space
/// z).
pub const NEAR_PLANE: f64 = 0.2;
/// The projection's Jacobian is evaluated at most this many times tan(half field of view) off axis.
pub const FRUSTUM_CLAMP: f64 = 1.3;
/// Added to both diagonal entries of the projected covariance, in square pixels (low-pass filter).
pub const LOW_PASS: f64 = 0.3;
/// Least value of det C / det (C + [`LOW_PASS`] I) in the antialiased mode, so that nothing is
/// divided by zero.
pub const COMPENSATION_MIN: f64 = 2.5e-5;
/// Alpha never exceeds this.
pub const ALPHA_MAX: f64 = 0.99;
/// A fragment below this alpha is skipped.
pub const ALPHA_MIN: f64 = 1.0 / 255.0;
/// A pixel stops before the fragment that would take its transmittance below this.
pub const TRANSMITTANCE_MIN: f64 = 1e-4;
/// Side of a tile in pixels.
pub const TILE: usize = 16;

/// The unscented transform of cameras with a lens (Wu et al. 2025, "3DGUT", with alpha = 1, beta =
/// 2, kappa = 0; Julier and Uhlmann 1997): a Gaussian's mean, and points at plus and minus so many
/// standard deviations along each of its axes, stand for it: sqrt(3 + lambda), lambda = alpha² (3 +
/// kappa) - 3 = 0.
pub const SIGMA_SPREAD: f64 = 1.732_050_807_568_877_2;
/// Weight of each of the six points in mean and covariance, 1 / (2 (3 + lambda)); the mean has none
/// in the mean, lambda / (3 + lambda).
pub const SIGMA_WEIGHT: f64 = 1.0 / 6.0;
/// Weight of the mean in the covariance, lambda / (3 + lambda) + 1 - alpha² + beta.
pub const SIGMA_CENTRE_WEIGHT: f64 = 2.0;

/// The constants that some published renderers set differently. [`Default`] is the reference.
/// They can be changed so that another program's images can serve as test vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Semantics {
    /// See [`NEAR_PLANE`].
    pub near_plane: f32,
    /// See [`ALPHA_MAX`].
    pub alpha_max: f32,
}

impl Default for Semantics {
    fn default() -> Self {
        Self {
            near_plane: NEAR_PLANE as f32,
            alpha_max: ALPHA_MAX as f32,
        }
    }
}
