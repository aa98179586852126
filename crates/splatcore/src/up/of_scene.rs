//! Up, from a scene alone: the direction that most flat Gaussians face, if most do; else the axis
//! that fewest face.
//!
//! What people build and walk on is level: floors, tables, ceilings, ground. Flat Gaussians on it
//! face up. Walls face several directions, each fewer. Where there are walls alone, and what stands
//! upright, all directions that are faced are level, and the one that is not is up.

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
/// Scenes stand roughly on the axis y or z of their file, if they stand on anything (cosine of 45
/// degrees).
const NEAR_AXIS: f64 = 0.7;
/// Where the axis that fewest face has less than this share of the normals of the next one, what is
/// shown is upright; that axis must be near one of the file (cosine of 26 degrees).
const UPRIGHT: f64 = 0.82;
const ON_AXIS: f64 = 0.9;
/// Something level faces an axis if so many times as many Gaussians do as if they faced all
/// directions alike.
const LEVEL: f64 = 1.8;
/// Areas of Gaussians above that of this share of them count as that.
const LARGE: f64 = 0.9;
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
            .filter(|f| dot(f.normal, direction).abs() > CLOSE);
        close.map(|f| f.opacity).sum()
    };
    let tried: Vec<([f64; 3], f64)> = directions().map(|d| (d, facing(d))).collect();
    let (first, weight) = most(tried.iter())?;
    let others = tried.iter().filter(|(d, _)| dot(*d, first).abs() < APART);
    let (_, next) = most(others)?;
    let up = refined(&flat, first);
    if weight >= CLEARLY * next && up[1].abs().max(up[2].abs()) > NEAR_AXIS {
        return Some(signed(scene, up));
    }
    let mean = tried.iter().map(|(_, weight)| weight).sum::<f64>() / DIRECTIONS as f64;
    let level = facing([0.0, 1.0, 0.0]) > LEVEL * mean;
    (!level && z_stands(&flat)).then_some([0.0, 0.0, 1.0])
}

/// Whether what is shown stands on the axis z, as in the files of some programs; that it stands on
/// y is assumed anyway.
fn z_stands(flat: &[Flat]) -> bool {
    let mut areas: Vec<f64> = flat.iter().map(|f| f.area).collect();
    let at = (LARGE * areas.len() as f64) as usize;
    let large = *areas.select_nth_unstable_by(at, f64::total_cmp).1;
    let weighted = |f: &Flat| {
        let weight = (f.opacity * f.area.min(large)).sqrt();
        f.normal.map(|v| v * weight)
    };
    let weighted: Vec<[f64; 3]> = flat.iter().map(weighted).collect();
    let [_, next, least] = principal_axes(&weighted, [0.0; 3]);
    let share = |axis| weighted.iter().map(|n| dot(*n, axis).powi(2)).sum::<f64>();
    least[2].abs() > ON_AXIS && share(least) < UPRIGHT * share(next)
}

/// A flat Gaussian.
struct Flat {
    normal: [f64; 3],
    opacity: f64,
    /// The product of its two large standard deviations.
    area: f64,
}

/// The direction that most face, and how many do.
fn most<'a>(tried: impl Iterator<Item = &'a ([f64; 3], f64)>) -> Option<([f64; 3], f64)> {
    tried.max_by(|a, b| a.1.total_cmp(&b.1)).copied()
}

/// The flat Gaussians that are seen.
fn normals(scene: &Gaussians) -> Vec<Flat> {
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
        found.push(Flat {
            normal: rotation.map(|row| row[least]),
            opacity: opacity.into(),
            area: f64::from(others[0] + others[1]).exp(),
        });
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
fn refined(flat: &[Flat], begin: [f64; 3]) -> [f64; 3] {
    let mut axis = begin;
    for _ in 0..5 {
        let close = flat.iter().filter(|f| dot(f.normal, axis).abs() > CLOSE);
        let weighted = close.map(|f| f.normal.map(|v| v * f.opacity.sqrt()));
        let weighted: Vec<[f64; 3]> = weighted.collect();
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

    /// Walls alone, turned by 25 degrees from the axes of the file.
    #[test]
    fn walls_tell_which_axis_they_stand_on() {
        let walls = |up: [f64; 3]| {
            let mut scene = room(up);
            let [a, b] = ground(up);
            let (sin, cos) = 0.44_f64.sin_cos();
            for i in 0..scene.len() {
                let [a, b] = match i % 2 {
                    0 => [a, b],
                    _ => [b, a.map(|v| -v)],
                };
                let n: [f64; 3] = std::array::from_fn(|k| cos * a[k] + sin * b[k]);
                scene.rotations[i] = [1.0 + n[2], -n[1], n[0], 0.0].map(|v| v as f32);
            }
            scene
        };
        let z = [0.0, 0.0, 1.0];
        assert_eq!(of_scene(&walls(z)), Some(z));
        // What is assumed anyway, and what no program writes.
        assert_eq!(of_scene(&walls([0.0, -1.0, 0.0])), None);
        assert_eq!(of_scene(&walls([1.0, 0.0, 0.0])), None);
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
