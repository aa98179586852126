//! `floaters`: which Gaussians hang before what every view shows at their place. What that means:
//! [`splatcore_core::floaters`].

use crate::camera::KernelCamera;
use crate::frame::Frame;
use crate::renderer::Drawing;
use crate::workers::Workers;
use splatcore_core::backend::{BackendError, LearnerState, RenderOptions, Rendered};
use splatcore_core::floaters::belongs;
use splatcore_core::{Camera, Gaussians};

/// Renders the depth of all views; who stays: those that some view takes for a part of what it
/// shows, or none for a floater.
pub(crate) fn kept(
    workers: &Workers,
    state: &LearnerState,
    frame: &mut Frame,
    cameras: &[Camera],
    options: &RenderOptions,
    share: f32,
) -> Result<Vec<bool>, BackendError> {
    let options = &RenderOptions {
        inverse_depth: true,
        ..options.clone()
    };
    let mut drawing = Drawing {
        workers,
        scene: &state.gaussians,
        columns: state.columns.all_values(),
        frame,
    };
    let mut verdicts = vec![None; state.gaussians.len()];
    for camera in cameras {
        let rendered = drawing.render(camera, options)?;
        let camera = KernelCamera::new(camera, options);
        for (i, verdict) in verdicts.iter_mut().enumerate() {
            if *verdict != Some(true) {
                *verdict = said_of(&state.gaussians, i, &camera, &rendered, share).or(*verdict);
            }
        }
    }
    Ok(verdicts
        .iter()
        .map(|verdict| *verdict != Some(false))
        .collect())
}

/// What this view says of a Gaussian.
fn said_of(
    gaussians: &Gaussians,
    i: usize,
    camera: &KernelCamera,
    rendered: &Rendered,
    share: f32,
) -> Option<bool> {
    let mean = gaussians.means[i];
    let view: [f32; 3] = std::array::from_fn(|k| {
        let row = camera.rotation[k];
        row[0] * mean[0] + row[1] * mean[1] + row[2] * mean[2] + camera.translation[k]
    });
    let ([u, v], z) = match &camera.lens {
        None => {
            let [x, y, z] = view;
            let u = camera.focal[0] * (x / z) + camera.centre[0];
            ([u, camera.focal[1] * (y / z) + camera.centre[1]], z)
        }
        Some(lens) => {
            let view = view.map(f64::from);
            if !lens.sees_centre(view) {
                return None;
            }
            (
                lens.project(view).map(|v| v as f32),
                lens.depth(view) as f32,
            )
        }
    };
    let [width, height] = camera.size;
    // False for what is not a number.
    let inside = u >= 0.0 && u < width as f32 && v >= 0.0 && v < height as f32;
    if !(z > camera.near && inside) {
        return None;
    }
    let pixel = v as usize * width + u as usize;
    let inverse_depth = rendered.inverse_depth.as_ref()?[pixel];
    belongs(z, rendered.transmittance[pixel], inverse_depth, share)
}
