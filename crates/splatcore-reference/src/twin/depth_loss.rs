//! `depth_loss`: how far depths are from known ones, by [`splatcore_core::depth`].

use super::frame::TwinFrame;
use splatcore_core::depth::{DepthMap, DepthPlan};

/// The loss of a frame, and its gradients by each pixel's inverse depth and transmittance.
pub fn depth_loss(plan: &DepthPlan, map: &DepthMap, frame: &TwinFrame) -> (f64, Vec<[f64; 2]>) {
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
    (loss, gradients)
}
