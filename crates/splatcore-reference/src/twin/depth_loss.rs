//! `depth_loss`: how far depths and their normals are from known ones, by
//! [`splatcore_core::depth`].

use super::frame::TwinFrame;
use splatcore_core::Camera;
use splatcore_core::depth::normals::{NEIGHBOURS, PixelRays, inverse_depth};
use splatcore_core::depth::{DepthMap, DepthPlan};

/// The loss of a frame of a camera, and its gradients by each pixel's inverse depth and
/// transmittance.
pub fn depth_loss(
    plan: &DepthPlan,
    map: &DepthMap,
    frame: &TwinFrame,
    camera: &Camera,
) -> (f64, Vec<[f64; 2]>) {
    let pixels = (frame.width * frame.height) as f64;
    let [share, sky_share] = [plan.weight, plan.sky_weight].map(|w| f64::from(w) / pixels);
    let known = map.in_size([frame.width as u32, frame.height as u32]);
    let mut loss = 0.0;
    let mut gradients = Vec::new();
    let sums = frame.inverse_depth.iter().zip(&frame.transmittance);
    for ((&sum, &left), known) in sums.zip(known) {
        let at = [sum, 1.0 - left];
        let [[value, by_sum, by_alpha], [sky, _, sky_by_alpha]] = plan.at_pixel(at, known);
        loss += share * value + sky_share * sky;
        gradients.push([share * by_sum, -share * by_alpha - sky_share * sky_by_alpha]);
    }
    if !map.normals.is_empty() {
        let share = f64::from(plan.normal_weight) / pixels;
        loss += share * add_normals(map, frame, camera, share, &mut gradients);
    }
    (loss, gradients)
}

/// The sum over the pixels of the loss on normals; adds its gradients, times `share`.
fn add_normals(
    map: &DepthMap,
    frame: &TwinFrame,
    camera: &Camera,
    share: f64,
    gradients: &mut [[f64; 2]],
) -> f64 {
    let (width, height) = (frame.width, frame.height);
    let rays = PixelRays::of(camera);
    let mut total = 0.0;
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            let pixel = [x as u32, y as u32];
            let known = map.normals[map.index(pixel, [width as u32, height as u32])];
            let places = NEIGHBOURS.map(|[dx, dy]| {
                (y as i64 + i64::from(dy)) as usize * width + (x as i64 + i64::from(dx)) as usize
            });
            let q = places
                .map(|at| inverse_depth([frame.inverse_depth[at], 1.0 - frame.transmittance[at]]));
            if known == [0.0; 3] || q.contains(&None) {
                continue;
            }
            let q = q.map(Option::unwrap_or_default);
            let [value, by_q @ ..] = rays.normal_loss(pixel, q, known);
            total += value;
            for ((at, q), by_q) in places.into_iter().zip(q).zip(by_q) {
                let by_sum = by_q / (1.0 - frame.transmittance[at]);
                gradients[at][0] += share * by_sum;
                gradients[at][1] += share * by_sum * q;
            }
        }
    }
    total
}
