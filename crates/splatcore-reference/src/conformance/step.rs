//! One training step against the twin: gradients through Adam's moments, the update, statistics,
//! regularisers, masks and noise.

use super::bits::{bits, state_bits};
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{plain_camera, random_scene, views};
use crate::twin::colour::Look;
use crate::twin::intersect::in_view;
use crate::twin::{self, CutOffs, Group, Lists, Scene, adam, colour, depth_loss, loss, sky};
use rayon::prelude::*;
use splatcore_core::backend::{
    Backend, BackendError, LearnerState, LearningRates, RenderOptions, Statistic, StepPlan,
};
use splatcore_core::columns::Column;
use splatcore_core::{Gaussians, IntrinsicsGradient, Learner, Pipeline, View};
use std::sync::Arc;

/// The bound of docs/conventions.md for f32. Here pixels near a cut-off cannot be left out;
/// measured on the CPU: 3e-6.
pub(super) const GRADIENT_TOLERANCE: f64 = 1e-4;

/// Further than a few steps move an image.
const NEAR: f64 = 0.06;

/// A plain step: INRIA's rates, no regulariser, no noise, statistics on.
pub fn plan(pipeline: Pipeline, step: u32, view: usize) -> StepPlan {
    let render = RenderOptions {
        pipeline,
        background: [0.13, 0.57, 0.31],
        ..RenderOptions::default()
    };
    StepPlan {
        rates: LearningRates {
            means: 1.6e-4,
            log_scales: 5e-3,
            rotations: 1e-3,
            opacity_logits: 2.5e-2,
            sh_base: 2.5e-3,
            sh_rest: 1.25e-4,
        },
        statistics: Some(Statistic::Mean),
        seed: 9,
        ..StepPlan::of(step, vec![view], render)
    }
}

/// The twin's account of a step.
pub(super) struct TwinStep {
    pub(super) loss: f64,
    pub(super) gradient: Scene,
    /// Of the numbers of the view's photo and camera; none if the plan learns none.
    pub(super) colour: [Vec<f64>; 2],
    /// Of the sky's.
    pub(super) sky: Vec<f64>,
    pub(super) ndc_norms: Vec<f64>,
    pub(super) absolute_norms: Vec<f64>,
    pub(super) in_view: Vec<Option<bool>>,
    pub(super) intrinsics: IntrinsicsGradient,
}

pub(super) fn twin_step(state: &LearnerState, view: &View, plan: &StepPlan) -> TwinStep {
    let scene = &Scene::from(&state.gaussians);
    let filters: Vec<f64> = state
        .columns
        .values(Column::Filter)
        .iter()
        .map(|&f| f as f64)
        .collect();
    let smooth = twin::smoothing::smooth(scene, &filters);
    let (camera, render) = (&view.camera, &sky::of_step(state, plan));
    let frame = twin::render_scene(&smooth, camera, render, CutOffs::Reference);
    // Through the view's colour model; views here are of different sizes, each of its own camera.
    let size = [camera.width, camera.height];
    let look = plan.colour.map(|colour| {
        let rows = (plan.views[0], plan.views[0]);
        Look::of(colour.model, &state.colours, rows, size)
    });
    let seen = match &look {
        Some(look) => &colour::apply(&frame.image, look),
        None => &frame.image,
    };
    let loss = loss::loss(seen, &view.photo, plan.ssim_weight as f64);
    let (image_gradient, colour) = match &look {
        Some(look) => colour::backward(&frame.image, look, &loss.gradient),
        None => (loss.gradient, Default::default()),
    };
    let sky = sky::backward(camera, &frame.transmittance, &image_gradient);
    let mut gradients =
        twin::gradients_scene(&smooth, camera, render, CutOffs::Reference, &image_gradient);
    let mut value = loss.value;
    if let (Some(guide), Some(map)) = (&plan.depth, &view.photo.depth) {
        let (of_depth, by_pixel) = depth_loss::depth_loss(guide, map, &frame, camera);
        let lists = Lists::new(&smooth, camera, render, CutOffs::Reference);
        let more = lists.depth_gradients(&smooth, &mut |i, _| by_pixel[i]);
        value += of_depth;
        gradients.scene.add(&more);
    }
    twin::smoothing::smooth_backward(scene, &filters, &mut gradients.scene);
    let (opacity, scale) = (
        plan.opacity_regulariser as f64,
        plan.scale_regulariser as f64,
    );
    adam::regularise(scene, opacity, scale, &mut gradients.scene);
    TwinStep {
        loss: value,
        gradient: gradients.scene,
        colour,
        sky,
        ndc_norms: gradients.ndc_norms,
        absolute_norms: gradients.absolute_norms,
        in_view: frame.in_view,
        intrinsics: gradients.intrinsics,
    }
}

/// The gradient that a step used, from the first moments before and after it.
pub(super) fn gradient_of(before: &LearnerState, after: &LearnerState, beta: f64) -> Scene {
    let (old, new) = (Scene::from(&before.first), Scene::from(&after.first));
    let mut gradient = new.clone();
    for group in Group::ALL {
        let moments = old.group(group).into_iter().zip(new.group(group));
        for (slot, (old, new)) in gradient.group_mut(group).into_iter().zip(moments) {
            *slot = (new - beta * old) / (1.0 - beta);
        }
    }
    gradient
}

/// Moments and parameters after a step follow from those before it and the gradient, number by
/// number.
pub(super) fn adam_was_applied(
    what: &str,
    before: &LearnerState,
    after: &LearnerState,
    plan: &StepPlan,
) -> Outcome {
    let wide = |g| Scene::from(g);
    let gradient = gradient_of(before, after, plan.betas[0]);
    let beta = plan.betas[1];
    let (old, new) = (wide(&before.gaussians), wide(&after.gaussians));
    let (first, old_second, second) = (
        wide(&after.first),
        wide(&before.second),
        wide(&after.second),
    );
    for group in Group::ALL {
        let rate = adam::rate_of(&plan.rates, group);
        let (old, new, gradient) = (old.group(group), new.group(group), gradient.group(group));
        let (first, old_second, second) = (
            first.group(group),
            old_second.group(group),
            second.group(group),
        );
        let expected: Vec<f64> = (0..gradient.len())
            .map(|k| beta * old_second[k] + (1.0 - beta) * gradient[k] * gradient[k])
            .collect();
        // 1 - 0.999 is 1.3e-5 off in f32.
        compare::vectors(
            &format!("{what}, second moment of {group:?}"),
            &expected,
            &second,
            0.0,
            1e-4,
        )?;
        for k in 0..new.len() {
            let corrected = adam::step_of_correction(plan);
            let want = old[k] + adam::update(first[k], second[k], rate, corrected);
            let allowed = 1e-4 * rate + 2e-7 * want.abs();
            ensure((new[k] - want).abs() <= allowed, || {
                format!(
                    "{what}: number {k} of {group:?} went from {} to {}; with its moments Adam \
                     makes {want}",
                    old[k], new[k]
                )
            })?;
        }
    }
    Ok(())
}

/// Relative: an image in halves is off by about 1e-4 a pixel, either way.
pub(super) fn loss_tolerance(backend: &dyn Backend, pipeline: Pipeline) -> f64 {
    match backend.gradient_tolerance(pipeline) > GRADIENT_TOLERANCE {
        true => 1e-4,
        false => 1e-5,
    }
}

pub(super) type LearnerAndViews = (Box<dyn Learner>, Arc<Vec<View>>);

/// A scene, and photos to learn from that its first images come nowhere near, as L1's gradient
/// changes sign where they are equal, and backends of few digits are on the other side there.
pub(super) fn scene_and_views(seed: u64) -> (Gaussians, Arc<Vec<View>>) {
    scene_and(seed, views())
}

/// The same with these views.
pub(super) fn scene_and(seed: u64, mut views: Vec<View>) -> (Gaussians, Arc<Vec<View>>) {
    let scene = random_scene(seed, 180, 2);
    views.par_iter_mut().enumerate().for_each(|(index, view)| {
        let images = [0, 1, 2].map(|degree| {
            let mut options = plan(Pipeline::AUTO, 1, index).render;
            options.sh_degree = degree;
            twin::render(&scene, &view.camera, &options).image
        });
        for (k, byte) in view.photo.rgb.iter_mut().enumerate() {
            keep_away(byte, &images.each_ref().map(|image| image[k / 3][k % 3]));
        }
    });
    (scene, Arc::new(views))
}

/// Moves a photo's value away from all between these.
pub(super) fn keep_away(byte: &mut u8, values: &[f64]) {
    let (least, most) = (
        values.iter().fold(f64::MAX, |a, &b| a.min(b)),
        values.iter().fold(f64::MIN, |a, &b| a.max(b)),
    );
    let value = *byte as f64 / 255.0;
    if value > least - NEAR && value < most + NEAR {
        let moved = if most + NEAR <= 1.0 {
            most + NEAR
        } else {
            least - NEAR
        };
        *byte = (255.0 * moved).round().clamp(0.0, 255.0) as u8;
    }
}

/// A learner at its start, and what it learns from.
fn learner_and_views(backend: &dyn Backend, seed: u64) -> Result<LearnerAndViews, String> {
    let (scene, views) = scene_and_views(seed);
    let learner = backend.learner(&scene, views.clone()).map_err(said)?;
    Ok((learner, views))
}

/// Gradient, loss, moments and parameters of several steps on several views, one of them masked.
pub fn a_step_matches_the_twin(backend: &dyn Backend) -> Outcome {
    steps_match_the_twin(backend, None)
}

/// With a filter for each of so many Gaussians: antialiased, 2D and 3D.
pub(super) fn steps_match_the_twin(
    backend: &dyn Backend,
    filters: Option<fn(usize) -> Vec<f32>>,
) -> Outcome {
    steps_match_the_twin_with(backend, filters, &scene_and_views(51))
}

/// The same of a scene and views.
pub(super) fn steps_match_the_twin_with(
    backend: &dyn Backend,
    filters: Option<fn(usize) -> Vec<f32>>,
    (scene, views): &(Gaussians, Arc<Vec<View>>),
) -> Outcome {
    gather([Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| {
        let learner = backend.learner(scene, views.clone()).map_err(said)?;
        steps_of_pipeline(backend, pipeline, filters, (learner, views.clone()))
    }))
}

fn steps_of_pipeline(
    backend: &dyn Backend,
    pipeline: Pipeline,
    filters: Option<fn(usize) -> Vec<f32>>,
    (mut learner, views): LearnerAndViews,
) -> Outcome {
    let mut before = learner.snapshot().map_err(said)?;
    if let Some(filters) = filters {
        let filters = filters(before.gaussians.len());
        before.columns.set(Column::Filter, filters);
        learner.restore(&before).map_err(said)?;
    }
    for (step, view) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
        let mut plan = plan(pipeline, step, view);
        // The ramp of degrees: coefficients that are not in use must stay as they are.
        plan.render.sh_degree = step.min(2) as u8 - 1;
        plan.render.antialias = filters.is_some();
        plan.bias_correction = step < 4;
        learner.step(&plan).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        let twin = twin_step(&before, &views[view], &plan);
        let what = format!("step {step}, {pipeline}");
        let got = gradient_of(&before, &after, plan.betas[0]);
        // What is left of old moments in f32 is not a gradient: only groups are compared, not rows.
        for group in Group::ALL {
            let (want, got) = (twin.gradient.group(group), got.group(group));
            compare::vectors(
                &format!("{what}, gradient of {group:?}"),
                &want,
                &got,
                0.0,
                backend.gradient_tolerance(pipeline),
            )?;
        }
        let loss = learner.last_loss().map_err(said)?;
        ensure(
            (loss - twin.loss).abs() <= loss_tolerance(backend, pipeline) * twin.loss,
            || format!("{what}: loss {loss}, the twin has {}", twin.loss),
        )?;
        adam_was_applied(&what, &before, &after, &plan)?;
        before = after;
    }
    Ok(())
}

/// Sum of NDC gradient norms, of either kind, and times seen, over steps; without `statistics` they
/// stay. A pipeline may refuse the absolute kind; [`Pipeline::AUTO`] may not.
pub fn statistics_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    let kinds = [Statistic::Mean, Statistic::Absolute];
    let (scene, views) = scene_and_views(52);
    for (pipeline, kind) in pipelines
        .into_iter()
        .flat_map(|p| kinds.map(|kind| (p, kind)))
    {
        let (mut refused, mut absolutely_more) = (false, false);
        let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
        let n = learner.count();
        let (mut sums, mut seen, mut doubtful) = (vec![0.0; n], vec![0u32; n], vec![false; n]);
        for (step, view) in [(1, 0), (2, 1), (3, 2)] {
            let mut plan = plan(pipeline, step, view);
            plan.statistics = Some(kind);
            let state = learner.snapshot().map_err(said)?;
            let twin = twin_step(&state, &views[view], &plan);
            match learner.step(&plan) {
                Err(BackendError::Unsupported { .. })
                    if kind == Statistic::Absolute && pipeline != Pipeline::AUTO =>
                {
                    refused = true;
                    break;
                }
                taken => taken.map_err(said)?,
            }
            for i in 0..n {
                doubtful[i] |= twin.in_view[i].is_none();
                if twin.in_view[i] == Some(true) {
                    sums[i] += match kind {
                        Statistic::Mean => twin.ndc_norms[i],
                        Statistic::Absolute => twin.absolute_norms[i],
                    };
                    absolutely_more |= twin.absolute_norms[i] > 1.5 * twin.ndc_norms[i];
                    seen[i] += 1;
                }
            }
        }
        if refused {
            continue;
        }
        ensure(absolutely_more, || {
            "the scene tests nothing: nowhere do tiles pull against each other".into()
        })?;
        let state = learner.snapshot().map_err(said)?;
        ensure(seen.contains(&0) && seen.contains(&3), || {
            "the scene tests nothing: all Gaussians are seen alike".into()
        })?;
        for i in (0..n).filter(|&i| !doubtful[i]) {
            ensure(state.seen[i] == seen[i], || {
                format!(
                    "{pipeline}: Gaussian {i} was seen {} times, the twin saw it {} times",
                    state.seen[i], seen[i]
                )
            })?;
        }
        let got: Vec<f64> = state.gradient_sum.iter().map(|&v| v as f64).collect();
        compare::vectors(
            &format!("{pipeline}, sums of NDC gradient norms, {kind:?}"),
            &sums,
            &got,
            0.0,
            backend.gradient_tolerance(pipeline),
        )?;
        let mut quiet = plan(pipeline, 4, 0);
        quiet.statistics = None;
        learner.step(&quiet).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        ensure(
            after.seen == state.seen && after.gradient_sum == state.gradient_sum,
            || format!("{pipeline}: statistics were collected though not asked for"),
        )?;
    }
    Ok(())
}

/// A nearly opaque Gaussian just outside the image: its 3-sigma square misses the tiles, so it does
/// not count as in view, but `exact` blends its rim and gives it a gradient. The statistic must
/// leave it out, or its mean would be off.
pub fn a_rim_is_not_in_view(backend: &dyn Backend) -> Outcome {
    let mut view = views().swap_remove(0);
    view.camera = plain_camera(view.photo.width, view.photo.height);
    let plan = plan(Pipeline::AUTO, 1, 0);
    let found = (0..400).find_map(|k| {
        let mut scene = random_scene(56, 1, 0);
        scene.means[0] = [-2.0 - 0.02 * k as f32, 0.0, 0.0];
        scene.log_scales[0] = [-0.5; 3];
        scene.opacity_logits[0] = 6.0;
        // Most places are out on this alone.
        let splats = twin::visible_splats(&Scene::from(&scene), &view.camera, &plan.render);
        let outside = splats
            .iter()
            .all(|splat| in_view(splat, &view.camera) == Some(false));
        if !outside {
            return None;
        }
        let twin = twin_step(&LearnerState::fresh(scene.clone()), &view, &plan);
        (twin.in_view[0] == Some(false) && twin.ndc_norms[0] > 0.0).then_some(scene)
    });
    let scene = found.ok_or("the scene tests nothing: no such place was found")?;
    let mut learner = backend
        .learner(&scene, Arc::new(vec![view]))
        .map_err(said)?;
    learner.step(&plan).map_err(said)?;
    let state = learner.snapshot().map_err(said)?;
    ensure(state.seen[0] == 0 && state.gradient_sum[0] == 0.0, || {
        format!(
            "a Gaussian whose 3-sigma square misses the image counts: seen {}, sum {}",
            state.seen[0], state.gradient_sum[0]
        )
    })
}

/// MCMC's two regularisers, on Gaussians in view and out of it.
pub fn regularisers_match_the_twin(backend: &dyn Backend) -> Outcome {
    let (mut learner, views) = learner_and_views(backend, 53)?;
    let before = learner.snapshot().map_err(said)?;
    let mut plan = plan(Pipeline::AUTO, 1, 1);
    // Large enough to be seen beside the loss's gradients.
    (plan.opacity_regulariser, plan.scale_regulariser) = (0.5, 0.7);
    learner.step(&plan).map_err(said)?;
    let after = learner.snapshot().map_err(said)?;
    let twin = twin_step(&before, &views[1], &plan);
    let got = gradient_of(&before, &after, plan.betas[0]);
    compare::gradients(
        "regularised step",
        &twin.gradient,
        &got,
        &|_| backend.gradient_tolerance(Pipeline::AUTO),
        false,
    )?;
    let out_of_view = twin.in_view.iter().position(|&seen| seen == Some(false));
    let i = out_of_view.ok_or("the scene tests nothing: all Gaussians are in view")?;
    ensure(
        got.opacity_logits[i] > 0.0 && got.log_scales[i].iter().all(|&g| g > 0.0),
        || format!("Gaussian {i} is out of view and was not regularised"),
    )
}

/// Noise moves means only, by what the twin says, and the same way every time; none means none.
pub fn noise_matches_the_twin(backend: &dyn Backend) -> Outcome {
    let mut scene = random_scene(55, 150, 0);
    for (i, logit) in scene.opacity_logits.iter_mut().enumerate() {
        // The gate opens below an opacity of 0.05.
        *logit = if i % 2 == 0 { -5.5 } else { 0.5 };
    }
    let views = Arc::new(views());
    let step = |noise: Option<f32>, step: u32| -> Result<LearnerState, String> {
        let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
        let mut plan = plan(Pipeline::AUTO, step, 0);
        plan.noise = noise;
        learner.step(&plan).map_err(said)?;
        learner.snapshot().map_err(said)
    };
    let (still, moved) = (step(None, 1)?, step(Some(5.0), 1)?);
    ensure(
        state_bits(&moved) == state_bits(&step(Some(5.0), 1)?),
        || "noise differs between two equal runs".into(),
    )?;
    ensure(
        bits(&step(None, 1)?.gaussians) == bits(&still.gaussians),
        || "steps without noise differ".into(),
    )?;
    let mut back = moved.clone();
    back.gaussians.means = still.gaussians.means.clone();
    ensure(state_bits(&back) == state_bits(&still), || {
        "noise changed something besides the means".into()
    })?;
    let updated = Scene::from(&still.gaussians);
    let (mut want, mut got) = (Vec::new(), Vec::new());
    for i in 0..scene.len() {
        let mean = updated.means[i];
        want.extend(adam::exploration(&updated, i, 5.0, 9, 1));
        got.extend((0..3).map(|k| moved.gaussians.means[i][k] as f64 - mean[k]));
    }
    compare::vectors("noise", &want, &got, 0.0, 1e-4)?;
    let opaque = 3..6;
    ensure(
        compare::norm(&want[opaque]) < 1e-9 && compare::norm(&want) > 1e-2,
        || "the scene tests nothing: the gate does not open and close".into(),
    )
}
