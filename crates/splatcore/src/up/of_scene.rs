//! Up, from a scene alone: the direction along which long Gaussians lie, or which flat ones face,
//! if it is one for most of them.
//!
//! Where people walk around with a camera, Gaussians become long along what stands: corners, door
//! frames, legs, stems. Where there is ground, flat Gaussians on it face up: floors, tables, lawns.
//! Walls face several directions, each fewer, and what is long and lies does so in several.

use crate::cameras::surroundings::sampled_of;
use crate::cameras::vantage::{Vantage, vantage};
use splatcore_core::Gaussians;
use splatcore_core::camera::{dot, normalize, rotation_from_quaternion};
use splatcore_core::gaussians::sigmoid;
use splatcore_path::principal_axes;

/// So many Gaussians are looked at.
const SAMPLED: usize = 20_000;
/// A Gaussian is flat if its smallest side is at most this share of the next, and long if its
/// largest one is so many times the next.
const FLAT: f32 = 0.35;
const LONG: f32 = 3.0;
const VISIBLE: f32 = 0.3;
/// Fewer of them say nothing.
const FEWEST_FLAT: usize = 200;
const FEWEST_LONG: usize = 100;
/// Directions of the half sphere that are tried.
const DIRECTIONS: usize = 600;
/// Axes along a direction are this close to it (cosine of 12 degrees).
const CLOSE: f64 = 0.978;
/// Others are of another direction from here on (cosine of 35 degrees).
const APART: f64 = 0.82;
/// The direction that most have must have so many times as many as the next.
const CLEARLY: f64 = 1.6;
/// Scenes stand roughly on the axis y or z of their file, if they stand on anything (cosine of 45
/// degrees).
const NEAR_AXIS: f64 = 0.7;
/// What stands leans by some degrees, seen from one side, and programs that turn scenes upright
/// turn them to an axis: nearer to one than this, it is meant (cosine of 8 degrees).
const ON_AXIS: f64 = 0.99;
/// If this share of what photos show lies on one side of where they were taken, that is down.
const ONE_SIDE: f64 = 0.9;
/// Of the height between the lowest and the highest: how far the mean of what lies on a ground must
/// be from the middle to say where down is.
const LOPSIDED: f64 = 0.06;

/// The direction that is up, of unit length; none if the scene does not tell.
pub fn of_scene(scene: &Gaussians) -> Option<[f64; 3]> {
    let [long, flat] = axes(scene);
    let standing = clearest(&long, FEWEST_LONG);
    let (up, ground) = match standing {
        Some(up) => (straightened(up), false),
        None => (clearest(&flat, FEWEST_FLAT)?, true),
    };
    Some(match points_down(scene, up, ground) {
        true => up.map(|v| -v),
        false => up,
    })
}

/// An axis of a Gaussian, without a sign.
struct Axis {
    direction: [f64; 3],
    opacity: f64,
}

/// The direction near an axis of the file along which most axes lie, if clearly most do.
fn clearest(axes: &[Axis], fewest: usize) -> Option<[f64; 3]> {
    if axes.len() < fewest {
        return None;
    }
    let along = |direction: [f64; 3]| -> f64 {
        let close = axes
            .iter()
            .filter(|a| dot(a.direction, direction).abs() > CLOSE);
        close.map(|a| a.opacity).sum()
    };
    let tried: Vec<([f64; 3], f64)> = directions().map(|d| (d, along(d))).collect();
    let (first, weight) = most(tried.iter())?;
    let others = tried.iter().filter(|(d, _)| dot(*d, first).abs() < APART);
    let (_, next) = most(others)?;
    let up = refined(axes, first);
    let stands = up[1].abs().max(up[2].abs()) > NEAR_AXIS;
    (stands && weight >= CLEARLY * next).then_some(up)
}

/// The direction that most have, and how many do.
fn most<'a>(tried: impl Iterator<Item = &'a ([f64; 3], f64)>) -> Option<([f64; 3], f64)> {
    tried.max_by(|a, b| a.1.total_cmp(&b.1)).copied()
}

/// The long axes of long Gaussians that are seen, and the short axes of flat ones.
fn axes(scene: &Gaussians) -> [Vec<Axis>; 2] {
    let mut found = [Vec::new(), Vec::new()];
    for i in sampled_of(scene, SAMPLED) {
        let opacity = sigmoid(scene.opacity_logits[i]);
        let scales = scene.log_scales[i];
        let mut order = [0, 1, 2];
        order.sort_unstable_by(|&a, &b| scales[a].total_cmp(&scales[b]));
        let [least, middle, largest] = order.map(|k| scales[k]);
        let kinds = [
            (order[2], largest >= middle + LONG.ln()),
            (order[0], least <= middle + FLAT.ln()),
        ];
        if opacity < VISIBLE || !kinds.iter().any(|(_, is)| *is) {
            continue;
        }
        let Some(rotation) = rotation_from_quaternion(scene.rotations[i].map(f64::from)) else {
            continue;
        };
        for (found, (axis, is)) in found.iter_mut().zip(kinds) {
            if is {
                found.push(Axis {
                    direction: rotation.map(|row| row[axis]),
                    opacity: opacity.into(),
                });
            }
        }
    }
    found
}

/// Evenly over the half sphere: a Fibonacci lattice.
fn directions() -> impl Iterator<Item = [f64; 3]> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    (0..DIRECTIONS).map(move |i| {
        let z = (i as f64 + 0.5) / DIRECTIONS as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let r = (1.0 - z * z).sqrt();
        [r * cos, r * sin, z]
    })
}

/// The mean of the axes near a direction.
fn refined(axes: &[Axis], begin: [f64; 3]) -> [f64; 3] {
    let mut axis = begin;
    for _ in 0..5 {
        let close = axes.iter().filter(|a| dot(a.direction, axis).abs() > CLOSE);
        let weighted = close.map(|a| a.direction.map(|v| v * a.opacity.sqrt()));
        let weighted: Vec<[f64; 3]> = weighted.collect();
        axis = principal_axes(&weighted, [0.0; 3])[0];
    }
    normalize(axis).unwrap_or(begin)
}

/// The axis of the file that a direction nearly is; else the direction.
fn straightened(direction: [f64; 3]) -> [f64; 3] {
    match direction.iter().any(|v| v.abs() > ON_AXIS) {
        true => direction.map(f64::round),
        false => direction,
    }
}

/// Whether an axis that is upright points down: photos look down if to one side at all, and most of
/// what lies on a ground lies low. If neither tells, y goes down and z up.
fn points_down(scene: &Gaussians, axis: [f64; 3], ground: bool) -> bool {
    let height = |i: usize| dot(scene.means[i].map(f64::from), axis);
    let seen = sampled_of(scene, SAMPLED).filter(|&i| sigmoid(scene.opacity_logits[i]) >= VISIBLE);
    let mut heights: Vec<f64> = seen.map(height).collect();
    heights.sort_unstable_by(f64::total_cmp);
    if let Some(taken) = vantage(scene).filter(Vantage::is_clear) {
        let eye = dot(taken.place, axis);
        let below = heights.partition_point(|&height| height < eye) as f64 / heights.len() as f64;
        if below.max(1.0 - below) >= ONE_SIDE {
            return below < 0.5;
        }
    }
    let skipped = heights.len() / 50;
    let kept = &heights[skipped..heights.len() - skipped];
    if let (true, Some(low), Some(high)) = (ground, kept.first(), kept.last()) {
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let above = (mean - low) / (high - low).max(1e-12) - 0.5;
        if above.abs() > LOPSIDED {
            return above > 0.0;
        }
    }
    match axis[2].abs() > NEAR_AXIS {
        true => axis[2] < 0.0,
        false => axis[1] > 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ground;
    use super::*;
    use splatcore_core::random::Rng;

    /// A floor and four walls of flat Gaussians, and something on the floor; `up` is up.
    fn room(up: [f64; 3]) -> Gaussians {
        let [a, b] = ground(up);
        let mut rng = Rng::new(4, 0);
        let mut scene = Gaussians::zeros(3000, 0);
        for i in 0..scene.len() {
            let [x, y, z] = [0; 3].map(|_| f64::from(rng.uniform()) * 2.0 - 1.0);
            let (place, normal) = match i % 6 {
                0..=2 => ([x, y, -1.0], up),
                3 => ([1.0, y, z.abs() - 1.0], a),
                4 => ([x, -1.0, z.abs() - 1.0], b),
                _ => ([0.2 * x, 0.2 * y, 0.3 * z.abs() - 1.0], up),
            };
            scene.means[i] = std::array::from_fn(|k| {
                (place[0] * a[k] + place[1] * b[k] + place[2] * up[k]) as f32
            });
            // The shortest turn from z to the normal.
            let (axis, w) = ([-normal[1], normal[0]], 1.0 + normal[2]);
            scene.rotations[i] = [w, axis[0], axis[1], 0.0].map(|v| v as f32);
            scene.log_scales[i] = [-3.0, -3.0, -6.0];
        }
        scene.opacity_logits.fill(2.0);
        scene
    }

    #[test]
    fn a_floor_tells_up_and_which_end_of_it() {
        for up in [[0.0, -1.0, 0.0], [0.05, 0.1, 1.0], [0.3, 0.9, -0.1]] {
            let up = normalize(up).unwrap();
            let found = of_scene(&room(up)).unwrap();
            assert!(dot(found, up) > 0.999, "{found:?} for {up:?}");
        }
    }

    /// Posts that stand, and as many that lie in all directions of the ground.
    #[test]
    fn what_stands_tells_up_and_what_lies_does_not() {
        let posts = |up: [f64; 3], lying: usize| {
            let [a, b] = ground(up);
            let mut rng = Rng::new(6, 0);
            let mut scene = Gaussians::zeros(2000, 0);
            for i in 0..scene.len() {
                scene.means[i] = [0; 3].map(|_| rng.normal());
                let (sin, cos) = (6.0 * f64::from(rng.uniform())).sin_cos();
                let along: [f64; 3] = match i % 4 < lying {
                    true => std::array::from_fn(|k| cos * a[k] + sin * b[k]),
                    false => up,
                };
                let (axis, w) = ([-along[1], along[0]], 1.0 + along[2]);
                scene.rotations[i] = [w, axis[0], axis[1], 0.0].map(|v| v as f32);
                scene.log_scales[i] = [-6.0, -6.0, -3.0];
            }
            scene.opacity_logits.fill(2.0);
            scene
        };
        for up in [[0.0, 0.0, 1.0], [0.1, -0.9, 0.3]] {
            let up = normalize(up).unwrap();
            let found = of_scene(&posts(up, 2)).unwrap();
            assert!(dot(found, up) > 0.999, "{found:?} for {up:?}");
            assert_eq!(of_scene(&posts(up, 4)), None);
        }
        let leaning = normalize([0.0, 0.1, 1.0]).unwrap();
        assert_eq!(of_scene(&posts(leaning, 2)), Some([0.0, 0.0, 1.0]));
        // What no program writes.
        assert_eq!(of_scene(&posts([1.0, 0.0, 0.0], 2)), None);
    }

    /// Photos of a floor and what stands on it, in a world whose y goes up.
    #[test]
    fn what_all_photos_look_down_on_is_below() {
        let mut rng = Rng::new(6, 0);
        let mut scene = Gaussians::zeros(3000, 0);
        for i in 0..scene.len() {
            let [x, y, z] = [0; 3].map(|_| 2.0 * rng.uniform() - 1.0);
            scene.means[i] = [3.0 * x, 0.3 * y - 1.0, 3.0 * z];
            let far = scene.means[i].iter().map(|v| v * v).sum::<f32>().sqrt();
            // The shortest turn from z to y.
            scene.rotations[i] = [1.0, -1.0, 0.0, 0.0];
            let size = (0.01 * far).ln();
            scene.log_scales[i] = [size - 3.0, size - 3.0, size];
        }
        scene.opacity_logits.fill(2.0);
        let found = of_scene(&scene).unwrap();
        assert!(found[1] > 0.999, "{found:?}");
    }

    #[test]
    fn a_ball_tells_nothing() {
        let mut rng = Rng::new(4, 0);
        let mut scene = Gaussians::zeros(3000, 0);
        for i in 0..scene.len() {
            scene.means[i] = [0; 3].map(|_| rng.normal());
            scene.rotations[i] = [0; 4].map(|_| rng.normal());
            scene.log_scales[i] = [-3.0, -3.0, -6.0];
        }
        scene.opacity_logits.fill(2.0);
        assert_eq!(of_scene(&scene), None);
        assert_eq!(of_scene(&Gaussians::empty(0)), None);
    }
}
