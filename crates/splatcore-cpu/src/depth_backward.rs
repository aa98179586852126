//! Gradients by way of transmittance and inverse depth: those of an image that the same splats make
//! with other colours ([`splatcore_core::backend::Cotangents::of_channels`]), so that every method
//! of blending has them, and steps that do not ask for them pay nothing.

use crate::blend_backward::SumRow;
use crate::camera::KernelCamera;
use crate::frame::Frame;
use crate::project::Splat;
use crate::simd::Level;
use splatcore_core::Camera;
use splatcore_core::backend::{BackendError, RenderOptions};

/// Sums of a splat's place, shape and opacity; those behind are of its colour.
const OF_SHAPE: usize = 6;

/// Adds to the sums of the frame, of which [`Frame::backward`] ran, what the gradients by inverse
/// depth and alpha make of places, shapes and opacities, and leaves dL/d(1/z) of each pair in
/// [`Frame::depth_sums`]. `gradient` makes the gradients of a plane each, and one of zeros, from
/// the planes. The frame's image is gone then.
pub(crate) fn backward_depth(
    level: Level,
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
    gradient: impl FnOnce(&[Vec<f32>; 3]) -> [Vec<f32>; 3],
) -> Result<(), BackendError> {
    let of_image: Vec<SumRow> = std::mem::take(&mut frame.sums);
    for splat in &mut frame.splats {
        splat.colour = [1.0 / splat.depth, 1.0, 0.0];
    }
    let black = RenderOptions {
        background: [0.0; 3],
        sky: None,
        inverse_depth: false,
        ..options.clone()
    };
    frame.image(level, camera, &black)?;
    let channels = gradient(&frame.colour);
    let channels = channels.each_ref().map(|plane| plane.as_slice());
    frame.backward(level, camera, &black, channels)?;
    frame.depth_sums = frame.sums.iter().map(|row| row[OF_SHAPE]).collect();
    for (row, image) in frame.sums.iter_mut().zip(&of_image) {
        for k in 0..OF_SHAPE {
            row[k] += image[k];
        }
        row[OF_SHAPE..].copy_from_slice(&image[OF_SHAPE..]);
    }
    Ok(())
}

/// What dL/dz of a splat is, given the numbers of its pairs.
pub(crate) fn depth_gradient(of_pairs: &[f32], pairs: &[u32], splat: &Splat) -> f32 {
    let sum: f32 = pairs.iter().map(|&pair| of_pairs[pair as usize]).sum();
    -sum / (splat.depth * splat.depth)
}

/// The derivative of the depth of a point of the world by that point.
pub(crate) fn depth_by_mean(camera: &KernelCamera, mean: [f32; 3]) -> [f32; 3] {
    let Some(lens) = &camera.lens else {
        return camera.rotation[2];
    };
    let view = std::array::from_fn(|i| {
        let row = camera.rotation[i];
        let turned: f32 = (0..3).map(|k| row[k] * mean[k]).sum();
        f64::from(turned + camera.translation[i])
    });
    let by_view = lens.depth_gradient(view);
    std::array::from_fn(|j| {
        let of_axis = |i: usize| f64::from(camera.rotation[i][j]) * by_view[i];
        (0..3).map(of_axis).sum::<f64>() as f32
    })
}
