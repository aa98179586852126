//! `depth_loss`: how far the depths of a frame are from those that its photo knows, and the
//! gradients by the frame's inverse depth and alpha. Which losses there are:
//! [`splatcore_core::depth`].

use rayon::prelude::*;
use splatcore_core::Camera;
use splatcore_core::depth::{DepthMap, DepthPlan};

/// Pixels that are summed together; parts are added up in their order, whichever thread made them.
const PART: usize = 4096;

/// The loss of the planes (inverse depth, alpha, nothing) of a view, and its gradients by each.
pub(crate) fn depth_loss(
    plan: &DepthPlan,
    map: &DepthMap,
    camera: &Camera,
    planes: &[Vec<f32>; 3],
) -> (f64, [Vec<f32>; 3]) {
    let [sums, alphas, nothing] = planes;
    let size = [camera.width, camera.height];
    let share = f64::from(plan.weight) / sums.len() as f64;
    let mut gradients = [(); 3].map(|()| vec![0.0f32; nothing.len()]);
    let [by_sum, by_alpha, _] = &mut gradients;
    let gradients_of_parts = by_sum
        .par_chunks_mut(PART)
        .zip(by_alpha.par_chunks_mut(PART));
    let parts: Vec<f64> = gradients_of_parts
        .enumerate()
        .map(|(part, (by_sum, by_alpha))| {
            let mut total = 0.0;
            for (i, (by_sum, by_alpha)) in by_sum.iter_mut().zip(by_alpha).enumerate() {
                let at = part * PART + i;
                let frame = [sums[at], alphas[at]].map(f64::from);
                let place = [at as u32 % size[0], at as u32 / size[0]];
                let known = f64::from(map.inverse[map.index(place, size)]);
                let unit = f64::from(plan.unit);
                let [value, of_sum, of_alpha] = plan.loss.at_pixel(frame, known, unit);
                total += value;
                (*by_sum, *by_alpha) = ((share * of_sum) as f32, (share * of_alpha) as f32);
            }
            total
        })
        .collect();
    (share * parts.iter().sum::<f64>(), gradients)
}
