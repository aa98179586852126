//! Depths beside an image whose blend method sums none.

use crate::Camera;
use crate::backend::{BackendError, RenderOptions, Rendered, Renderer};

/// Renders a view, with inverse depth if it is `wanted`, and its image by the blend method that is
/// asked for: where that sums no depths, they and the transmittance are of a second image, by one
/// that does ([`RenderOptions::with_inverse_depth`]).
///
/// # Errors
/// As of [`Renderer::render`].
pub fn render_with_depth(
    renderer: &mut dyn Renderer,
    camera: &Camera,
    options: &RenderOptions,
    wanted: bool,
) -> Result<Rendered, BackendError> {
    let with_depth = options.clone().with_inverse_depth(wanted);
    let mut rendered = renderer.render(camera, &with_depth)?;
    if with_depth.pipeline != options.pipeline {
        let without = options.clone().with_inverse_depth(false);
        rendered.image = renderer.render(camera, &without)?.image;
    }
    Ok(rendered)
}
