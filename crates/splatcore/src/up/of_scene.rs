//! Up, from a scene alone: the direction that most flat Gaussians face, if most do.
//!
//! What people build and walk on is level: floors, tables, ceilings, ground. Flat Gaussians on it
//! face up. Walls face several directions, each fewer.

use crate::cameras::surroundings::sampled_of;
use splatcore_core::Gaussians;
use splatcore_core::camera::{dot, normalize, rotation_from_quaternion};
use splatcore_core::gaussians::sigmoid;
use splatcore_path::principal_axes;

/// So many Gaussians are looked at.
const SAMPLED: usize = 20_000;
/// A Gaussian is flat if its smallest side is at most this share of the next.
const FLAT: f32 = 0.35;
const VISIBLE: f32 = 0.3;
/// Fewer flat ones say nothing.
const FEWEST: usize = 200;
/// Directions of the half sphere that are tried.
const DIRECTIONS: usize = 600;
/// Those that face a direction are this close to it (cosine of 12 degrees).
const CLOSE: f64 = 0.978;
/// Others are of another direction from here on (cosine of 35 degrees).
const APART: f64 = 0.82;
/// The direction that most face must have so many times as many as the next.
const CLEARLY: f64 = 1.6;
/// Scenes stand roughly on an axis of their file, if they stand on anything (cosine of 45 degrees).
const NEAR_AXIS: f64 = 0.7;
/// Of the height between the lowest and the highest: how far the mean must be from the middle to
/// say where down is.
const LOPSIDED: f64 = 0.06;

/// The direction that is up, of unit length; none if the scene does not tell.
pub fn of_scene(scene: &Gaussians) -> Option<[f64; 3]> {
    let flat = normals(scene);
    if flat.len() < FEWEST {
        return None;
    }
    let facing = |direction: [f64; 3]| -> f64 {
        let close = flat
            .iter()
            .filter(|(n, _)| dot(*n, direction).abs() > CLOSE);
        close.map(|(_, weight)| weight).sum()
    };
    let tried: Vec<([f64; 3], f64)> = directions().map(|d| (d, facing(d))).collect();
    let (first, weight) = most(tried.iter())?;
    let others = tried.iter().filter(|(d, _)| dot(*d, first).abs() < APART);
    let (_, next) = most(others)?;
    if weight < CLEARLY * next {
        return None;
    }
    let up = refined(&flat, first);
    let axis = up.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    (axis > NEAR_AXIS).then(|| signed(scene, up))
}

/// The direction that most face, and how many do.
fn most<'a>(tried: impl Iterator<Item = &'a ([f64; 3], f64)>) -> Option<([f64; 3], f64)> {
    tried.max_by(|a, b| a.1.total_cmp(&b.1)).copied()
}

/// Normals of flat Gaussians and how much they are seen.
fn normals(scene: &Gaussians) -> Vec<([f64; 3], f64)> {
    let mut found = Vec::new();
    for i in sampled_of(scene, SAMPLED) {
        let opacity = sigmoid(scene.opacity_logits[i]);
        let scales = scene.log_scales[i];
        let least = (0..3).fold(0, |best, k| if scales[k] < scales[best] { k } else { best });
        let others = [(least + 1) % 3, (least + 2) % 3].map(|k| scales[k]);
        let flat = scales[least] <= others[0].min(others[1]) + FLAT.ln();
        if opacity < VISIBLE || !flat {
            continue;
        }
        let Some(rotation) = rotation_from_quaternion(scene.rotations[i].map(f64::from)) else {
            continue;
        };
        let normal = rotation.map(|row| row[least]);
        found.push((normal, f64::from(opacity)));
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

/// The mean of the normals near a direction.
fn refined(flat: &[([f64; 3], f64)], begin: [f64; 3]) -> [f64; 3] {
    let mut axis = begin;
    for _ in 0..5 {
        let close = flat.iter().filter(|(n, _)| dot(*n, axis).abs() > CLOSE);
        let weighted: Vec<[f64; 3]> = close.map(|(n, w)| n.map(|v| v * w.sqrt())).collect();
        axis = principal_axes(&weighted, [0.0; 3])[0];
    }
    normalize(axis).unwrap_or(begin)
}

/// The axis with its sign: most of a scene lies low; if that does not tell, y goes down and z up.
fn signed(scene: &Gaussians, axis: [f64; 3]) -> [f64; 3] {
    let height = |i: usize| dot(scene.means[i].map(f64::from), axis);
    let seen = sampled_of(scene, SAMPLED).filter(|&i| sigmoid(scene.opacity_logits[i]) >= VISIBLE);
    let mut heights: Vec<f64> = seen.map(height).collect();
    heights.sort_unstable_by(f64::total_cmp);
    let skipped = heights.len() / 50;
    let kept = &heights[skipped..heights.len() - skipped];
    let (Some(low), Some(high)) = (kept.first(), kept.last()) else {
        return axis;
    };
    let mean = kept.iter().sum::<f64>() / kept.len() as f64;
    let above = (mean - low) / (high - low).max(1e-12) - 0.5;
    let usual = if axis[2].abs() > NEAR_AXIS {
        axis[2]
    } else {
        -axis[1]
    };
    let up = match above.abs() > LOPSIDED {
        true => above < 0.0,
        false => usual > 0.0,
    };
    if up { axis } else { axis.map(|v| -v) }
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
