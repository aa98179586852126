//! How much of each Gaussian a view shows, against the twin's fragments, the weights against the
//! backend's own gradients, and how many Gaussians each tile takes, against the twin's lists.

use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{odd_camera, random_scene};
use crate::twin::intersect::TileLists;
use crate::twin::visibility::{Between, visibility};
use crate::twin::{CutOffs, Lists, Scene};
use splatcore_core::backend::{Backend, RenderOptions, TileCounts, Visibility};
use splatcore_core::pipeline::Intersect;
use splatcore_core::{Camera, Gaussians, Image, Pipeline, sh};
use std::sync::Arc;

/// Relative error of a sum: f32 puts a splat's centre 1e-5 px off where its sigma is at least 0.55
/// px, and the alphas in front of a fragment are off alike.
const TOLERANCE: f64 = 1e-4;
/// A pixel's share of a sum below which units of the sums count (2^-36 a fragment and warp).
const FLOOR: f64 = 1e-7;
/// Pixels in doubt may widen all sums together by this share before a scene tests too little.
const MAX_DOUBTFUL: f64 = 0.3;

const PIPELINES: [Pipeline; 2] = [Pipeline::AUTO, Pipeline::VANILLA];

fn scene() -> (Gaussians, Camera) {
    (random_scene(83, 160, 0), odd_camera(61, 45, 0.4))
}

/// The three sums of every Gaussian, of a renderer and of a learner, with lists by ellipse and by
/// square; twice the same bits.
pub fn visibility_matches_the_twin(backend: &dyn Backend) -> Outcome {
    gather(PIPELINES.map(|pipeline| {
        let (scene, camera) = scene();
        let options = RenderOptions {
            pipeline,
            ..RenderOptions::default()
        };
        let mut renderer = backend.renderer(&scene).map_err(said)?;
        let got = renderer.visibility(&camera, &options).map_err(said)?;
        let again = renderer.visibility(&camera, &options).map_err(said)?;
        ensure(got == again, || {
            format!("{pipeline}: the same view has other sums")
        })?;
        let mut learner = backend
            .learner(&scene, Arc::new(Vec::new()))
            .map_err(said)?;
        let learned = learner.visibility(&camera, &options).map_err(said)?;
        let twin = visibility(&scene, &camera, &options);
        for (who, got) in [("renderer", &got), ("learner", &learned)] {
            compare(&format!("{pipeline}, {who}"), got, &twin)?;
        }
        let scalar = RenderOptions {
            pipeline: Pipeline {
                blend: splatcore_core::pipeline::Blend::Scalar,
                ..pipeline
            },
            ..options
        };
        let counts = renderer.counts(&camera, &scalar).map_err(said)?;
        let fragments = got.fragments.iter().sum::<u64>();
        ensure(counts.fragments_blended == Some(fragments), || {
            format!("{pipeline}: {fragments} fragments, {counts:?} counted")
        })
    }))
}

fn compare(
    what: &str,
    got: &Visibility,
    twin: &[crate::twin::visibility::TwinVisibility],
) -> Outcome {
    let (mut least, mut most) = (0.0, 0.0);
    for (i, twin) in twin.iter().enumerate() {
        let sums = [
            ("alpha T", got.weights[i], twin.weight),
            ("T", got.transmittances[i], twin.transmittance),
            ("1", got.fragments[i] as f64, twin.fragments),
        ];
        for (name, got, twin) in sums {
            ensure(is_between(got, twin), || {
                format!("{what}: the sum of {name} of Gaussian {i} is {got}, not {twin:?}")
            })?;
        }
        least += twin.transmittance.least;
        most += twin.transmittance.most;
    }
    ensure(most - least <= MAX_DOUBTFUL * least, || {
        format!("{what}: the scene tests little, T adds up to {least} to {most}")
    })
}

fn is_between(got: f64, twin: Between) -> bool {
    let margin = TOLERANCE * twin.most + FLOOR;
    got >= twin.least - margin && got <= twin.most + margin
}

/// The length of every tile's list, of a renderer and of a learner: at least what a pixel of the
/// tile surely sees, at most what touches the tile, and together the pairs of the frame.
pub fn tile_counts_match_the_twin(backend: &dyn Backend) -> Outcome {
    gather(PIPELINES.map(|pipeline| {
        let (scene, camera) = scene();
        let options = RenderOptions {
            pipeline,
            ..RenderOptions::default()
        };
        let mut renderer = backend.renderer(&scene).map_err(said)?;
        let mut learner = backend
            .learner(&scene, Arc::new(Vec::new()))
            .map_err(said)?;
        // A frame before leaves lists of its own.
        renderer.render(&camera, &options).map_err(said)?;
        let got = renderer.tile_counts(&camera, &options).map_err(said)?;
        let learned = learner.tile_counts(&camera, &options).map_err(said)?;
        ensure(got == learned, || {
            format!("{pipeline}: a learner's tiles are not a renderer's")
        })?;
        within_bounds(&got, &scene, &camera, &options)
            .map_err(|message| format!("{pipeline}: {message}"))?;
        let scalar = RenderOptions {
            pipeline: Pipeline {
                blend: splatcore_core::pipeline::Blend::Scalar,
                ..pipeline
            },
            ..options
        };
        let pairs = renderer.counts(&camera, &scalar).map_err(said)?.pairs;
        let sum = got.counts.iter().map(|&count| u64::from(count)).sum();
        ensure(pairs == sum, || {
            format!("{pipeline}: {sum} in the tiles, {pairs} pairs")
        })
    }))
}

fn within_bounds(
    got: &TileCounts,
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
) -> Outcome {
    let lists = |intersect| {
        let mut options = options.clone();
        options.pipeline.intersect = intersect;
        Lists::new(&Scene::from(scene), camera, &options, CutOffs::Reference).tiles
    };
    let seen = lists(Intersect::Exact);
    let touched = lists(match options.pipeline.intersect {
        // A backend may ask for the tile where this asks for its pixels' centres.
        Intersect::Exact => Intersect::Accutile,
        other => other,
    });
    ensure(got.tiles == [seen.columns, seen.rows], || {
        format!("{:?} tiles", got.tiles)
    })?;
    ensure(got.counts.len() == seen.lists.len(), || {
        format!("{} tiles", got.counts.len())
    })?;
    for (tile, &count) in got.counts.iter().enumerate() {
        let sure = |lists: &TileLists, k| {
            lists.lists[tile].contains(k) && !lists.doubtful[tile].contains(k)
        };
        let least = seen.lists[tile].iter();
        let least = least.filter(|k| sure(&seen, k) && sure(&touched, k));
        let barely = touched.doubtful[tile].iter();
        let barely = barely.filter(|k| !touched.lists[tile].contains(k));
        let range = least.count()..=touched.lists[tile].len() + barely.count();
        ensure(range.contains(&(count as usize)), || {
            format!("tile {tile} has {count} Gaussians, not {range:?}")
        })?;
    }
    let most: usize = touched.lists.iter().map(Vec::len).sum();
    let least: usize = seen.lists.iter().map(Vec::len).sum();
    ensure(3 * least > 2 * most, || {
        format!("the scene tests little: {least} seen, {most} touched")
    })
}

/// With an image gradient of 1, the gradient of a colour is the sum of alpha T. Colours in the
/// scene are not clamped, so the gradient of a degree-0 coefficient is that times C0.
pub fn weights_are_gradients_of_colours(backend: &dyn Backend) -> Outcome {
    let (mut scene, camera) = scene();
    for (i, colour) in scene.sh.iter_mut().enumerate() {
        *colour = [0.1 + 0.005 * i as f32; 3].map(sh::from_colour);
    }
    let options = RenderOptions {
        pipeline: Pipeline::VANILLA,
        ..RenderOptions::default()
    };
    let mut renderer = backend.renderer(&scene).map_err(said)?;
    let got = renderer.visibility(&camera, &options).map_err(said)?;
    let ones = Image::filled(camera.width, camera.height, [1.0; 3]);
    let gradients = renderer
        .gradients(&camera, &options, &ones.clone().into())
        .map_err(said)?;
    let mut seen = 0;
    for (i, (&weight, gradient)) in got.weights.iter().zip(&gradients.sh).enumerate() {
        let want = gradient[1] as f64 / sh::C0;
        seen += usize::from(want > 0.0);
        // The same fragments in f32, added up in another order.
        ensure((weight - want).abs() <= 2e-6 * want + FLOOR, || {
            format!("the sum of alpha T of Gaussian {i} is {weight}, its gradient says {want}")
        })?;
    }
    ensure(seen > 100, || format!("only {seen} Gaussians are seen"))
}
