//! What the twin gives.

use super::cut_offs::Doubt;
use super::scene::Scene;
use splatcore_core::IntrinsicsGradient;

/// A rendered view in f64.
#[derive(Clone, Debug)]
pub struct TwinFrame {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Colour, background included, `[height * width]` of r, g, b.
    pub image: Vec<[f64; 3]>,
    /// Transmittance behind the last fragment, `[height * width]`.
    pub transmittance: Vec<f64>,
    /// Sum of 1/z by the weights of the colours, `[height * width]`.
    pub inverse_depth: Vec<f64>,
    /// How much roundings elsewhere could move each pixel by tipping a comparison, `[height *
    /// width]`.
    pub doubts: Vec<Doubt>,
    /// Whether a Gaussian counts as seen (see [`super::intersect::in_view`]), `None` when roundings
    /// decide, `[n]`.
    pub in_view: Vec<Option<bool>>,
    /// (tile, Gaussian) pairs.
    pub pairs: u64,
    /// Fragments that changed their pixel.
    pub fragments_blended: u64,
}

/// Gradients of a scalar in f64.
#[derive(Clone, Debug)]
pub struct TwinGradients {
    /// With respect to every parameter, in the scene's shape.
    pub scene: Scene,
    /// Norm of the gradient with respect to the 2D mean in NDC units (pixels times half the image
    /// side), the statistic of adaptive density control, `[n]`.
    pub ndc_norms: Vec<f64>,
    /// As `ndc_norms` by [`splatcore_core::backend::Statistic::Absolute`], `[n]`.
    pub absolute_norms: Vec<f64>,
    /// With respect to the camera's intrinsics.
    pub intrinsics: IntrinsicsGradient,
    /// With respect to the colour before the clamp, `[n]`: for an image gradient of one channel the
    /// sum of the blending weights where it is 1.
    pub colours: Vec<[f64; 3]>,
}
