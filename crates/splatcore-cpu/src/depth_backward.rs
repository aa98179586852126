//! Gradients by way of transmittance and inverse depth: those of an image that the same splats make
//! with other colours ([`splatcore_core::backend::Cotangents::of_channels`]), so that every method
//! of blending has them, and steps that do not ask for them pay nothing.

use crate::blend_backward::SumRow;
use crate::camera::KernelCamera;
use crate::frame::Frame;
use crate::rows::chunk_of;
use crate::simd::Level;
use splatcore_core::backend::{BackendError, RenderOptions};
use splatcore_core::{Camera, Gaussians};

/// Sums of a splat's place, shape and opacity; those behind are of its colour.
const OF_SHAPE: usize = 6;

/// Adds to the sums of the frame, of which [`Frame::backward`] ran, what the channels' gradients
/// make of places, shapes and opacities. Returns dL/d(1/z) of each pair. The frame's image is gone
/// then.
pub(crate) fn backward_depth(
    level: Level,
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
    channels: &[Vec<f32>; 3],
) -> Result<Vec<f32>, BackendError> {
    let of_image: Vec<SumRow> = std::mem::take(&mut frame.sums);
    for splat in &mut frame.splats {
        splat.colour = [1.0 / splat.depth, 1.0, 0.0];
    }
    let black = RenderOptions {
        background: [0.0; 3],
        inverse_depth: false,
        ..options.clone()
    };
    frame.image(level, camera, &black)?;
    let gradient = channels.each_ref().map(|plane| plane.as_slice());
    frame.backward(level, camera, &black, gradient)?;
    let of_depth = frame.sums.iter().map(|row| row[OF_SHAPE]).collect();
    for (row, image) in frame.sums.iter_mut().zip(&of_image) {
        for k in 0..OF_SHAPE {
            row[k] += image[k];
        }
        row[OF_SHAPE..].copy_from_slice(&image[OF_SHAPE..]);
    }
    Ok(of_depth)
}

/// Adds dL/dz of each splat to the gradient of its mean, given dL/d(1/z) of each pair.
pub(crate) fn add_depth(
    frame: &Frame,
    camera: &Camera,
    of_pairs: &[f32],
    scene: &Gaussians,
    means: &mut [[f32; 3]],
) {
    let forward = camera.forward().map(|axis| axis as f32);
    let lens = KernelCamera::lens(camera);
    let by_mean = |i: usize| match &lens {
        None => forward,
        Some(lens) => {
            let by_view = lens.depth_gradient(camera.to_view(scene.means[i].map(f64::from)));
            std::array::from_fn(|j| {
                (0..3)
                    .map(|k| camera.rotation[k][j] * by_view[k])
                    .sum::<f64>() as f32
            })
        }
    };
    for chunk in 0..frame.counts.len() {
        let (splats, slots) = chunk_of(frame, chunk);
        for (splat, &[first, count]) in splats.iter().zip(slots) {
            let pairs = &frame.lists.pairs_of_splats[first as usize..(first + count) as usize];
            let sum: f32 = pairs.iter().map(|&pair| of_pairs[pair as usize]).sum();
            let d_depth = -sum / (splat.depth * splat.depth);
            let i = splat.gaussian as usize;
            for (gradient, axis) in means[i].iter_mut().zip(by_mean(i)) {
                *gradient += d_depth * axis;
            }
        }
    }
}
