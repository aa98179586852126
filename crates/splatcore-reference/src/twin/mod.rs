//! The reference, written to be read: one file an op, f64, sequential, nothing clever.
//!
//! Every backend and every pipeline is checked against this module, and this module's gradients are
//! checked against finite differences. The semantics are INRIA's rasterizer (Kerbl et al. 2023),
//! with three notes on derivatives, all of which make the gradient the true derivative of the image
//! as rendered:
//!
//! * a fragment whose alpha is capped (at 0.99) passes no gradient to opacity, position or shape,
//!   only to colour (INRIA's code lets it through as if there were no cap; gsplat stops it as done
//!   here);
//! * where x/z or y/z is clamped to 1.3 tan(half field of view) for the Jacobian, that ratio passes
//!   no gradient to the mean (INRIA zeroes it for x and y; its derivative with respect to z, which
//!   there is twice too large, is the true one here);
//! * a colour channel clamped at 0 passes no gradient.
//!
//! [`render`] and [`gradients`] are the two entry points; both honour `options.pipeline.intersect`
//! (the 3-sigma square of `aabb` cuts fragments that `exact` keeps) and ignore the other two
//! choices, which must not change the result.

pub mod adam;
pub mod antialias;
pub mod blend;
pub mod blend_backward;
pub mod densify;
pub mod exposure;
pub mod intersect;
mod lists;
pub mod loss;
pub mod matrix;
pub mod project;
pub mod project_backward;
mod scene;
pub mod smoothing;
pub mod sort;

#[cfg(test)]
mod finite_difference_tests;

pub use blend::{CutOffs, Doubt};
pub use lists::Lists;
pub use scene::{Group, Scene};

use project::Splat;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Camera, Gaussians};

/// A rendered view in f64.
#[derive(Clone, Debug)]
pub struct TwinFrame {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Colour, background included, `[height * width]` of r, g, b.
    pub image: Vec<[f64; 3]>,
    /// What is left of the light behind the last fragment, `[height * width]`.
    pub transmittance: Vec<f64>,
    /// Sum of 1/z by the weights of the colours, `[height * width]`.
    pub inverse_depth: Vec<f64>,
    /// How much roundings elsewhere could move each pixel by tipping a comparison, `[height *
    /// width]`.
    pub doubts: Vec<Doubt>,
    /// Whether a Gaussian counts as seen (see [`intersect::in_view`]), `None` when roundings
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
    /// With respect to the colour before the clamp, `[n]`: for an image gradient of one channel the
    /// sum of the blending weights where it is 1.
    pub colours: Vec<[f64; 3]>,
}

/// Renders one view. A camera whose `defect()` is not `None` gives an undefined image.
pub fn render(scene: &Gaussians, camera: &Camera, options: &RenderOptions) -> TwinFrame {
    render_scene(&Scene::from(scene), camera, options, CutOffs::Reference)
}

/// Gradients of a scalar with respect to every parameter, given its gradient with respect to the
/// rendered image (`[height * width]` of r, g, b).
pub fn gradients(
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
    image_gradient: &[[f64; 3]],
) -> TwinGradients {
    gradients_scene(
        &Scene::from(scene),
        camera,
        options,
        CutOffs::Reference,
        image_gradient,
    )
}

/// [`render`] of f64 parameters, with or without cut-offs.
pub fn render_scene(
    scene: &Scene,
    camera: &Camera,
    options: &RenderOptions,
    cut_offs: CutOffs,
) -> TwinFrame {
    Lists::new(scene, camera, options, cut_offs).render()
}

/// [`gradients`] of f64 parameters, with or without cut-offs.
pub fn gradients_scene(
    scene: &Scene,
    camera: &Camera,
    options: &RenderOptions,
    cut_offs: CutOffs,
    image_gradient: &[[f64; 3]],
) -> TwinGradients {
    Lists::new(scene, camera, options, cut_offs)
        .gradients(scene, &mut |pixel, _| image_gradient[pixel])
}

/// Every Gaussian in front of the near plane, projected, front to back.
pub fn visible_splats(scene: &Scene, camera: &Camera, options: &RenderOptions) -> Vec<Splat> {
    let degree = options.sh_degree.min(scene.sh_degree);
    let near = options.semantics.near_plane as f64;
    let mut splats: Vec<Splat> = (0..scene.len())
        .filter_map(|i| project::project(scene, i, camera, near, degree))
        .collect();
    if options.antialias {
        splats.iter_mut().for_each(antialias::compensate);
    }
    sort::sort(&mut splats);
    splats
}
