//! Up, from the cameras of photos and the planes that the points lie in.
//!
//! Cameras alone leave a degree or two, and where all look the same way, as in a walk along a
//! corridor, they do not tell how far they looked down. What people build is level or upright:
//! floors, tables and walls among the points say it better, and so does the way of a walk. Each
//! camera's right direction, each upright plane's normal and a walk should be perpendicular to up,
//! each level plane's normal parallel; up is the direction that breaks this least, weighed by how
//! well each is known.

use super::of_cameras::{Shared, shared};
use rayon::prelude::*;
use splatcore_core::camera::{cross, dot, length, normalize, sub};
use splatcore_core::linear::Coordinates;
use splatcore_core::random::Rng;
use splatcore_core::ranked::median;
use splatcore_path::principal_axes;

/// So many points are looked at.
const SAMPLED: usize = 6000;
/// Planes that are looked for, and tries for each, counted in every so-manieth point.
const PLANES: usize = 8;
const TRIES: usize = 5000;
const EVERY: usize = 4;
/// A plane holds at least this share of the points.
const MIN_SHARE: f64 = 0.03;
/// Of half of the points' distance from their middle: how near a plane's points are to it.
const NEAR: f64 = 0.02;
/// A plane that is this far off level or upright counts a quarter (sine of the angle); slopes,
/// which are farther off, hardly count.
const OFF: f64 = 0.05;
/// How well the cameras know up, and a plane that holds all points (radians).
const BY_CAMERAS: f64 = 0.035;
const BY_PLANE: f64 = 0.02;
/// Less knowledge than this (of an angle, 1 / radians squared) is none.
const LITTLE: f64 = 1.0;
/// Photos are taken on a straight way if it is so many times as long as wide; it counts as much as
/// a plane that holds this share.
const STRAIGHT: f64 = 8.0;
const WALK: f64 = 0.2;
/// Rounds of the fit, each without the weight of planes that are far off.
const ROUNDS: usize = 6;
/// How far cameras that all look the same way may look up or down, degrees, and how seldom they do:
/// this far is as probable as 0.6 of not at all.
const MAX_PITCH: i32 = 35;
const USUAL_PITCH: f64 = 30.0;

/// A plane of the points.
#[derive(Clone, Copy, Debug)]
struct Plane {
    /// Unit length, of either sign.
    normal: [f64; 3],
    /// Of all points.
    share: f64,
}

impl Plane {
    /// How far its normal is from up, and from level, as sines of the angles.
    fn off(&self, up: [f64; 3]) -> (f64, f64) {
        let along = dot(self.normal, up).abs().min(1.0);
        ((1.0 - along * along).sqrt(), along)
    }
}

/// The direction that is up for most cameras and for what is level and upright among the points, of
/// unit length, by the cameras' world-to-camera rotations and positions; none if the cameras have
/// none in common.
pub fn of_planes(
    rotations: &[[[f64; 3]; 3]],
    positions: &[[f64; 3]],
    points: &[[f32; 3]],
) -> Option<[f64; 3]> {
    let shared = shared(rotations)?;
    let mut planes = planes(points);
    planes.extend(walk(positions));
    if shared.all_around {
        return Some(refined(&shared.rights, &planes, shared.up));
    }
    // What they vary in is chance: they know one direction that is level, and no more.
    let right = principal_axes(&shared.rights, [0.0; 3])[0];
    Some(refined(&[right], &planes, pitched(&shared, right, &planes)))
}

/// Of the directions in which cameras that look the same way could have held up, the one that most
/// planes fit.
fn pitched(shared: &Shared, right: [f64; 3], planes: &[Plane]) -> [f64; 3] {
    let Some(ahead) = normalize(cross(shared.up, right)) else {
        return shared.up;
    };
    let pitches = (-MAX_PITCH..=MAX_PITCH).map(f64::from);
    let tried = pitches.map(|degrees| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let up = std::array::from_fn(|k| cos * shared.up[k] + sin * ahead[k]);
        let fit = |plane: &Plane| {
            let (from_up, from_level) = plane.off(up);
            // A level plane fixes both angles, an upright one only one.
            plane.share * (2.0 * closeness(from_up)).max(closeness(from_level))
        };
        let usual = (-0.5 * (degrees / USUAL_PITCH).powi(2)).exp();
        (up, usual * planes.iter().map(fit).sum::<f64>())
    });
    let best = tried.max_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, fit)| *fit > 0.0)
        .map_or(shared.up, |(up, _)| up)
}

/// From 1 where an angle is none to 0 where it is large.
fn closeness(sine: f64) -> f64 {
    (1.0 + (sine / OFF).powi(2)).powi(-2)
}

/// The direction near `begin` that cameras and planes fit best.
fn refined(rights: &[[f64; 3]], planes: &[Plane], begin: [f64; 3]) -> [f64; 3] {
    let mut up = begin;
    let per_camera = 1.0 / (BY_CAMERAS * (rights.len() as f64).sqrt());
    for _ in 0..ROUNDS {
        // All that should be perpendicular to up, times the root of its weight.
        let mut level: Vec<[f64; 3]> = rights.iter().map(|r| r.map(|v| v * per_camera)).collect();
        for plane in planes {
            let (from_up, from_level) = plane.off(up);
            let weight = (plane.share * closeness(from_up.min(from_level))).sqrt() / BY_PLANE;
            match from_up < from_level {
                true => level.extend(across(plane.normal).map(|a| a.map(|v| v * weight))),
                false => level.push(plane.normal.map(|v| v * weight)),
            }
        }
        let [_, next, least] = principal_axes(&level, [0.0; 3]);
        let variance = |axis| level.iter().map(|v| dot(*v, axis).powi(2)).sum::<f64>();
        // Cameras that look the same way, and no plane that says more: the way they look is free.
        let told = variance(next) > LITTLE && variance(least) < 0.5 * variance(next);
        if !told || dot(least, up).abs() < 0.7 {
            return begin;
        }
        up = match dot(least, up) < 0.0 {
            true => least.map(|v| -v),
            false => least,
        };
    }
    up
}

/// The way of photos that were taken one after the other on a straight walk, or while something
/// rose: either is level or upright as a plane's normal is.
fn walk(positions: &[[f64; 3]]) -> Option<Plane> {
    let count = positions.len().max(1) as f64;
    let sum = (positions.iter()).fold([0.0; 3], |sum, p| std::array::from_fn(|k| sum[k] + p[k]));
    let middle = sum.map(|v| v / count);
    let axes = principal_axes(positions, middle);
    let spread = |axis| {
        let along = positions.iter().map(|p| dot(sub(*p, middle), axis).powi(2));
        along.sum::<f64>().sqrt()
    };
    let straight = positions.len() > 4 && spread(axes[0]) > STRAIGHT * spread(axes[1]);
    straight.then_some(Plane {
        normal: axes[0],
        share: WALK,
    })
}

/// The planes that hold most of the points, the largest first, by random triples of them (RANSAC).
fn planes(points: &[[f32; 3]]) -> Vec<Plane> {
    let step = points.len().div_ceil(SAMPLED).max(1);
    let sampled = points.iter().step_by(step);
    let mut rest: Vec<[f64; 3]> = sampled.map(|p| p.map(f64::from)).collect();
    let all = rest.len() as f64;
    let mut found = Vec::new();
    if rest.len() < 3 {
        return found;
    }
    let middle: [f64; 3] =
        std::array::from_fn(|k| median(rest.iter().map(|p| p[k])).unwrap_or(0.0));
    let distances = rest.iter().map(|p| length(sub(*p, middle)));
    let near = NEAR * median(distances).unwrap_or(0.0);
    let mut rng = Rng::new(7, 0);
    while found.len() < PLANES {
        let Some((origin, normal)) = most_in_a_plane(&rest, near, &mut rng) else {
            break;
        };
        let is_near = |p: &[f64; 3]| dot(sub(*p, origin), normal).abs() <= near;
        let (inside, outside): (Vec<_>, Vec<_>) = rest.iter().partition(|p| is_near(p));
        if (inside.len() as f64) < MIN_SHARE * all {
            break;
        }
        let share = inside.len() as f64 / all;
        found.push(Plane { normal, share });
        rest = outside;
    }
    found
}

/// A point of the plane that holds most points, and its normal.
fn most_in_a_plane(points: &[[f64; 3]], near: f64, rng: &mut Rng) -> Option<([f64; 3], [f64; 3])> {
    // The draws come one after the other; the planes through them are tried on all threads.
    let mut draw = || [0; 3].map(|_| points.get(rng.below(points.len())).copied());
    let drawn: Vec<_> = (0..TRIES).map(|_| draw()).collect();
    let counted = Coordinates::new(points.iter().step_by(EVERY));
    let tried = drawn.par_iter().filter_map(|&[a, b, c]| {
        let (a, b, c) = (a?, b?, c?);
        let normal = normalize(cross(sub(b, a), sub(c, a)))?;
        Some((a, normal, counted.near_plane(a, normal, near)))
    });
    let tried: Vec<_> = tried.collect();
    let (mut origin, mut normal, _) = tried.into_iter().max_by_key(|(_, _, count)| *count)?;
    for _ in 0..3 {
        let is_near = |p: &&[f64; 3]| dot(sub(**p, origin), normal).abs() <= near;
        let held: Vec<[f64; 3]> = points.iter().filter(is_near).copied().collect();
        let sum = held
            .iter()
            .fold([0.0; 3], |sum, p| std::array::from_fn(|k| sum[k] + p[k]));
        origin = sum.map(|v| v / held.len().max(1) as f64);
        normal = normalize(principal_axes(&held, origin)[2])?;
    }
    Some((origin, normal))
}

/// Two unit axes across a unit direction.
fn across(normal: [f64; 3]) -> [[f64; 3]; 2] {
    // The axes of the world without their share of it span all directions but this one.
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let level = axes.map(|axis: [f64; 3]| {
        let along = dot(axis, normal);
        std::array::from_fn(|k| axis[k] - along * normal[k])
    });
    let [first, second, _] = principal_axes(&level, [0.0; 3]);
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::super::ground;
    use super::*;
    use splatcore_core::Camera;

    const UP: [f64; 3] = [0.36, -0.48, 0.8];

    fn angle(found: [f64; 3]) -> f64 {
        dot(found, UP).clamp(-1.0, 1.0).acos().to_degrees()
    }

    /// A floor, two walls and what stands about, as far as the eye reaches.
    fn corridor(seed: u64) -> Vec<[f32; 3]> {
        let [a, b] = ground(UP);
        let mut rng = Rng::new(seed, 0);
        let point = |i: usize| {
            let [x, y, z] = [0; 3].map(|_| f64::from(rng.uniform()));
            let [x, y, z] = match i % 8 {
                0 => [10.0 * x, 2.0 * y - 1.0, 0.0],
                1 => [10.0 * x, 1.0, 2.0 * z],
                2 => [10.0 * x, -1.0, 2.0 * z],
                3 => [10.0, 2.0 * y - 1.0, 2.0 * z],
                _ => [10.0 * x, 2.0 * y - 1.0, 2.0 * z],
            };
            std::array::from_fn(|k| (x * a[k] + y * b[k] + z * UP[k]) as f32)
        };
        (0..8000).map(point).collect()
    }

    /// Walking along it, looking down by an angle, with a shaking hand.
    fn walk(down: f64) -> Vec<[[f64; 3]; 3]> {
        let [a, b] = ground(UP);
        let mut rng = Rng::new(3, 0);
        let mut at = |i: u32| {
            let aside = 0.02 * f64::from(rng.normal());
            let eye: [f64; 3] = std::array::from_fn(|k| 0.1 * f64::from(i) * a[k] + 1.5 * UP[k]);
            let target = std::array::from_fn(|k| {
                eye[k] + down.cos() * a[k] + aside * b[k] - down.sin() * UP[k]
            });
            Camera::look_at(eye, target, UP, 0.8, 8, 8).rotation
        };
        (0..40).map(&mut at).collect()
    }

    #[test]
    fn a_corridor_tells_how_far_down_all_photos_look() {
        for degrees in [-20.0_f64, 0.0, 16.0, 30.0] {
            let cameras = walk(degrees.to_radians());
            let alone = angle(of_planes(&cameras, &[], &[]).unwrap());
            assert!((alone - degrees.abs()).abs() < 3.0, "{alone:.1} degrees");
            let found = angle(of_planes(&cameras, &[], &corridor(1)).unwrap());
            assert!(found < 1.0, "{found:.1} degrees of {degrees}");
            // The way alone, which is level.
            let [a, _] = ground(UP);
            let way = (0..40).map(|i| a.map(|v| 0.1 * f64::from(i) * v));
            let found = angle(of_planes(&cameras, &way.collect::<Vec<_>>(), &[]).unwrap());
            assert!(found < 1.0, "{found:.1} degrees of {degrees} by the way");
        }
    }

    #[test]
    fn walls_mend_what_a_tilted_hand_leaves() {
        // All around, but each held tilted to the same side of the room by two degrees.
        let [a, b] = ground(UP);
        let tilted = normalize(std::array::from_fn(|k| UP[k] + 0.05 * b[k])).unwrap();
        let at = |i: u32| {
            let (sin, cos) = (f64::from(i) * 0.2).sin_cos();
            let target = std::array::from_fn(|k| cos * a[k] + sin * b[k]);
            Camera::look_at([0.0; 3], target, tilted, 0.8, 8, 8).rotation
        };
        let cameras: Vec<_> = (0..31).map(at).collect();
        let alone = angle(of_planes(&cameras, &[], &[]).unwrap());
        assert!(alone > 2.0, "{alone:.1} degrees");
        let found = angle(of_planes(&cameras, &[], &corridor(2)).unwrap());
        assert!(found < 1.0, "{found:.1} degrees");
    }

    #[test]
    fn a_slope_and_a_cloud_change_little() {
        let [a, b] = ground(UP);
        let at = |i: u32| {
            let (sin, cos) = (f64::from(i) * 0.2).sin_cos();
            let target = std::array::from_fn(|k| cos * a[k] + sin * b[k]);
            Camera::look_at([0.0; 3], target, UP, 0.8, 8, 8).rotation
        };
        let cameras: Vec<_> = (0..31).map(at).collect();
        let mut rng = Rng::new(6, 0);
        let cloud: Vec<[f32; 3]> = (0..3000).map(|_| [0; 3].map(|_| rng.normal())).collect();
        assert!(angle(of_planes(&cameras, &[], &cloud).unwrap()) < 0.5);
        // A hillside of 12 degrees.
        let hill = |_| {
            let [x, y] = [0; 2].map(|_| 8.0 * f64::from(rng.normal()));
            std::array::from_fn(|k| (x * a[k] + y * b[k] + 0.21 * x * UP[k]) as f32)
        };
        let hill: Vec<[f32; 3]> = (0..3000).map(hill).collect();
        let found = angle(of_planes(&cameras, &[], &hill).unwrap());
        assert!(found < 3.0, "{found:.1} degrees");
        assert_eq!(of_planes(&[], &[], &hill), None);
    }
}
