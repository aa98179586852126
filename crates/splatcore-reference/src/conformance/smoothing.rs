//! Mip-Splatting's 3D filter: what it is for each Gaussian, images, gradients and steps through it,
//! and what becomes of it when Gaussians change.

use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{odd_camera, random_scene, views};
use super::step::steps_match_the_twin;
use crate::twin::{self, CutOffs, Scene};
use splatcore_core::backend::{Backend, Refine, RenderOptions};
use splatcore_core::columns::Column;
use splatcore_core::columns::smoothing::{Sampler, filter, fuse};
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Image, Learner, Pipeline, View};
use std::sync::Arc;

/// Relative to the filter: f32 knows means and depths to 1e-6.
const FILTER_TOLERANCE: f32 = 1e-5;

/// A learner, its Gaussians and its cameras.
type Subject = (Box<dyn Learner>, Gaussians, Vec<Camera>);

/// The cameras of [`views`], and Gaussians of which some are seen by none of them.
fn learner(backend: &dyn Backend) -> Result<Subject, String> {
    learner_of(backend, views())
}

fn learner_of(backend: &dyn Backend, views: Vec<View>) -> Result<Subject, String> {
    let views = Arc::new(views);
    let mut scene = random_scene(71, 200, 1);
    for (i, mean) in scene
        .means
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| i % 9 == 4)
    {
        *mean = [40.0 + i as f32, -70.0, 3.0];
    }
    let cameras = views.iter().map(|view| view.camera.clone()).collect();
    let learner = backend.learner(&scene, views).map_err(said)?;
    Ok((learner, scene, cameras))
}

/// Each Gaussian's filter is that of the finest camera that sees it, and stays until it is computed
/// again.
pub fn filters_follow_the_cameras(backend: &dyn Backend) -> Outcome {
    filters_follow(backend, views())
}

/// The same of these views.
pub(super) fn filters_follow(backend: &dyn Backend, views: Vec<View>) -> Outcome {
    let (mut learner, scene, cameras) = learner_of(backend, views)?;
    let cameras: Vec<Sampler> = cameras.iter().map(Sampler::new).collect();
    let state = learner.snapshot().map_err(said)?;
    ensure(!state.columns.has(Column::Filter), || {
        "a fresh learner has a filter".into()
    })?;
    let report = learner
        .refine(&Refine::ComputeColumn(Column::Filter))
        .map_err(said)?;
    ensure(report.count == scene.len(), || format!("{report:?}"))?;
    let state = learner.snapshot().map_err(said)?;
    ensure(state.gaussians == scene, || {
        "computing filters changed parameters".into()
    })?;
    let filters = state.columns.values(Column::Filter);
    ensure(filters.len() == scene.len(), || {
        format!("{} filters of {} Gaussians", filters.len(), scene.len())
    })?;
    let mut kinds = [0; 3];
    for (i, &got) in filters.iter().enumerate() {
        // Where roundings decide whether a camera sees it, either will do.
        let near = |shift: f32| filter(scene.means[i].map(|v| v * (1.0 + shift)), &cameras);
        let wanted = [0.0, 1e-5, -1e-5].map(near);
        ensure(
            wanted
                .iter()
                .any(|want| (got - want).abs() <= 2.0 * FILTER_TOLERANCE),
            || {
                format!(
                    "the filter of Gaussian {i} is {got}, {} is right",
                    wanted[0]
                )
            },
        )?;
        let finest = (0..3).find(|&k| filter(scene.means[i], &cameras[k..=k]) == wanted[0]);
        kinds[finest.unwrap_or(0)] += 1;
    }
    ensure(kinds.iter().all(|&count| count > 3), || {
        format!("the cameras test too little: finest of {kinds:?} Gaussians")
    })
}

/// Filters from much finer to much coarser than the Gaussians.
fn some_filters(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| [-5.0, -2.2, -1.6, -0.9][i % 4])
        .collect()
}

/// A learner renders and differentiates through its filters as the twin does, with the 2D filter
/// and without; the scene that it gives away looks the same.
pub fn filtered_pictures_match_the_twin(backend: &dyn Backend) -> Outcome {
    let (mut learner, scene, _) = learner(backend)?;
    let mut state = learner.snapshot().map_err(said)?;
    state.columns.set(Column::Filter, some_filters(scene.len()));
    learner.restore(&state).map_err(said)?;
    let wide = Scene::from(&scene);
    let filters: Vec<f64> = state
        .columns
        .values(Column::Filter)
        .iter()
        .map(|&f| f as f64)
        .collect();
    let smooth = twin::smoothing::smooth(&wide, &filters);
    let camera = odd_camera(70, 50, 0.3);
    let fused = learner.scene().map_err(said)?;
    ensure(
        fused == fuse(scene.clone(), state.columns.values(Column::Filter)),
        || "the scene is not the one with the filters in scales and opacities".into(),
    )?;
    let mut plain = backend.renderer(&fused).map_err(said)?;
    gather([true, false].map(|antialias| {
        let options = RenderOptions {
            // In f32, so that what the filter does is all there is to see.
            pipeline: Pipeline {
                blend: Blend::Scalar,
                backward: Backward::Atomic,
                ..Pipeline::AUTO
            },
            antialias,
            background: [0.2, 0.1, 0.4],
            ..RenderOptions::default()
        };
        let what = format!("filtered, antialias {antialias}");
        let twin = twin::render_scene(&smooth, &camera, &options, CutOffs::Reference);
        let own = twin::render(&scene, &camera, &options);
        ensure(twin.image != own.image, || {
            format!("{what}: the filter does nothing")
        })?;
        let rendered = learner.render(&camera, &options).map_err(said)?;
        compare::frames(&what, &twin, &rendered, 2e-5)?;
        let fused = plain.render(&camera, &options).map_err(said)?;
        compare::frames(&format!("{what}, as a scene"), &twin, &fused, 2e-5)?;

        let mut rng = Rng::new(18, 94);
        let data: Vec<[f32; 3]> = twin
            .doubts
            .iter()
            .map(|doubt| [0; 3].map(|_| if doubt.any { 0.0 } else { rng.normal() }))
            .collect();
        let image = Image {
            width: camera.width,
            height: camera.height,
            data,
        };
        let wanted: Vec<[f64; 3]> = image.data.iter().map(|g| g.map(f64::from)).collect();
        let mut exact =
            twin::gradients_scene(&smooth, &camera, &options, CutOffs::Reference, &wanted).scene;
        twin::smoothing::smooth_backward(&wide, &filters, &mut exact);
        let got = learner
            .gradients(&camera, &options, &image.clone().into())
            .map_err(said)?;
        let tolerance = backend.gradient_tolerance(options.pipeline);
        compare::gradients(&what, &exact, &Scene::from(&got), &|_| tolerance, false)
    }))
}

/// Steps through both filters.
pub fn an_antialiased_step_matches_the_twin(backend: &dyn Backend) -> Outcome {
    steps_match_the_twin(backend, Some(some_filters))
}
