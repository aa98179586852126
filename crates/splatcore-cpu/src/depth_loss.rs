//! `depth_loss`: how far the depths of a frame are from those that its photo knows, how much stands
//! where it shows the sky, and the gradients by the frame's inverse depth and alpha. Which losses
//! there are: [`splatcore_core::depth`].

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
    let [share, sky_share] =
        [plan.weight, plan.sky_weight].map(|weight| f64::from(weight) / sums.len() as f64);
    let mut gradients = [(); 3].map(|()| vec![0.0f32; nothing.len()]);
    let [by_sum, by_alpha, _] = &mut gradients;
    let gradients_of_parts = by_sum
        .par_chunks_mut(PART)
        .zip(by_alpha.par_chunks_mut(PART));
    let parts: Vec<[f64; 2]> = gradients_of_parts
        .enumerate()
        .map(|(part, (by_sum, by_alpha))| {
            let (mut total, mut of_sky) = (0.0, 0.0);
            for (i, (by_sum, by_alpha)) in by_sum.iter_mut().zip(by_alpha).enumerate() {
                let at = part * PART + i;
                let frame = [sums[at], alphas[at]].map(f64::from);
                let place = [at as u32 % size[0], at as u32 / size[0]];
                let known = map.inverse[map.index(place, size)];
                let [[value, of_sum, of_alpha], [sky, _, sky_of_alpha]] =
                    plan.at_pixel(frame, known);
                total += value;
                of_sky += sky;
                *by_sum = (share * of_sum) as f32;
                *by_alpha = (share * of_alpha + sky_share * sky_of_alpha) as f32;
            }
            [total, of_sky]
        })
        .collect();
    let sum = |k: usize| parts.iter().map(|part| part[k]).sum::<f64>();
    (share * sum(0) + sky_share * sum(1), gradients)
}
