//! Colour models: a step through a photo's and a camera's own numbers against the twin, and that
//! nobody else notices.

use super::bits::{bits, state_bits};
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{random_scene, views};
use super::step::{LearnerAndViews, gradient_of, keep_away, loss_tolerance, plan, twin_step};
use crate::twin::colour::{Look, apply};
use crate::twin::{self, Group, colour};
use splatcore_core::backend::{Backend, LearnerState, Refine, StepPlan};
use splatcore_core::colour::{ColourModel, ColourPlan, ColourState, ColourTable};
use splatcore_core::random::Rng;
use splatcore_core::{Learner, Pipeline};
use std::sync::Arc;

/// Numbers in mid-training: none at the start among them, moments and counts all different. Each
/// view has a camera of its own.
pub(super) fn colours(model: ColourModel, seed: u64, count: usize) -> ColourState {
    let mut rng = Rng::new(seed, 93);
    let mut table = |start: &[f32]| {
        let mut table = ColourTable::fresh(count, start);
        let mut spread = |numbers: &mut [f32], size: f32| {
            numbers.iter_mut().for_each(|n| *n += size * rng.normal());
        };
        spread(&mut table.parameters, 0.15);
        spread(&mut table.first, 1e-3);
        spread(&mut table.second, 1e-3);
        table.second.iter_mut().for_each(|v| *v *= *v);
        let seen = table.seen.iter_mut().enumerate();
        seen.for_each(|(row, seen)| *seen = 5 * row as u32);
        table
    };
    let entry = model.entry();
    ColourState {
        model: Some(model),
        photos: table(entry.photo),
        cameras: table(entry.camera),
    }
}

/// A step that learns a model.
fn coloured(model: ColourModel, pipeline: Pipeline, step: u32, view: usize) -> StepPlan {
    let mut plan = plan(pipeline, step, view);
    plan.colour = Some(ColourPlan {
        model,
        photo_rate: 0.01 / step as f32,
        camera_rate: 0.02 / step as f32,
    });
    plan
}

/// A learner with such numbers, and what it learns from: photos that its first images, as the model
/// shows them, come nowhere near, as in [`super::step::scene_and_views`].
fn learner(
    backend: &dyn Backend,
    model: ColourModel,
    seed: u64,
) -> Result<LearnerAndViews, String> {
    let mut views = views();
    let scene = random_scene(seed, 150, 1);
    let colours = colours(model, seed, views.len());
    for (index, view) in views.iter_mut().enumerate() {
        let image =
            twin::render(&scene, &view.camera, &plan(Pipeline::AUTO, 1, index).render).image;
        let size = [view.camera.width, view.camera.height];
        let seen = apply(&image, &Look::of(model, &colours, (index, index), size));
        for (byte, value) in view.photo.rgb.iter_mut().zip(seen.as_flattened()) {
            keep_away(byte, &[*value]);
        }
    }
    let views = Arc::new(views);
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    let mut state = LearnerState::fresh(scene);
    state.colours = colours;
    learner.restore(&state).map_err(said)?;
    Ok((learner, views))
}

/// Loss, gradients of the scene and of all numbers, their update; on several views, one of them
/// masked. What the gauge does not move of other views stays.
pub fn colour_models_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    let all = |model| pipelines.map(|pipeline| coloured_steps(backend, model, pipeline));
    gather(ColourModel::ALL.into_iter().flat_map(all))
}

fn coloured_steps(backend: &dyn Backend, model: ColourModel, pipeline: Pipeline) -> Outcome {
    let tolerance = backend.gradient_tolerance(pipeline);
    let (mut learner, views) = learner(backend, model, 61)?;
    let mut before = learner.snapshot().map_err(said)?;
    for (step, view) in [(1, 0), (2, 1), (3, 2), (4, 1)] {
        let plan = coloured(model, pipeline, step, view);
        learner.step(&plan).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        let twin = twin_step(&before, &views[view], &plan);
        let what = format!("{model}, step {step}, {pipeline}");
        let loss = learner.last_loss().map_err(said)?;
        let allowed = loss_tolerance(backend, pipeline) * twin.loss;
        ensure((loss - twin.loss).abs() <= allowed, || {
            format!("{what}: loss {loss}, the twin has {}", twin.loss)
        })?;
        let got = gradient_of(&before, &after, plan.betas[0]);
        for group in Group::ALL {
            let (want, got) = (twin.gradient.group(group), got.group(group));
            let what = format!("{what}, gradient of {group:?}");
            compare::vectors(&what, &want, &got, 0.0, tolerance)?;
        }
        let plan = plan.colour.ok_or("a plan without a model")?;
        let want = colour::step(&before.colours, (view, view), &twin.colour, &plan);
        same_colours(&what, &want, &after.colours, tolerance)?;
        for (name, old, want, got) in [
            (
                "photos",
                &before.colours.photos,
                &want.photos,
                &after.colours.photos,
            ),
            (
                "cameras",
                &before.colours.cameras,
                &want.cameras,
                &after.colours.cameras,
            ),
        ] {
            let moved = |new: &ColourTable| -> Vec<f64> {
                let pairs = new.parameters.iter().zip(&old.parameters);
                pairs.map(|(new, old)| f64::from(new - old)).collect()
            };
            // A difference of numbers about 1 in f32 is 1e-7 off beside a movement of 1e-3.
            let what = format!("{what}, movement of the {name}");
            compare::vectors(&what, &moved(want), &moved(got), 0.0, tolerance.max(1e-3))?;
        }
        before = after;
    }
    Ok(())
}

/// Whether numbers, moments and counts are the same but for roundings.
pub(super) fn same_colours(
    what: &str,
    want: &ColourState,
    got: &ColourState,
    tolerance: f64,
) -> Outcome {
    let wide = |numbers: &[f32]| -> Vec<f64> { numbers.iter().map(|&n| n.into()).collect() };
    for (name, want, got) in [
        ("photos", &want.photos, &got.photos),
        ("cameras", &want.cameras, &got.cameras),
    ] {
        ensure(want.seen == got.seen, || {
            format!("{what}: {name} were counted {:?} times", got.seen)
        })?;
        for (part, want, got) in [
            ("numbers", &want.parameters, &got.parameters),
            ("first moments", &want.first, &got.first),
            ("second moments", &want.second, &got.second),
        ] {
            let what = format!("{what}, {part} of the {name}");
            compare::vectors(&what, &wide(want), &wide(got), 0.0, tolerance)?;
        }
    }
    Ok(())
}

/// Steps that learn no model are the same bits whatever numbers there are, and leave them alone;
/// the first that learns one finds every number at its start.
pub fn no_colour_model_leaves_no_trace(backend: &dyn Backend) -> Outcome {
    let affine = ColourModel::Affine;
    let run = |colours: ColourState| -> Result<LearnerState, String> {
        let scene = random_scene(62, 150, 1);
        let mut learner = backend.learner(&scene, Arc::new(views())).map_err(said)?;
        let mut state = LearnerState::fresh(scene);
        state.colours = colours;
        learner.restore(&state).map_err(said)?;
        for step in 1..=3 {
            let plan = plan(Pipeline::AUTO, step, step as usize % 3);
            learner.step(&plan).map_err(said)?;
        }
        learner.snapshot().map_err(said)
    };
    let (plain, held) = (run(ColourState::default())?, run(colours(affine, 62, 3))?);
    ensure(plain.colours.is_empty(), || {
        "steps that learn no colour model have made numbers".into()
    })?;
    ensure(held.colours == colours(affine, 62, 3), || {
        "steps that learn no colour model have changed numbers".into()
    })?;
    ensure(bits(&held.gaussians) == bits(&plain.gaussians), || {
        "numbers change a step that does not learn them".into()
    })?;
    gather(ColourModel::ALL.map(|model| starts_fresh(backend, model)))
}

fn starts_fresh(backend: &dyn Backend, model: ColourModel) -> Outcome {
    let (scene, views) = (random_scene(62, 150, 1), Arc::new(views()));
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    let plan = coloured(model, Pipeline::AUTO, 1, 1);
    learner.step(&plan).map_err(said)?;
    let state = learner.snapshot().map_err(said)?;
    let mut start = LearnerState::fresh(scene);
    start.colours = ColourState::fresh(model, views.len(), views.len());
    let twin = twin_step(&start, &views[1], &plan);
    let loss = learner.last_loss().map_err(said)?;
    let allowed = loss_tolerance(backend, Pipeline::AUTO) * twin.loss;
    ensure((loss - twin.loss).abs() <= allowed, || {
        format!(
            "first step of {model}: loss {loss}, the twin has {}",
            twin.loss
        )
    })?;
    let plan = plan.colour.ok_or("a plan without a model")?;
    let want = colour::step(&start.colours, (1, 1), &twin.colour, &plan);
    let what = format!("after the first step of {model} on view 1");
    // Adam's first step is the rate by the gradient's sign, which is rounding where that is small.
    same_colours(&what, &want, &state.colours, 1e-2)?;
    let listed = learner.colours().map_err(said)?;
    ensure(listed == state.colours, || {
        "`colours` and the snapshot disagree".into()
    })
}

/// Snapshot, go on; restore into another learner, go on: the same bits.
pub fn colour_models_go_on_bit_for_bit(backend: &dyn Backend) -> Outcome {
    gather(ColourModel::ALL.map(|model| goes_on(backend, model)))
}

fn goes_on(backend: &dyn Backend, model: ColourModel) -> Outcome {
    let go_on = |learner: &mut dyn Learner, from: u32| -> Result<Vec<u32>, String> {
        for step in from..from + 5 {
            let plan = coloured(model, Pipeline::AUTO, step, step as usize % 3);
            learner.step(&plan).map_err(said)?;
        }
        let refine = Refine::ResetOpacity { ceiling: 0.3 };
        learner.refine(&refine).map_err(said)?;
        Ok(state_bits(&learner.snapshot().map_err(said)?))
    };
    let (mut first, views) = learner(backend, model, 63)?;
    go_on(first.as_mut(), 1)?;
    let snapshot = first.snapshot().map_err(said)?;
    let straight_on = go_on(first.as_mut(), 6)?;
    let mut second = backend
        .learner(&random_scene(64, 40, 1), views.clone())
        .map_err(said)?;
    second.restore(&snapshot).map_err(said)?;
    ensure(go_on(second.as_mut(), 6)? == straight_on, || {
        format!("{model}: training goes on differently after a restore")
    })?;
    // A snapshot without any takes them away again.
    let mut plain = snapshot.clone();
    plain.colours = ColourState::default();
    second.restore(&plain).map_err(said)?;
    let found = second.snapshot().map_err(said)?;
    ensure(found.colours.is_empty(), || {
        format!("{model}: numbers outlive a snapshot that has none")
    })?;
    let whole = colours(model, 1, views.len());
    let mut short = whole.clone();
    short.photos.seen = vec![0];
    for wrong in [colours(model, 1, views.len() + 1), short] {
        let state = LearnerState {
            colours: wrong,
            ..snapshot.clone()
        };
        ensure(second.restore(&state).is_err(), || {
            format!("{model}: numbers of another number of views are accepted")
        })?;
    }
    Ok(())
}
