//! Scenes, images and cards at which a renderer may fail: a clear error or the right image, never
//! a panic, a hang or a wrong image.

use crate::ops::intersect::MAX_PAIRS;
use crate::tests::support::watched::{Watched, camera, huge, view};
use splatcore_core::backend::{Backend, Refine, RenderOptions, StepPlan, Timed};
use splatcore_core::{BackendError, Camera, Choice, Gaussians, Image, Pipeline, Precision, View};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::bounds::Reference;
use splatcore_reference::conformance::compare;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};
use splatcore_reference::conformance::step;
use std::sync::Arc;

const VANILLA: RenderOptions = RenderOptions {
    pipeline: Pipeline::VANILLA,
    sh_degree: 0,
    background: [0.2, 0.4, 0.6],
    sky: None,
    semantics: splatcore_core::semantics::Semantics {
        near_plane: 0.2,
        alpha_max: 0.99,
    },
    inverse_depth: false,
    antialias: false,
    interpolate: false,
};

/// The image is the CPU's, up to rounding: of methods in halves, up to what theirs can be.
fn assert_like_cpu(
    backend: &dyn Backend,
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
) {
    let draw = |backend: &dyn Backend| {
        let mut renderer = backend.renderer(scene).unwrap();
        renderer.render(camera, options).unwrap()
    };
    let (got, want) = (draw(backend), draw(&CpuBackend::new(None)));
    assert_eq!(got.transmittance.len(), want.transmittance.len());
    let (width, height) = (camera.width, camera.height);
    let drawn = want.image.data.iter().filter(|&&b| b != options.background);
    assert!(drawn.count() > 0, "{width}x{height}: nothing in the image");
    let precision = backend.precision(options.pipeline.blend);
    if precision != Precision::Single {
        let across = width as usize;
        let pixels = (0..want.image.data.len()).map(|i| [i % across, i / across]);
        let expected = Reference::new(scene, camera, options).pixels(precision, pixels.collect());
        let what = format!("{width}x{height}, {}", options.pipeline);
        compare::bounded(&what, &expected, [&got, &want], precision.psnr(), 2e-5).unwrap();
        return;
    }
    for (i, (a, b)) in got.image.data.iter().zip(&want.image.data).enumerate() {
        for k in 0..3 {
            assert!(
                (a[k] - b[k]).abs() < 1e-4,
                "{width}x{height}, pixel {i}: {a:?}, {b:?} is right"
            );
        }
    }
}

#[test]
fn images_of_any_shape() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let mut scene = random_scene(61, 60, 1);
    // The last of a row of 16,384 tiles' pixels would be beyond the others' reach.
    scene.log_scales[7] = [1.5; 3];
    for [width, height] in [[1, 1], [1, 5000], [16384, 1], [17, 16], [3, 300]] {
        for pipeline in [Pipeline::AUTO, Pipeline::VANILLA] {
            let options = RenderOptions {
                pipeline,
                ..VANILLA
            };
            assert_like_cpu(
                &watched.backend(),
                &scene,
                &plain_camera(width, height),
                &options,
            );
        }
    }
}

/// More tiles than two digits can number: the sort makes three passes. Gaussians on both ends and
/// in the middle.
#[test]
fn more_than_65536_tiles() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let camera = Camera {
        fx: 1e6,
        fy: 1e6,
        ..camera(65540 * 16, 1)
    };
    let mut scene = huge(9);
    for i in 0..9 {
        scene.means[i] = [-2.1 + 4.2 * i as f32 / 8.0, 0.0, 4.0 + 0.1 * (i % 3) as f32];
        scene.log_scales[i] = [-10.0; 3];
    }
    assert_like_cpu(&watched.backend(), &scene, &camera, &VANILLA);
}

/// Pairs that cannot be numbered are counted, told, and forgotten: what comes after is right.
#[test]
fn more_pairs_than_can_be_numbered() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let backend = watched.backend();
    let small = camera(16, 16);
    // 4,096 and 16,384 tiles; the second number of pairs is 2^32 + 16,384, which looks small in 32
    // bits.
    for (side, count) in [(1024, 262_400), (2048, (1 << 18) + 1)] {
        let large = camera(side, side);
        let mut scene = huge(count);
        for mean in &mut scene.means {
            mean[2] = 4.0;
        }
        let pairs = count as u64 * (side as u64 / 16).pow(2);
        assert!(pairs > MAX_PAIRS);
        let views = Arc::new(vec![view(small.clone(), false), view(large.clone(), false)]);
        let mut learner = backend.learner(&scene, views).unwrap();
        let error = learner.render(&large, &VANILLA).unwrap_err();
        let words = error.to_string();
        let BackendError::OutOfMemory { depends_on, .. } = error else {
            panic!("{words}")
        };
        assert!(
            words.contains(&pairs.to_string()) && depends_on.contains(&Choice::ImageSize),
            "{words}"
        );
        if side == 2048 {
            continue;
        }
        // A renderer that was asked for it still renders what it can.
        let mut renderer = backend.renderer(&scene).unwrap();
        renderer.render(&large, &VANILLA).unwrap_err();
        renderer.render_only(&small, &VANILLA).unwrap();
        renderer.finish().unwrap();
        // A learner that was asked for it goes on with what it can do.
        let plan = |step, view| StepPlan {
            render: VANILLA,
            ..step::plan(Pipeline::VANILLA, step, view)
        };
        learner.step(&plan(1, 0)).unwrap();
        learner.finish().unwrap();
        let before = learner.snapshot().unwrap();
        learner.step(&plan(2, 1)).unwrap();
        assert_contains!(learner.finish().unwrap_err(), pairs.to_string());
        assert!(
            learner.snapshot().unwrap() == before,
            "the step that failed changed the state"
        );
        learner.step(&plan(2, 0)).unwrap();
        learner.finish().unwrap();
        assert!(learner.snapshot().unwrap() != before);
    }
}

/// More pixels than the kernels can number.
#[test]
fn an_image_too_large_is_refused() {
    let Some(watched) = Watched::new() else {
        return;
    };
    for [width, height] in [[40_000, 40_000], [u32::MAX, u32::MAX], [u32::MAX, 1]] {
        let mut renderer = watched.backend().renderer(&huge(1)).unwrap();
        let error = renderer
            .render(&camera(width, height), &VANILLA)
            .unwrap_err();
        let BackendError::TooLarge { depends_on, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(depends_on, [Choice::ImageSize]);
        renderer.render(&camera(20, 20), &VANILLA).unwrap();
    }
}

#[test]
fn a_hundred_thousand_and_none_or_one_visible() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let mut scene = Gaussians::zeros(100_000, 0);
    scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    scene.log_scales.fill([-2.0; 3]);
    scene.means.fill([0.0, 0.0, 4.0]);
    // In view, but too faint to be seen.
    scene.opacity_logits.fill(-20.0);
    let mut renderer = watched.backend().renderer(&scene).unwrap();
    let rendered = renderer.render(&camera(40, 30), &VANILLA).unwrap();
    assert!(
        rendered
            .image
            .data
            .iter()
            .all(|&pixel| pixel == VANILLA.background)
    );
    scene.opacity_logits[99_999] = 2.0;
    assert_like_cpu(&watched.backend(), &scene, &camera(40, 30), &VANILLA);
    assert_like_cpu(
        &watched.backend(),
        &scene.select_last(),
        &camera(40, 30),
        &VANILLA,
    );
}

trait SelectLast {
    fn select_last(&self) -> Gaussians;
}

impl SelectLast for Gaussians {
    fn select_last(&self) -> Gaussians {
        let mut one = Gaussians::empty(self.sh_degree);
        one.push_from(self, self.len() - 1);
        one
    }
}

/// Every number of some Gaussians in turn is not a number, infinite or huge: those may go missing,
/// the others are drawn, and nothing panics or hangs.
#[test]
fn values_that_are_not_finite() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let backend = watched.backend();
    let sound = random_scene(62, 30, 1);
    let mut broken = sound.clone();
    for value in [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        -f32::MAX,
    ] {
        for array in 0..5 {
            for part in 0..4 {
                broken.push_from(&sound, (array * 4 + part) % 30);
                let last = broken.len() - 1;
                match array {
                    0 => broken.means[last][part % 3] = value,
                    1 => broken.log_scales[last][part % 3] = value,
                    2 => broken.rotations[last][part] = value,
                    3 => broken.opacity_logits[last] = value,
                    _ => broken.sh[4 * last + part][part % 3] = value,
                }
            }
        }
    }
    let shown = camera(60, 50);
    let views: Arc<Vec<View>> =
        Arc::new(vec![view(shown.clone(), false), view(camera(33, 20), true)]);
    for pipeline in Pipeline::all() {
        let options = RenderOptions {
            pipeline,
            sh_degree: 1,
            ..RenderOptions::default()
        };
        let mut learner = backend.learner(&broken, views.clone()).unwrap();
        learner.render(&shown, &options).unwrap();
        learner.counts(&shown, &options).unwrap();
        let ones = Image::filled(60, 50, [1.0; 3]);
        learner
            .gradients(&shown, &options, &ones.clone().into())
            .unwrap();
        for step in 1..=4 {
            let mut plan = step::plan(pipeline, step, step as usize % 2);
            plan.noise = Some(1e-3);
            plan.scale_regulariser = 0.01;
            plan.opacity_regulariser = 0.01;
            learner.step(&plan).unwrap();
        }
        learner.last_loss().unwrap();
        for refine in refinements(300) {
            learner.refine(&refine).unwrap();
            learner.step(&step::plan(pipeline, 5, 0)).unwrap();
        }
        assert!(learner.count() <= 300);
        learner.snapshot().unwrap();
    }
}

fn refinements(max_gaussians: usize) -> [Refine; 3] {
    let adc = Refine::Adc {
        gradient_threshold: 1e-5,
        split_scale: 0.1,
        min_opacity: 0.005,
        max_scale: Some(100.0),
        max_gaussians,
        budget: None,
        region: None,
        seed: 1,
        step: 1,
    };
    let mcmc = Refine::Mcmc {
        min_opacity: 0.005,
        growth: 0.1,
        max_gaussians,
        region: None,
        seed: 1,
        step: 2,
    };
    [mcmc, adc, Refine::ResetOpacity { ceiling: 0.01 }]
}

/// Everything that a learner and a renderer can do, whatever comes before; the messages of what
/// failed, in order.
fn everything(backend: &dyn Backend) -> Vec<Result<(), String>> {
    let scene = random_scene(63, 15, 1);
    let views = Arc::new(vec![
        view(plain_camera(20, 17), false),
        view(plain_camera(9, 30), true),
    ]);
    let camera = plain_camera(18, 20);
    let options = RenderOptions::default();
    let ones = Image::filled(18, 20, [1.0; 3]);
    let mut results = Vec::new();
    let mut note =
        |result: Result<(), BackendError>| results.push(result.map_err(|error| error.to_string()));
    match backend.renderer(&scene) {
        Err(error) => note(Err(error)),
        Ok(mut renderer) => {
            note(renderer.render(&camera, &options).map(drop));
            note(renderer.render_only(&camera, &options));
            note(renderer.finish().map(drop));
            note(
                renderer
                    .gradients(&camera, &options, &ones.clone().into())
                    .map(drop),
            );
            note(renderer.counts(&camera, &options).map(drop));
            note(
                renderer
                    .stage_times(&camera, &options, Timed::TrainingStages)
                    .map(drop),
            );
        }
    }
    match backend.learner(&scene, views) {
        Err(error) => note(Err(error)),
        Ok(mut learner) => {
            for number in 1..=3 {
                note(learner.step(&step::plan(Pipeline::AUTO, number, number as usize % 2)));
            }
            note(learner.last_loss().map(drop));
            for refine in refinements(20) {
                note(learner.refine(&refine).map(drop));
                note(learner.queue_refine(&refine).map(drop));
            }
            note(
                learner
                    .timed_step(&step::plan(Pipeline::AUTO, 4, 0))
                    .map(drop),
            );
            note(learner.scene().map(drop));
            let snapshot = learner.snapshot();
            let state = snapshot.as_ref().ok().cloned();
            note(snapshot.map(drop));
            if let Some(state) = state {
                note(learner.restore(&state));
            }
            note(learner.render(&camera, &options).map(drop));
            note(
                learner
                    .stage_times(&camera, &options, Timed::Stages)
                    .map(drop),
            );
            note(learner.finish().map(drop));
        }
    }
    results
}

/// After any number of calls the card answers nothing but errors: so does everything else, and
/// nothing hangs, panics or pretends to have worked.
#[test]
fn a_card_taken_away() {
    let Some(watched) = Watched::new() else {
        return;
    };
    assert!(everything(&watched.backend()).iter().all(Result::is_ok));
    let all = watched.watch().calls;
    assert!(all > 500, "{all}");
    // About a hundred places, and all kinds of them, but for the last: what is dropped waits once
    // more, and tells nobody.
    for at in (0..all - 1).step_by(1 + all / 97) {
        watched.watch().calls = 0;
        watched.watch().failing = at..usize::MAX;
        let results = everything(&watched.backend());
        watched.watch().failing = 0..0;
        let first = results
            .iter()
            .position(Result::is_err)
            .unwrap_or(results.len());
        // The call in which it happened fails, or at the latest the next one.
        assert!(
            results[first..].iter().all(Result::is_err),
            "taken away after {at} calls of {all}: {results:?}"
        );
        assert!(
            first < results.len(),
            "taken away after {at} calls of {all}, and nobody noticed"
        );
        for error in results.into_iter().filter_map(Result::err) {
            assert_contains!(error, "taken away");
        }
        assert_eq!(
            watched.watch().bytes,
            0,
            "after {at} calls of {all}: memory was not given back"
        );
    }
}
