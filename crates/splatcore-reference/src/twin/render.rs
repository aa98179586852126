//! From a scene to an image and to gradients.

use super::cut_offs::CutOffs;
use super::frame::{TwinFrame, TwinGradients};
use super::lists::Lists;
use super::scene::Scene;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Camera, Gaussians};

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
