//! What images are held to: rendered by a backend that has none of a candidate's text.

use crate::worker::FrameSpec;
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_core::{Image, Pipeline, Renderer};

/// The pipeline of the reference for images of `pipeline`: the same pairs, blended on the processor
/// in f32; `None` for a blend whose fragments or order are its own, which only itself can be held
/// to.
pub(super) fn reference_of(pipeline: Pipeline) -> Option<Pipeline> {
    pipeline.blend.blends_as_scalar().then_some(Pipeline {
        intersect: pipeline.intersect,
        blend: Blend::Subtile,
        backward: Backward::Subtile,
    })
}

/// The reference's image of a frame, and its inverse depth if the frame wants that, else its
/// transmittance; `pipeline` is one of [`reference_of`].
///
/// # Errors
/// The backend's words.
pub(super) fn render(
    renderer: &mut dyn Renderer,
    frame: &FrameSpec,
    pipeline: Pipeline,
) -> Result<(Image, Vec<f32>), String> {
    let options = frame.with_pipeline(pipeline).options()?;
    let rendered = renderer.render(&frame.camera(), &options);
    let rendered = rendered.map_err(|error| error.to_string())?;
    let fourth = rendered.inverse_depth.unwrap_or(rendered.transmittance);
    Ok((rendered.image, fourth))
}
