//! `intrinsics_gradient`: from a frame's sums to the gradient of its camera's intrinsics. Each
//! splat's sums go through the first half of `project_backward` once more, which leaves the step as
//! it is. What it is: [`splatcore_core::IntrinsicsGradient`].

use crate::antialias::Compensation;
use crate::blend_backward::SumRow;
use crate::camera::KernelCamera;
use crate::columns::grown;
use crate::ewa_backward;
use crate::frame::{Frame, ROWS};
use crate::geometry::{geometry, load_geometry};
use crate::project::Splat;
use crate::project_backward::{add_up_pairs, mean_gradient, projected_gradient};
use crate::rows::{chunk_of, slice_scene};
use crate::scene::Scene;
use crate::simd::{Lanes, Level, dispatch};
use crate::unscented;
use rayon::prelude::*;
use splatcore_core::backend::{RenderOptions, Statistic};
use splatcore_core::{Camera, IntrinsicsGradient};

const NUMBERS: usize = IntrinsicsGradient::NUMBERS;

/// Of the last frame; the chunks' sums are added in their order.
pub(crate) fn intrinsics_gradient(
    level: Level,
    frame: &Frame,
    scene: Scene<'_>,
    camera: &Camera,
    options: &RenderOptions,
) -> IntrinsicsGradient {
    let kernel_camera = &KernelCamera::new(camera, options);
    let gaussians = scene.opacity_logits.len();
    let chunks: Vec<[f64; NUMBERS]> = (0..frame.counts.len())
        .into_par_iter()
        .map(|chunk| {
            let first = chunk * ROWS;
            let scene = slice_scene(&scene, first, ROWS.min(gaussians - first));
            let (splats, slots) = chunk_of(frame, chunk);
            let pairs = &frame.lists.pairs_of_splats;
            let mut out = ChunkSums {
                first,
                numbers: [0.0; NUMBERS],
            };
            of_chunk(
                level,
                scene,
                kernel_camera,
                splats,
                slots,
                pairs,
                &frame.sums,
                &mut out,
            );
            out.numbers
        })
        .collect();
    let mut sums = [0.0; NUMBERS];
    for chunk in &chunks {
        sums.iter_mut()
            .zip(chunk)
            .for_each(|(sum, part)| *sum += part);
    }
    // From pixels to shares of the sides.
    sums[2] *= f64::from(camera.width);
    sums[3] *= f64::from(camera.height);
    sums.into()
}

/// Of a chunk of Gaussians.
struct ChunkSums {
    /// Gaussian of row 0.
    first: usize,
    numbers: [f64; NUMBERS],
}

dispatch! {
    /// Adds what one chunk of Gaussians gives: `scene` holds the chunk's rows only; the rest as for
    /// `project_backward`.
    fn of_chunk / kernel (
        scene: Scene<'_>, camera: &KernelCamera, splats: &[Splat], slots: &[[u32; 2]],
        pairs_of_splats: &[u32], sums: &[SumRow], out: &mut ChunkSums
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    scene: Scene<'_>,
    camera: &KernelCamera,
    splats: &[Splat],
    slots: &[[u32; 2]],
    pairs_of_splats: &[u32],
    sums: &[SumRow],
    out: &mut ChunkSums,
) {
    let gaussians = (out.first, Statistic::Mean);
    for (splats, slots) in splats.chunks(L::WIDTH).zip(slots.chunks(L::WIDTH)) {
        let totals = add_up_pairs::<L>(splats, slots, pairs_of_splats, sums, gaussians);
        let d_mean = mean_gradient(&totals);
        let mut columns = load_geometry::<L>(&scene, &totals.rows);
        grown(&scene, &totals.rows, &mut columns);
        let lanes = match &camera.lens {
            Some(lens) => {
                let d_projected = projected_gradient(&totals, None);
                let opacity = totals.alpha;
                unscented::intrinsics(&columns, lens, camera, &d_mean, &d_projected, opacity)
            }
            None => {
                let g = geometry(&columns, camera);
                let pull = match camera.antialias {
                    true => Some(Compensation::new(&g, camera).backward(totals.alpha, &g, camera)),
                    false => None,
                };
                let d_projected = projected_gradient(&totals, pull.as_ref());
                let four =
                    ewa_backward::intrinsics(&d_mean, &d_projected, &g, camera, pull.as_ref());
                by_lane(&four)
            }
        };
        for lane in &lanes[..splats.len()] {
            let numbers = out.numbers.iter_mut();
            numbers.zip(lane).for_each(|(sum, part)| *sum += part);
        }
    }
}

/// A row a lane; what a pinhole has none of is 0.
#[inline(always)]
fn by_lane<L: Lanes>(four: &[L; 4]) -> [[f64; NUMBERS]; 16] {
    let mut all = [[0.0; NUMBERS]; 16];
    for (k, numbers) in four.iter().enumerate() {
        let mut values = [0.0f32; 16];
        numbers.store(&mut values);
        for (row, value) in all.iter_mut().zip(values) {
            row[k] = f64::from(value);
        }
    }
    all
}
