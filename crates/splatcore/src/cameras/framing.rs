//! What "frame all" shows: the middle of a scene.

use super::surroundings::sampled;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;

/// Share of the visible Gaussians that lie within the box along each axis.
const MIDDLE: f64 = 0.95;
/// Opacities below this are no part of what is seen.
const VISIBLE: f32 = 0.05;

/// Two corners of the box in which the middle 95 % of the Gaussians lie along each axis, weighted
/// by their opacity; of an empty scene a box around the origin.
pub fn middle(scene: &Gaussians) -> [[f64; 3]; 2] {
    let weight = |i: usize| sigmoid(scene.opacity_logits[i]);
    let mut chosen: Vec<usize> = sampled(scene).filter(|&i| weight(i) >= VISIBLE).collect();
    if chosen.is_empty() {
        chosen = sampled(scene).collect();
    }
    let mut corners = [[-1.0; 3], [1.0; 3]];
    if chosen.is_empty() {
        return corners;
    }
    for axis in 0..3 {
        let value = |i: &usize| scene.means[*i][axis];
        chosen.sort_unstable_by(|a, b| value(a).total_cmp(&value(b)));
        let whole: f64 = chosen.iter().map(|&i| f64::from(weight(i))).sum();
        let mut before = 0.0;
        let mut found = [None, None];
        for i in &chosen {
            before += f64::from(weight(*i));
            let share = before / whole;
            let limits = [(1.0 - MIDDLE) / 2.0, (1.0 + MIDDLE) / 2.0];
            for (found, limit) in found.iter_mut().zip(limits) {
                if share >= limit {
                    found.get_or_insert(value(i));
                }
            }
        }
        let last = chosen.last().map_or(0.0, value);
        for (corner, found) in corners.iter_mut().zip(found) {
            corner[axis] = f64::from(found.unwrap_or(last));
        }
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1001 Gaussians from 0 to 10 along x, of which the upper half is hardly visible.
    #[test]
    fn the_middle_is_that_of_what_is_seen() {
        let mut scene = Gaussians::zeros(1001, 0);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            *mean = [i as f32 / 100.0, 2.0, -1.0];
        }
        scene.opacity_logits.fill(3.0);
        let [low, high] = middle(&scene);
        assert!((low[0] - 0.25).abs() < 0.02 && (high[0] - 9.75).abs() < 0.02);
        assert_eq!((low[1], high[2]), (2.0, -1.0));

        scene.opacity_logits[501..].fill(-6.0);
        let [low, high] = middle(&scene);
        assert!(
            (low[0] - 0.125).abs() < 0.02 && (high[0] - 4.875).abs() < 0.02,
            "{high:?}"
        );

        // Far outliers, and a scene that hides everything.
        scene.opacity_logits.fill(-6.0);
        scene.means[1000] = [1e9, 0.0, 0.0];
        assert!((middle(&scene)[1][0] - 9.75).abs() < 0.02);
        assert_eq!(middle(&Gaussians::empty(0)), [[-1.0; 3], [1.0; 3]]);
    }
}
