//! The options of a step, each against the step without it: sparse Adam, photos at a fraction of
//! their size, photos on the step's background, masks.

use super::bits::{bits, state_bits};
use super::colour::colours;
use super::outcome::{Outcome, ensure, said};
use super::scenes::{random_scene, transparent_views, views};
use super::step::plan;
use crate::twin::{self, Scene, adam};
use splatcore_core::backend::{Backend, LearnerState, StepPlan};
use splatcore_core::colour::{ColourModel, ColourPlan};
use splatcore_core::image::to_bytes;
use splatcore_core::{BackendError, Gaussians, Pipeline, View};
use std::sync::Arc;

/// A learner in the midst of training: moments are not zero, some Gaussians are out of the view of
/// the next step.
fn trained(backend: &dyn Backend, seed: u64) -> Result<LearnerState, String> {
    let scene = random_scene(seed, 180, 2);
    let mut learner = backend.learner(&scene, Arc::new(views())).map_err(said)?;
    for step in 1..=3 {
        learner
            .step(&plan(Pipeline::AUTO, step, step as usize % 3))
            .map_err(said)?;
    }
    learner.snapshot().map_err(said)
}

/// What a step makes of a state.
fn after(
    backend: &dyn Backend,
    state: &LearnerState,
    views: Vec<View>,
    plan: &StepPlan,
) -> Result<LearnerState, String> {
    let run = || -> Result<LearnerState, BackendError> {
        let mut learner = backend.learner(&state.gaussians, Arc::new(views))?;
        learner.restore(state)?;
        learner.step(plan)?;
        learner.snapshot()
    };
    run().map_err(said)
}

/// Parameters and both moments of a Gaussian.
fn row(state: &LearnerState, i: usize) -> Vec<f32> {
    let row = |g: &Gaussians| {
        let k = g.coefficients();
        let sh = g.sh[k * i..k * (i + 1)].as_flattened();
        [
            &g.means[i][..],
            &g.log_scales[i],
            &g.rotations[i],
            &[g.opacity_logits[i]],
            sh,
        ]
        .concat()
    };
    [&state.gaussians, &state.first, &state.second]
        .map(row)
        .concat()
}

/// Those with a splat are updated as plain Adam does, regularisers included; the others are left
/// alone, but for noise.
pub fn sparse_adam_leaves_the_unseen_alone(backend: &dyn Backend) -> Outcome {
    let before = trained(backend, 62)?;
    let count = before.gaussians.len();
    let mut plan = plan(Pipeline::AUTO, 4, 1);
    (plan.opacity_regulariser, plan.scale_regulariser) = (0.5, 0.7);
    let dense = after(backend, &before, views(), &plan)?;
    plan.sparse_adam = true;
    let sparse = after(backend, &before, views(), &plan)?;
    ensure(
        (&sparse.seen, &sparse.gradient_sum) == (&dense.seen, &dense.gradient_sum),
        || "sparse Adam changes statistics".into(),
    )?;

    // Which ones have a gradient, and which cannot have one.
    let view = &views()[1];
    let frame = twin::render(&before.gaussians, &view.camera, &plan.render);
    let loss = twin::loss::loss(&frame.image, &view.photo, plan.ssim_weight as f64);
    let gradients = twin::gradients(
        &before.gaussians,
        &view.camera,
        &plan.render,
        &loss.gradient,
    );
    let reached = |i: usize| gradients.scene.means[i].iter().any(|v| v.abs() > 1e-9);
    let (mut updated, mut untouched) = (Vec::new(), Vec::new());
    for i in 0..count {
        let (old, plain, new) = (row(&before, i), row(&dense, i), row(&sparse, i));
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs() + 1e-7;
        if new == old {
            untouched.push(i);
            ensure(!reached(i), || {
                format!("Gaussian {i} is in view and sparse Adam left it alone")
            })?;
        } else {
            updated.push(i);
            ensure(new.iter().zip(&plain).all(close), || {
                format!(
                    "sparse Adam made another update of Gaussian {i} than Adam: {new:?} for \
                     {plain:?}"
                )
            })?;
            let seen = reached(i) || frame.in_view[i] != Some(false);
            ensure(seen, || {
                format!("Gaussian {i} is out of view and sparse Adam changed it")
            })?;
        }
    }
    // Plain Adam would have moved them.
    let moving = untouched
        .iter()
        .filter(|&&i| row(&dense, i) != row(&before, i))
        .count();
    ensure(moving > 5 && updated.len() > 50, || {
        format!(
            "the scene tests nothing: {} updated, {} left alone, of which Adam moves {moving}",
            updated.len(),
            untouched.len()
        )
    })?;

    plan.noise = Some(5.0);
    let noisy = after(backend, &before, views(), &plan)?;
    let mut still = noisy.clone();
    still.gaussians.means.clone_from(&sparse.gaussians.means);
    ensure(state_bits(&still) == state_bits(&sparse), || {
        "noise with sparse Adam changes something besides the means".into()
    })?;
    let wide = Scene::from(&sparse.gaussians);
    for &i in &untouched {
        let shift = adam::exploration(&wide, i, 5.0, plan.seed, plan.step);
        for (k, shift) in shift.into_iter().enumerate() {
            let got = noisy.gaussians.means[i][k] as f64 - wide.means[i][k];
            ensure((got - shift).abs() <= 1e-4 * shift.abs() + 1e-6, || {
                format!("noise moves the unseen Gaussian {i} by {got}, the twin by {shift}")
            })?;
        }
    }
    Ok(())
}

/// A step at a scale is a step of views of that size: sizes that the scale divides and others, with
/// a mask and without.
pub fn reduced_views_are_smaller_views(backend: &dyn Backend) -> Outcome {
    let before = trained(backend, 63)?;
    for scale in [2, 4] {
        for index in 0..3 {
            let mut plan = plan(Pipeline::AUTO, 4, index);
            let reduced = |view: View| View {
                camera: view.camera.reduced(scale),
                photo: view.photo.reduced(scale),
                ..view
            };
            let small = after(
                backend,
                &before,
                views().into_iter().map(reduced).collect(),
                &plan,
            )?;
            plan.scale = scale;
            let scaled = after(backend, &before, views(), &plan)?;
            ensure(state_bits(&scaled) == state_bits(&small), || {
                format!("view {index} at 1/{scale} is another step than with a photo of that size")
            })?;
            plan.scale = 1;
            let full = after(backend, &before, views(), &plan)?;
            ensure(bits(&full.gaussians) != bits(&small.gaussians), || {
                format!("view {index} at 1/{scale} is the same step as at full size")
            })?;
        }
    }
    let mut plan = plan(Pipeline::AUTO, 4, 0);
    plan.scale = 3;
    ensure(after(backend, &before, views(), &plan).is_err(), || {
        "a scale that there is not is no error".into()
    })
}

/// A photo with alpha is learnt from as the opaque photo on the step's background, with a
/// colour model on what that makes of it.
pub fn alpha_stands_on_the_background(backend: &dyn Backend) -> Outcome {
    let mut before = trained(backend, 64)?;
    before.colours = colours(ColourModel::Affine, 65, views().len());
    for (index, scale, rate) in [
        (0, 1, None),
        (1, 1, None),
        (2, 2, None),
        (1, 4, None),
        (0, 1, Some(0.01)),
        (1, 2, Some(0.01)),
    ] {
        let mut plan = plan(Pipeline::AUTO, 4, index);
        plan.colour = rate.map(ColourPlan::affine);
        // Of 8 bits, as photos are.
        plan.render.background = [40.0 / 255.0, 1.0, 0.0];
        let affine = ColourModel::Affine.entry();
        let background = to_bytes(match rate {
            Some(_) => affine.of_colour(before.colours.photos.row(index), plan.render.background),
            None => plan.render.background,
        });
        let composed = |view: View| View {
            camera: view.camera.reduced(scale),
            photo: view.photo.reduced(scale).on(background),
            ..view
        };
        let opaque = after(
            backend,
            &before,
            transparent_views().into_iter().map(composed).collect(),
            &plan,
        )?;
        plan.scale = scale;
        let alpha = after(backend, &before, transparent_views(), &plan)?;
        ensure(state_bits(&alpha) == state_bits(&opaque), || {
            format!(
                "view {index} with alpha at 1/{scale} is another step than its photo on the \
                 background"
            )
        })?;
        plan.render.background = [1.0, 0.0, 40.0 / 255.0];
        let other = after(backend, &before, transparent_views(), &plan)?;
        ensure(bits(&other.gaussians) != bits(&alpha.gaussians), || {
            format!("view {index} with alpha: the background changes nothing")
        })?;
    }
    Ok(())
}

/// What lies under a mask does not matter; a view of which nothing counts changes no parameter.
pub fn ignored_pixels_change_nothing(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(54, 150, 1);
    let step = |views: Vec<View>| -> Result<LearnerState, String> {
        let mut learner = backend.learner(&scene, Arc::new(views)).map_err(said)?;
        learner.step(&plan(Pipeline::AUTO, 1, 1)).map_err(said)?;
        learner.snapshot().map_err(said)
    };
    let plain = step(views())?;
    let mut painted = views();
    let photo = &mut painted[1].photo;
    let mask = photo.mask.clone().ok_or("view 1 has a mask")?;
    for (i, &counted) in mask.iter().enumerate() {
        if counted == 0 {
            photo.rgb[3 * i..3 * i + 3].fill(255 - (i % 200) as u8);
        }
    }
    ensure(state_bits(&step(painted)?) == state_bits(&plain), || {
        "the photo under the mask changes the step".into()
    })?;
    ensure(bits(&plain.gaussians) != bits(&scene), || {
        "a step with a mask changes nothing at all".into()
    })?;
    let mut blind = views();
    blind[1].photo.mask = Some(vec![0; mask.len()]);
    let blind = step(blind)?;
    ensure(bits(&blind.gaussians) == bits(&scene), || {
        "a view of which no pixel counts changes parameters".into()
    })
}
