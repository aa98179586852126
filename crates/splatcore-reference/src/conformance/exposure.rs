//! Exposures: a step through a photo's own transform against the twin, and that nobody else
//! notices.

use super::bits::{bits, state_bits};
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{random_scene, views};
use super::step::{LearnerAndViews, gradient_of, keep_away, loss_tolerance, plan, twin_step};
use crate::twin::{self, Group, exposure};
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::exposure::{Exposures, IDENTITY};
use splatcore_core::random::Rng;
use splatcore_core::{Learner, Pipeline};
use std::sync::Arc;

/// Transforms in mid-training: no identity among them, moments and counts all different.
pub(super) fn exposures(seed: u64, count: usize) -> Exposures {
    let mut rng = Rng::new(seed, 93);
    let mut rows = |about: [f32; 12], spread: f32| -> Vec<[f32; 12]> {
        (0..count)
            .map(|_| about.map(|v| v + spread * rng.normal()))
            .collect()
    };
    let (parameters, first) = (rows(IDENTITY, 0.15), rows([0.0; 12], 1e-3));
    let second = rows([0.0; 12], 1e-3)
        .into_iter()
        .map(|row| row.map(|v| v * v))
        .collect();
    Exposures {
        parameters,
        first,
        second,
        seen: (0..count).map(|view| 5 * view as u32).collect(),
    }
}

/// A learner with such transforms, and what it learns from: photos that its first images,
/// transformed, come nowhere near, as in [`super::step::scene_and_views`].
fn learner(backend: &dyn Backend, seed: u64) -> Result<LearnerAndViews, String> {
    let mut views = views();
    let scene = random_scene(seed, 150, 1);
    let exposures = exposures(seed, views.len());
    for (index, (view, transform)) in views.iter_mut().zip(&exposures.parameters).enumerate() {
        let image =
            twin::render(&scene, &view.camera, &plan(Pipeline::AUTO, 1, index).render).image;
        let seen = exposure::apply(&image, &transform.map(f64::from));
        for (byte, value) in view.photo.rgb.iter_mut().zip(seen.as_flattened()) {
            keep_away(byte, &[*value]);
        }
    }
    let views = Arc::new(views);
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    let mut state = LearnerState::fresh(scene);
    state.exposures = exposures;
    learner.restore(&state).map_err(said)?;
    Ok((learner, views))
}

/// Loss, gradients of the scene and of the twelve numbers, their update; on several views, one of
/// them masked. Other views' transforms stay.
pub fn exposures_match_the_twin(backend: &dyn Backend) -> Outcome {
    gather([Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| exposed_steps(backend, pipeline)))
}

fn exposed_steps(backend: &dyn Backend, pipeline: Pipeline) -> Outcome {
    let tolerance = backend.gradient_tolerance(pipeline);
    let (mut learner, views) = learner(backend, 61)?;
    let mut before = learner.snapshot().map_err(said)?;
    for (step, view) in [(1, 0), (2, 1), (3, 2), (4, 1)] {
        let mut plan = plan(pipeline, step, view);
        plan.exposure = Some(0.01 / step as f32);
        learner.step(&plan).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        let twin = twin_step(&before, &views[view], &plan);
        let what = format!("exposed step {step}, {pipeline}");
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
        let rate = plan.exposure.unwrap_or(0.0) as f64;
        let want = exposure::step(&before.exposures, view, &twin.exposure, rate);
        let found = &after.exposures;
        let got =
            [&found.parameters, &found.first, &found.second].map(|rows| rows[view].map(f64::from));
        let names = ["transform", "first moments", "second moments"];
        for (name, (want, got)) in names.iter().zip(want.iter().zip(&got)) {
            let what = format!("{what}, {name}");
            compare::vectors(&what, want, got, 0.0, tolerance)?;
        }
        let old = before.exposures.parameters[view].map(f64::from);
        let moved = |new: &[f64; 12]| -> Vec<f64> {
            new.iter().zip(old).map(|(new, old)| new - old).collect()
        };
        // A difference of numbers about 1 in f32 is 1e-7 off beside a movement of 1e-3.
        compare::vectors(
            &format!("{what}, movement of the transform"),
            &moved(&want[0]),
            &moved(&got[0]),
            0.0,
            tolerance.max(1e-3),
        )?;
        let mut others = found.clone();
        ensure(others.seen[view] == before.exposures.seen[view] + 1, || {
            format!("{what}: the step was not counted once: {:?}", others.seen)
        })?;
        others.parameters[view] = before.exposures.parameters[view];
        others.first[view] = before.exposures.first[view];
        others.second[view] = before.exposures.second[view];
        others.seen[view] -= 1;
        ensure(others == before.exposures, || {
            format!("{what}: the transform of another view changed")
        })?;
        before = after;
    }
    Ok(())
}

/// Steps that learn no exposure are the same bits whatever transforms there are, and leave them
/// alone; the first that learns one finds every transform to be the identity.
pub fn no_exposure_leaves_no_trace(backend: &dyn Backend) -> Outcome {
    let run = |exposures: Exposures| -> Result<LearnerState, String> {
        let scene = random_scene(62, 150, 1);
        let mut learner = backend.learner(&scene, Arc::new(views())).map_err(said)?;
        let mut state = LearnerState::fresh(scene);
        state.exposures = exposures;
        learner.restore(&state).map_err(said)?;
        for step in 1..=3 {
            let plan = plan(Pipeline::AUTO, step, step as usize % 3);
            learner.step(&plan).map_err(said)?;
        }
        learner.snapshot().map_err(said)
    };
    let (plain, held) = (run(Exposures::default())?, run(exposures(62, 3))?);
    ensure(plain.exposures.is_empty(), || {
        "steps that learn no exposure have made transforms".into()
    })?;
    ensure(held.exposures == exposures(62, 3), || {
        "steps that learn no exposure have changed transforms".into()
    })?;
    ensure(bits(&held.gaussians) == bits(&plain.gaussians), || {
        "transforms change a step that does not learn them".into()
    })?;

    let (scene, views) = (random_scene(62, 150, 1), Arc::new(views()));
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    let mut plan = plan(Pipeline::AUTO, 1, 1);
    plan.exposure = Some(0.01);
    learner.step(&plan).map_err(said)?;
    let state = learner.snapshot().map_err(said)?;
    let twin = {
        let mut start = LearnerState::fresh(scene);
        start.exposures = Exposures::fresh(views.len());
        twin_step(&start, &views[1], &plan)
    };
    let loss = learner.last_loss().map_err(said)?;
    let allowed = loss_tolerance(backend, Pipeline::AUTO) * twin.loss;
    ensure((loss - twin.loss).abs() <= allowed, || {
        format!(
            "first exposed step: loss {loss}, the twin has {}",
            twin.loss
        )
    })?;
    let found = &state.exposures;
    let untouched = [0, 2]
        .iter()
        .all(|&view| found.parameters[view] == IDENTITY);
    let learned = (0..12).all(|k| {
        let moved = (found.parameters[1][k] - IDENTITY[k]) as f64;
        (moved + 0.01 * twin.exposure[k].signum()).abs() < 1e-4
    });
    ensure(untouched && learned && found.seen == [0, 1, 0], || {
        format!(
            "after the first step on view 1: {found:?}, gradient {:?}",
            twin.exposure
        )
    })?;
    let listed = learner.exposures().map_err(said)?;
    ensure(listed == found.parameters, || {
        "`exposures` and the snapshot disagree".into()
    })
}

/// Snapshot, go on; restore into another learner, go on: the same bits.
pub fn exposures_go_on_bit_for_bit(backend: &dyn Backend) -> Outcome {
    let go_on = |learner: &mut dyn Learner, from: u32| -> Result<Vec<u32>, String> {
        for step in from..from + 5 {
            let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
            plan.exposure = Some(0.01);
            learner.step(&plan).map_err(said)?;
        }
        let refine = Refine::ResetOpacity { ceiling: 0.3 };
        learner.refine(&refine).map_err(said)?;
        Ok(state_bits(&learner.snapshot().map_err(said)?))
    };
    let (mut first, views) = learner(backend, 63)?;
    go_on(first.as_mut(), 1)?;
    let snapshot = first.snapshot().map_err(said)?;
    let straight_on = go_on(first.as_mut(), 6)?;
    let mut second = backend
        .learner(&random_scene(64, 40, 1), views.clone())
        .map_err(said)?;
    second.restore(&snapshot).map_err(said)?;
    ensure(go_on(second.as_mut(), 6)? == straight_on, || {
        "training goes on differently after a restore".into()
    })?;
    // A snapshot without any takes them away again.
    let mut plain = snapshot.clone();
    plain.exposures = Exposures::default();
    second.restore(&plain).map_err(said)?;
    let found = second.snapshot().map_err(said)?;
    ensure(found.exposures.is_empty(), || {
        "transforms outlive a snapshot that has none".into()
    })?;
    for wrong in [
        exposures(1, views.len() + 1),
        Exposures {
            seen: vec![0],
            ..exposures(1, views.len())
        },
    ] {
        let state = LearnerState {
            exposures: wrong,
            ..snapshot.clone()
        };
        ensure(second.restore(&state).is_err(), || {
            "transforms of another number of views are accepted".into()
        })?;
    }
    Ok(())
}
