//! `pose_gradient`: from a frame's sums to the gradient of its camera's pose. Each chunk of
//! Gaussians goes through `project_backward` for it once more, which leaves the step as it is.
//! Derivation: [`splatcore_core::pose_gradient`].

use crate::camera::KernelCamera;
use crate::frame::{Frame, ROWS};
use crate::project_backward::GradientRows;
use crate::rows::{chunk_backward, chunk_of, slice_scene};
use crate::scene::Scene;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::backend::{RenderOptions, Statistic};
use splatcore_core::{Camera, Gaussians, PoseGradient, PoseRow, PoseSums};

/// Of the last frame; the chunks' sums are added in their order.
pub(crate) fn pose_gradient(
    level: Level,
    frame: &Frame,
    scene: Scene<'_>,
    camera: &Camera,
    stored_degree: u8,
    options: &RenderOptions,
) -> PoseGradient {
    let kernel_camera = &KernelCamera::new(camera, options);
    let (gaussians, none) = (
        scene.opacity_logits.len(),
        PoseSums::new(camera, scene.sh_degree),
    );
    let chunks: Vec<PoseSums> = (0..frame.counts.len())
        .into_par_iter()
        .map_init(
            || (Gaussians::zeros(ROWS, stored_degree), vec![0.0f32; ROWS]),
            |(scratch, norms), chunk| {
                let first = chunk * ROWS;
                let rows = ROWS.min(gaussians - first);
                let mut target = GradientRows::of(first, rows, scratch, norms, Statistic::Mean);
                let scene = slice_scene(&scene, first, rows);
                chunk_backward(level, frame, chunk, scene, kernel_camera, &mut target);
                let mut sums = none;
                for splat in chunk_of(frame, chunk).0 {
                    add(&mut sums, &scene, scratch, splat.gaussian as usize - first);
                }
                sums
            },
        )
        .collect();
    let mut sums = none;
    chunks.iter().for_each(|chunk| sums.merge(chunk));
    sums.finish(camera)
}

/// Adds row `i` of a chunk.
fn add(sums: &mut PoseSums, scene: &Scene<'_>, gradients: &Gaussians, i: usize) {
    let of = PoseRow {
        mean: std::array::from_fn(|k| scene.means[3 * i + k]),
        rotation: std::array::from_fn(|k| scene.rotations[4 * i + k]),
        harmonics: &scene.sh[scene.sh_stride * i..scene.sh_stride * (i + 1)],
    };
    let by = PoseRow {
        mean: gradients.means[i],
        rotation: gradients.rotations[i],
        harmonics: &gradients.sh[i * gradients.coefficients()],
    };
    sums.add(&of, &by);
}
