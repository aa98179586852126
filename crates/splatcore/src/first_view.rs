//! The view to begin with of a scene whose cameras are not known: of some dozens of candidates,
//! rendered small, the one that shows most.
//!
//! Candidates look at the scene from outside, on circles of several heights and distances, and to
//! all sides from places inside it, and from where its photos were taken, where the scene tells.
//! The choice depends on the scene and the direction of up alone: it is computed on the processor,
//! of a sample of a large scene.

mod score;

use crate::cameras::framing;
use crate::cameras::surroundings::surroundings;
use crate::cameras::vantage::{Vantage, vantage};
use crate::orbit::ORBIT_FOV;
use crate::up::ground;
use anyhow::{Context, Result};
use score::Score;
use splatcore_core::backend::{BackendError, RenderOptions, Renderer};
use splatcore_core::camera::{dot, normalize};
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
/// Of the scene's radius: how far places inside are from its centre, and places where photos may
/// have been taken from the most likely one.
const ASIDE: f64 = 0.3;
const NEARBY: [f64; 2] = [0.12, 0.3];
/// Of the scene's radius: who stands nearer to its centre than this is inside.
const AMID: f64 = 0.5;
/// How far up or down photos look, degrees.
const TILTS: [f64; 2] = [0.0, -20.0];

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
    let places = places(scene, up).context(EMPTY)?;
    let (centre, radius) = surroundings(scene).context(EMPTY)?;
    let sample = sample(scene);
    let mut renderer = CpuBackend::new(None).renderer(&sample)?;
    let (pose, stand) = best(&mut *renderer, &sample.means, &places, radius)?.context(EMPTY)?;
    let inside = match stand {
        Stand::Outside => false,
        Stand::Inside => true,
        Stand::Photographer => {
            let away: [f64; 3] = std::array::from_fn(|k| pose.position[k] - centre[k]);
            dot(away, away).sqrt() < AMID * radius
        }
    };
    let whole = f64::from(SIZE[0]) / f64::from(SIZE[1]);
    Ok(Candidate {
        pose,
        inside,
        aspect: match inside {
            true => whole,
            false => (whole * width(&sample.means, &pose)).max(MIN_ASPECT),
        },
    })
}

/// Where candidates stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stand {
    /// Around the scene.
    Outside,
    /// At a place of the scene.
    Inside,
    /// Where the scene tells that photos were taken.
    Photographer,
}

/// Candidates that stand together.
struct Place {
    stand: Stand,
    poses: Vec<Pose>,
}

/// Places from where to look, and from which side photos were taken.
struct Places {
    all: Vec<Place>,
    /// From the middle of the scene to where photos were taken, as long as that is clear.
    side: [f64; 3],
}

impl Places {
    /// A factor for a view from outside: more from the side that the photos show.
    fn shown_side(&self, pose: &Pose) -> f64 {
        1.0 - dot(self.side, pose.rotation[2])
    }
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

/// Which of the candidates shows most, and where it stands; `means` are those of the
/// scene, `radius` is its radius. A view from where photos were taken counts if the scene fills it,
/// a place inside if the scene is all around it; if any does, those from outside do not, which see
/// the back of walls.
fn best(
    renderer: &mut dyn Renderer,
    means: &[[f32; 3]],
    places: &Places,
    radius: f64,
) -> Result<Option<(Pose, Stand)>, BackendError> {
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
    let mut bests: [Option<(Pose, f64)>; 3] = [None; 3];
    for place in &places.all {
        let mut scores = Vec::with_capacity(place.poses.len());
        for pose in &place.poses {
            let rendered = renderer.render(&pose.camera(SIZE[0], SIZE[1]), &options)?;
            scores.push(Score::of(&rendered, SIZE, radius));
        }
        let value = |(pose, score): (&Pose, &Score)| match place.stand {
            // A picture that cuts off what the scene is about shows less.
            Stand::Outside => {
                let whole = shown(means, pose).powi(WHOLE) * score.uncut();
                Some(score.value() * whole * places.shown_side(pose))
            }
            Stand::Inside => Score::is_all_around(&scores).then(|| score.value()),
            // Photos show what most of the Gaussians are for.
            Stand::Photographer => (score.is_filled()).then(|| score.value() * shown(means, pose)),
        };
        for (pose, score) in place.poses.iter().zip(&scores) {
            let best = &mut bests[place.stand as usize];
            if let Some(value) = value((pose, score))
                && best.is_none_or(|(_, most)| value > most)
            {
                *best = Some((*pose, value));
            }
        }
    }
    let order = [Stand::Photographer, Stand::Inside, Stand::Outside];
    let found = order.map(|stand| bests[stand as usize].map(|(pose, _)| (pose, stand)));
    Ok(found.into_iter().flatten().next())
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

/// Where to look from. None of an empty scene.
fn places(scene: &Gaussians, up: [f64; 3]) -> Option<Places> {
    let (centre, radius) = surroundings(scene)?;
    let fov = ORBIT_FOV.to_radians();
    let axes = ground(up);
    let share = |i: usize| i as f64 / AROUND as f64;
    let mut found = Vec::new();
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
            found.push(Place {
                stand: Stand::Outside,
                poses: (0..AROUND).map(|i| circle.pose(share(i))).collect(),
            });
        }
    }
    let [a, b] = axes;
    let all_sides = |stand: Stand, eye: [f64; 3], tilt: f64| {
        let (sin_t, cos_t) = tilt.to_radians().sin_cos();
        let pose = |i: usize| {
            let (sin, cos) = (share(i) * std::f64::consts::TAU).sin_cos();
            let target =
                std::array::from_fn(|k| eye[k] + cos_t * (cos * a[k] + sin * b[k]) + sin_t * up[k]);
            Pose::look_at(eye, target, up, fov)
        };
        Place {
            stand,
            poses: (0..AROUND).map(pose).collect(),
        }
    };
    let beside = |place: [f64; 3], [x, y]: [f64; 2], step: f64| -> [f64; 3] {
        std::array::from_fn(|k| place[k] + step * radius * (x * a[k] + y * b[k]))
    };
    let aside = [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
    let corners = framing::middle(scene);
    let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * (corners[0][k] + corners[1][k]));
    for (place, steps) in [centre, middle].into_iter().zip([&aside[..], &aside[..1]]) {
        for step in steps {
            found.push(all_sides(Stand::Inside, beside(place, *step, ASIDE), 0.0));
        }
    }
    let likely = vantage(scene);
    let side = likely.map_or([0.0; 3], |likely| {
        let to_it = std::array::from_fn(|k| likely.place[k] - centre[k]);
        let clarity = likely.clarity.max(0.0);
        normalize(to_it).map_or([0.0; 3], |v| v.map(|v| clarity * v))
    });
    if let Some(likely) = likely.filter(Vantage::is_clear) {
        for (step, tilt) in aside
            .into_iter()
            .flat_map(|step| TILTS.map(|tilt| (step, tilt)))
        {
            for far in NEARBY {
                let eye = beside(likely.place, step, far);
                found.push(all_sides(Stand::Photographer, eye, tilt));
            }
        }
    }
    Some(Places { all: found, side })
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

    /// A passage along x whose far end and ceiling are open, photographed from one place.
    fn passage() -> Gaussians {
        let mut rng = Rng::new(9, 0);
        let mut scene = Gaussians::empty(0);
        for i in 0..9000 {
            let [x, y, z] = [0; 3].map(|_| 2.0 * rng.uniform() - 1.0);
            let mean = match i % 8 {
                0..=2 => [4.0 * x, y, 1.0],
                3..=5 => [4.0 * x, y, -1.0],
                6 => [4.0 * x, 1.0, z],
                _ => [4.0, y, z],
            };
            let distance = mean
                .iter()
                .zip([-1.0, 0.0, 0.0])
                .map(|(a, b)| (a - b).powi(2));
            let size = 0.03 * distance.sum::<f32>().sqrt() * (0.4 * rng.normal()).exp();
            add(&mut scene, mean, size, if i % 3 == 0 { 0.9 } else { 0.2 });
        }
        scene
    }

    #[test]
    fn a_passage_that_is_open_is_seen_from_where_its_photos_were_taken() {
        let found = choose(&passage(), UP).unwrap();
        let [x, y, z] = found.pose.position;
        assert!(
            (-2.5..1.0).contains(&x) && y.abs() < 1.0 && z.abs() < 1.0,
            "{found:?}"
        );
        // Along it, at its end.
        assert!(found.pose.rotation[2][0] > 0.8, "{found:?}");
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
