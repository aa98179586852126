//! The view to begin with of a scene whose cameras are not known: of some dozens of candidates,
//! rendered small, the one that shows most.
//!
//! Candidates look at the scene from outside, on circles of several heights and distances, and from
//! places inside it into several directions. The choice depends on the scene and the direction of
//! up alone: it is computed on the processor, of a sample of a large scene.

mod score;

use crate::cameras::framing;
use crate::cameras::surroundings::surroundings;
use crate::orbit::ORBIT_FOV;
use crate::up::ground;
use anyhow::{Context, Result};
use score::Score;
use splatcore_core::backend::{BackendError, RenderOptions, Renderer};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::semantics::Semantics;
use splatcore_core::{Backend, Gaussians, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_path::Pose;
use splatcore_path::generate::Orbit;

/// Pixels of a candidate.
const SIZE: [u32; 2] = [96, 64];
/// A scene of more Gaussians is looked at as so many larger ones.
const SAMPLED: usize = 120_000;
/// Opacities below this are left out of the sample.
const VISIBLE: f32 = 0.05;
/// Distances of the circles, in shares of the one that shows the whole.
const DISTANCES: [f64; 6] = [1.25, 1.15, 1.05, 0.95, 0.85, 0.75];
/// Heights of the circles above the ground, degrees.
const HEIGHTS: [f64; 2] = [12.0, 30.0];
/// How much a picture counts that holds a share of the scene: the share to this power.
const WHOLE: i32 = 12;
/// Share of what is shown that a narrow window holds at least, and how much wider it is than that.
const SHOWN: f64 = 0.98;
const AROUND_IT: f64 = 1.15;
/// What is narrower than this leaves room above and below on a phone, where the controls are.
const MIN_ASPECT: f64 = 0.6;
/// Directions of a circle and of a place inside.
const AROUND: usize = 12;
/// Of the scene's radius: what is nearer to the camera is not drawn.
const NEAREST: f64 = 0.02;
/// Of the scene's radius: how far places inside are from its centre.
const ASIDE: f64 = 0.3;

/// A view of a scene.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// From where. The field of view is that of an orbit's cameras.
    pub pose: Pose,
    /// The camera stands inside the scene.
    pub inside: bool,
    /// Width over height of what is to be seen.
    pub aspect: f64,
}

impl Candidate {
    /// As a page begins with it.
    pub fn start(&self) -> splatcore_page::Pose {
        splatcore_page::Pose {
            position: self.pose.position,
            rotation: self.pose.rotation,
            fov: self.pose.fov.to_degrees(),
            aspect: Some(self.aspect),
        }
    }
}

/// The view that shows most of a scene; `up` has unit length.
///
/// # Errors
/// If the scene is empty, or cannot be rendered.
pub fn choose(scene: &Gaussians, up: [f64; 3]) -> Result<Candidate> {
    const EMPTY: &str = "the scene has no Gaussian to look at";
    let candidates = candidates(scene, up).context(EMPTY)?;
    let (_, radius) = surroundings(scene).context(EMPTY)?;
    let sample = sample(scene);
    let mut renderer = CpuBackend::new(None).renderer(&sample)?;
    let best = candidates[best(&mut *renderer, &sample.means, &candidates, radius)?];
    Ok(match best.inside {
        true => best,
        false => Candidate {
            aspect: (best.aspect * width(&sample.means, &best.pose)).max(MIN_ASPECT),
            ..best
        },
    })
}

/// The share of a picture's width, about its middle, in which what it shows lies but for some
/// stragglers: a narrow window need not show more of something tall.
fn width(means: &[[f32; 3]], pose: &Pose) -> f64 {
    let camera = pose.camera(SIZE[0], SIZE[1]);
    let [across, _] = camera.tan_half_fov();
    let places = means.iter().filter_map(|mean| {
        let [x, _, z] = camera.to_view(mean.map(f64::from));
        (z > 0.0)
            .then(|| (x / (across * z)).abs())
            .filter(|x| *x <= 1.0)
    });
    let mut places: Vec<f64> = places.collect();
    let at = (places.len() as f64 * SHOWN) as usize;
    match at < places.len() {
        true => (AROUND_IT * *places.select_nth_unstable_by(at, f64::total_cmp).1).min(1.0),
        false => 1.0,
    }
}

/// Which of the candidates, at least one, shows most; `means` are those of the scene, `radius` is
/// its radius. A place inside counts if the scene is all around it; if any does, those from outside
/// do not, which see the back of walls.
fn best(
    renderer: &mut dyn Renderer,
    means: &[[f32; 3]],
    candidates: &[Candidate],
    radius: f64,
) -> Result<usize, BackendError> {
    let reference = Semantics::default();
    let options = RenderOptions {
        pipeline: Pipeline::MEASURED,
        inverse_depth: true,
        // What is in the way must be seen, in a scene of any size.
        semantics: Semantics {
            near_plane: reference.near_plane.min((NEAREST * radius) as f32),
            ..reference
        },
        ..RenderOptions::default()
    };
    let mut scores = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let camera = candidate.pose.camera(SIZE[0], SIZE[1]);
        let rendered = renderer.render(&camera, &options)?;
        scores.push(Score::of(&rendered, SIZE, radius));
    }
    // The directions of a place follow each other.
    let outside = candidates.iter().take_while(|c| !c.inside).count();
    let (from_outside, from_inside) = scores.split_at(outside);
    let around = from_inside.chunks(AROUND).enumerate();
    let around = around.filter(|(_, place)| Score::is_all_around(place));
    let inside: Vec<usize> = around
        .flat_map(|(place, _)| (0..AROUND).map(move |i| outside + place * AROUND + i))
        .collect();
    let most = |values: &mut dyn Iterator<Item = (usize, f64)>| {
        let mut best = (0, f64::NEG_INFINITY);
        for (i, value) in values {
            if value > best.1 {
                best = (i, value);
            }
        }
        best.0
    };
    Ok(match inside.is_empty() {
        false => most(&mut inside.into_iter().map(|i| (i, scores[i].value()))),
        true => most(&mut from_outside.iter().enumerate().map(|(i, score)| {
            // A picture that cuts off what the scene is about shows less.
            let whole = shown(means, &candidates[i].pose).powi(WHOLE);
            (i, score.value() * whole * score.uncut())
        })),
    })
}

/// The share of points that a picture of a pose holds.
fn shown(means: &[[f32; 3]], pose: &Pose) -> f64 {
    let camera = pose.camera(SIZE[0], SIZE[1]);
    let [across, down] = camera.tan_half_fov();
    let inside = means.iter().filter(|mean| {
        let [x, y, z] = camera.to_view(mean.map(f64::from));
        z > 0.0 && x.abs() < across * z && y.abs() < down * z
    });
    inside.count() as f64 / means.len().max(1) as f64
}

/// Where to look from: from outside inwards, and from inside to all sides. None of an empty scene.
fn candidates(scene: &Gaussians, up: [f64; 3]) -> Option<Vec<Candidate>> {
    let (centre, radius) = surroundings(scene)?;
    let fov = ORBIT_FOV.to_radians();
    let axes = ground(up);
    let share = |i: usize| i as f64 / AROUND as f64;
    let mut found = Vec::new();
    let aspect = f64::from(SIZE[0]) / f64::from(SIZE[1]);
    let mut add = |pose: Pose, inside: bool| {
        found.push(Candidate {
            pose,
            inside,
            aspect,
        });
    };
    for height in HEIGHTS {
        for distance in DISTANCES {
            let circle = Orbit {
                centre,
                up,
                ground: axes,
                distance: distance * radius / (fov / 2.0).sin(),
                elevation: height.to_radians(),
                fov,
                arc: None,
            };
            (0..AROUND).for_each(|i| add(circle.pose(share(i)), false));
        }
    }
    let corners = framing::middle(scene);
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (corners[0][k] + corners[1][k]));
    let [a, b] = axes;
    let aside = [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
    let places = [centre, middle].into_iter().zip([&aside[..], &aside[..1]]);
    for (place, steps) in places {
        for [x, y] in steps {
            let eye: [f64; 3] =
                std::array::from_fn(|k| place[k] + ASIDE * radius * (x * a[k] + y * b[k]));
            for i in 0..AROUND {
                let (sin, cos) = (share(i) * std::f64::consts::TAU).sin_cos();
                let target = std::array::from_fn(|k| eye[k] + cos * a[k] + sin * b[k]);
                add(Pose::look_at(eye, target, up, fov), true);
            }
        }
    }
    Some(found)
}

/// A scene that looks much the same from afar: of a large one every so many of the visible
/// Gaussians, as much larger as makes up for the others.
fn sample(scene: &Gaussians) -> Gaussians {
    let visible = |i: &usize| sigmoid(scene.opacity_logits[*i]) >= VISIBLE;
    let all: Vec<usize> = (0..scene.len()).filter(visible).collect();
    let step = all.len().div_ceil(SAMPLED).max(1);
    let mut sample = Gaussians::empty(0);
    let larger = 0.5 * (step as f32).ln();
    for &i in all.iter().step_by(step) {
        sample.means.push(scene.means[i]);
        sample
            .log_scales
            .push(scene.log_scales[i].map(|scale| scale + larger));
        sample.rotations.push(scene.rotations[i]);
        sample.opacity_logits.push(scene.opacity_logits[i]);
        sample.sh.push(scene.sh_of(i)[0]);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::dot;
    use splatcore_core::random::Rng;

    const UP: [f64; 3] = [0.0, -1.0, 0.0];

    fn add(scene: &mut Gaussians, mean: [f32; 3], size: f32, light: f32) {
        scene.means.push(mean);
        scene.log_scales.push([size.ln(); 3]);
        scene.rotations.push([1.0, 0.0, 0.0, 0.0]);
        scene.opacity_logits.push(4.0);
        // A colour of 0 to 1 by the constant harmonic.
        scene.sh.push([(light - 0.5) / 0.282_094_8; 3]);
    }

    /// Something small and sharp in a chequered room, whose walls are grey fog from outside.
    fn room() -> Gaussians {
        let mut scene = Gaussians::empty(0);
        let cells = 14;
        for face in 0..6 {
            for i in 0..cells * cells {
                let [a, b] = [i % cells, i / cells];
                let at = |v: i32| 4.0 * (v as f32 + 0.5) / cells as f32 - 2.0;
                let (axis, sign) = (face % 3, if face < 3 { -1.0 } else { 1.0 });
                let mut mean = [0.0; 3];
                mean[axis] = 2.0 * sign;
                mean[(axis + 1) % 3] = at(a);
                mean[(axis + 2) % 3] = at(b);
                add(
                    &mut scene,
                    mean,
                    0.11,
                    if (a + b) % 2 == 0 { 0.9 } else { 0.1 },
                );
                let outside = mean.map(|v| 1.25 * v);
                add(&mut scene, outside, 0.4, 0.5);
            }
        }
        scene
    }

    fn ball() -> Gaussians {
        let mut rng = Rng::new(2, 0);
        let mut scene = Gaussians::empty(0);
        for i in 0..800 {
            let direction = [0; 3].map(|_| rng.normal());
            let length = direction.iter().map(|v| v * v).sum::<f32>().sqrt();
            let depth = rng.uniform().cbrt();
            let mean = direction.map(|v| 5.0 + depth * v / length);
            add(&mut scene, mean, 0.07, if i % 2 == 0 { 0.9 } else { 0.1 });
        }
        scene
    }

    #[test]
    fn a_room_is_seen_from_inside_and_a_ball_from_outside_and_above() {
        let found = choose(&room(), UP).unwrap();
        assert!(found.inside && found.aspect == 1.5, "{found:?}");
        assert!(
            found.pose.position.iter().all(|v| v.abs() < 2.0),
            "{found:?}"
        );

        let found = choose(&ball(), UP).unwrap();
        assert!(!found.inside, "{found:?}");
        let outwards = found.pose.position.map(|v| v - 5.0);
        assert!(dot(outwards, UP) > 0.1, "{found:?}");
        assert!(dot(outwards, outwards) > 1.5, "{found:?}");
        // The picture's up is the scene's.
        assert!(dot(found.pose.rotation[1], UP) < -0.5, "{found:?}");
        let again = choose(&ball(), UP).unwrap();
        assert_eq!(again.pose, found.pose);
        assert!(choose(&Gaussians::empty(0), UP).is_err());
    }

    /// A tall figure whose head has few Gaussians, so that it hardly counts among them.
    #[test]
    fn a_head_is_not_cut_off() {
        let mut rng = Rng::new(3, 0);
        let mut scene = Gaussians::empty(0);
        for i in 0..1500 {
            let [x, y, z] = [0; 3].map(|_| 2.0 * rng.uniform() - 1.0);
            let light = if i % 3 == 0 { 0.9 } else { 0.2 };
            add(&mut scene, [0.25 * x, y, 0.2 * z], 0.03, light);
        }
        let body = scene.len();
        for i in 0..60 {
            let [x, y, z] = [0; 3].map(|_| 2.0 * rng.uniform() - 1.0);
            let light = if i % 2 == 0 { 0.9 } else { 0.5 };
            add(
                &mut scene,
                [0.12 * x, -1.12 + 0.12 * y, 0.12 * z],
                0.05,
                light,
            );
        }
        let found = choose(&scene, UP).unwrap();
        // A tall figure needs no wide window.
        assert!((0.2..0.8).contains(&found.aspect), "{found:?}");
        let head = shown(&scene.means[body..], &found.pose);
        assert!(
            head == 1.0,
            "{head} of the head is in the picture: {found:?}"
        );
    }

    #[test]
    fn a_sample_stands_for_the_scene() {
        let mut scene = Gaussians::zeros(3 * SAMPLED, 1);
        scene.opacity_logits.fill(2.0);
        scene.opacity_logits[0] = -9.0;
        let sample = sample(&scene);
        assert_eq!((sample.len(), sample.sh_degree), (SAMPLED, 0));
        // As much area: three times, by both sides.
        assert!((sample.log_scales[0][0] - 0.5 * 3f32.ln()).abs() < 1e-6);
        assert_eq!(sample.sh.len(), SAMPLED);
    }
}
