//! From a request to an encoded image.

mod copies;
mod encode;
mod heat;
mod strips;
mod variant;

pub use copies::Copies;
pub use encode::photo;
pub use heat::scale as heat_scale;
pub use variant::Variants;

use crate::protocol::{Channel, Codec, Header, Kind, Look};
use splatcore_core::backend::{BackendError, RenderOptions, Rendered, Renderer};
use splatcore_core::{Camera, Image, Lens, Pipeline, panorama};
use std::time::Instant;

/// Share of a view's depths that are at most as near as white.
const NEAREST: f64 = 0.999;

/// Renders a view and encodes it, as PNG if the camera stands still, else as JPEG. `options` are
/// those of the scene; the view's own replace them.
///
/// # Errors
/// As [`Renderer::render`].
pub fn draw(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    look: &Look,
    step: u32,
) -> Result<Vec<u8>, BackendError> {
    let begun = Instant::now();
    let rgb = picture(renderer, options, look)?;
    let (width, height) = (look.camera.width, look.camera.height);
    let render_us = begun.elapsed().as_micros() as u32;
    let begun = Instant::now();
    let (codec, bytes) = match look.still {
        true => (Codec::Png, encode::png(&rgb, width, height)),
        false => (Codec::Jpeg, encode::jpeg(&rgb, width, height)),
    };
    let header = Header {
        kind: Kind::Frame,
        seq: look.seq,
        codec,
        width,
        height,
        render_us,
        encode_us: begun.elapsed().as_micros() as u32,
        step,
    };
    let mut message = header.to_bytes().to_vec();
    message.extend(bytes);
    Ok(message)
}

/// Renders a picture to keep: the colours of a view with the reference's cut-offs, as PNG.
///
/// # Errors
/// As [`Renderer::render`].
pub fn picture_to_keep(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    look: &Look,
    step: u32,
) -> Result<Vec<u8>, BackendError> {
    let options = RenderOptions {
        pipeline: Pipeline::MEASURED,
        interpolate: false,
        ..options.clone()
    };
    let begun = Instant::now();
    let rgb = picture(renderer, &options, look)?;
    let render_us = begun.elapsed().as_micros() as u32;
    let (width, height) = (look.camera.width, look.camera.height);
    let header = Header {
        kind: Kind::Picture,
        seq: look.seq,
        codec: Codec::Png,
        width,
        height,
        render_us,
        encode_us: 0,
        step,
    };
    let mut message = header.to_bytes().to_vec();
    message.extend(encode::small_png(&rgb, width, height));
    Ok(message)
}

/// The world point that a pixel position shows; none where it shows nothing.
///
/// # Errors
/// As [`Renderer::render`].
pub fn pick(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    look: &Look,
    [x, y]: [f64; 2],
) -> Result<Option<[f64; 3]>, BackendError> {
    let rendered = render(renderer, options, look, true)?;
    let camera = &look.camera;
    let inside =
        (0.0..f64::from(camera.width)).contains(&x) && (0.0..f64::from(camera.height)).contains(&y);
    if !inside {
        return Ok(None);
    }
    let pixel = y as usize * camera.width as usize + x as usize;
    // What is mostly transparent was not meant.
    let solid = rendered.transmittance.get(pixel).is_some_and(|&t| t < 0.5);
    let depth = rendered.depth().and_then(|depth| depth.get(pixel).copied());
    let view = depth
        .filter(|&depth| solid && depth > 0.0)
        .and_then(|depth| at_depth(camera, [x, y], f64::from(depth)));
    let camera = &camera.at_pixel([x, y]);
    Ok(view.map(|view| {
        let (r, position) = (&camera.rotation, camera.position());
        std::array::from_fn(|c| (0..3).map(|i| r[i][c] * view[i]).sum::<f64>() + position[c])
    }))
}

/// The point that a pixel shows at a depth, in the axes that the camera has then.
fn at_depth(camera: &Camera, [x, y]: [f64; 2], depth: f64) -> Option<[f64; 3]> {
    let across = [(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy];
    if camera.lens == Lens::Orthographic {
        return Some([across[0], across[1], depth]);
    }
    let direction = camera.direction([x, y])?;
    let along = match camera.depth_is_distance() {
        true => 1.0,
        false => direction[2],
    };
    Some(direction.map(|v| v * depth / along))
}

/// Bytes of r, g, b, a pixel after the other.
fn picture(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    look: &Look,
) -> Result<Vec<u8>, BackendError> {
    let image = match look.channel {
        Channel::Colour if panorama::is_whole(&look.camera) => {
            render(renderer, options, look, false)?.image
        }
        Channel::Colour => {
            let options = options_of(options, look, false);
            return renderer.render_bytes(&look.camera, &options);
        }
        Channel::Alpha => {
            let rendered = render(renderer, options, look, false)?;
            grey(&rendered, rendered.transmittance.iter().map(|t| 1.0 - t))
        }
        Channel::Depth => depth(&render(renderer, options, look, true)?),
        Channel::Heat if panorama::is_whole(&look.camera) => {
            let problem = "an image of 360 degrees is drawn as four, which have tiles each";
            return Err(BackendError::Input(problem.into()));
        }
        Channel::Heat => {
            let counts = renderer.tile_counts(&look.camera, options)?;
            heat::image(&counts, &look.camera)
        }
    };
    Ok(image.to_bytes())
}

/// Those of the scene with the view's own.
fn options_of(options: &RenderOptions, look: &Look, inverse_depth: bool) -> RenderOptions {
    RenderOptions {
        sh_degree: look.sh_degree.min(options.sh_degree),
        background: look.background,
        // Another colour stands in place of the sky.
        sky: options
            .sky
            .clone()
            .filter(|_| look.background == options.background),
        ..options.clone().with_inverse_depth(inverse_depth)
    }
}

fn render(
    renderer: &mut dyn Renderer,
    options: &RenderOptions,
    look: &Look,
    inverse_depth: bool,
) -> Result<Rendered, BackendError> {
    let options = options_of(options, look, inverse_depth);
    panorama::render(renderer, &look.camera, &options)
}

fn grey(rendered: &Rendered, values: impl Iterator<Item = f32>) -> Image {
    Image {
        data: values.map(|v| [v; 3]).collect(),
        ..rendered.image
    }
}

/// Inverse depth, so that what is near has more shades; the nearest parts are white.
fn depth(rendered: &Rendered) -> Image {
    let depth = rendered.depth().unwrap_or_default();
    let mut inverse: Vec<f32> = depth
        .iter()
        .filter(|&&z| z > 0.0)
        .map(|z| 1.0 / z)
        .collect();
    let at = (inverse.len() as f64 * NEAREST) as usize;
    let white = match inverse.len() {
        0 => 1.0,
        n => {
            *inverse
                .select_nth_unstable_by(at.min(n - 1), f32::total_cmp)
                .1
        }
    };
    let shade = |&z: &f32| {
        if z > 0.0 {
            (1.0 / z / white).min(1.0)
        } else {
            0.0
        }
    };
    grey(rendered, depth.iter().map(shade))
}
