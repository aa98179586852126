//! Inputs that contradict each other are errors, not panics and not images.

use super::outcome::{Outcome, ensure, said};
use super::scenes::{plain_camera, random_scene, views};
use super::step::plan;
use splatcore_core::backend::{Backend, LearnerState, RenderOptions};
use splatcore_core::columns::Column;
use splatcore_core::{Camera, Image, Pipeline};
use std::sync::Arc;

/// Sizes that do not fit, views that do not exist, cameras that cannot be, arrays of different
/// lengths.
pub fn contradictions_are_errors(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(71, 20, 1);
    let options = RenderOptions::default();
    let camera = plain_camera(30, 20);
    let refused = |what: &str, refused: bool| ensure(refused, || format!("{what} was accepted"));

    let mut renderer = backend.renderer(&scene).map_err(said)?;
    let small = Image::filled(29, 20, [1.0; 3]);
    refused(
        "an image gradient of another size than the camera",
        renderer
            .gradients(&camera, &options, &small.clone().into())
            .is_err(),
    )?;
    let mut short = Image::filled(30, 20, [1.0; 3]);
    short.data.pop();
    refused(
        "an image gradient with a pixel missing",
        renderer
            .gradients(&camera, &options, &short.clone().into())
            .is_err(),
    )?;
    let flat = Camera {
        width: 0,
        ..camera.clone()
    };
    refused(
        "a camera without width",
        renderer.render(&flat, &options).is_err(),
    )?;

    let mut ragged = scene.clone();
    ragged.sh.pop();
    refused(
        "a scene with a coefficient missing",
        backend.renderer(&ragged).is_err(),
    )?;

    let mut torn = views();
    torn[0].photo.rgb.pop();
    refused(
        "a photo with a byte missing",
        backend.learner(&scene, Arc::new(torn)).is_err(),
    )?;
    let mut masked = views();
    masked[0].photo.mask = Some(vec![1; 3]);
    refused(
        "a mask of three pixels",
        backend.learner(&scene, Arc::new(masked)).is_err(),
    )?;

    let mut learner = backend.learner(&scene, Arc::new(views())).map_err(said)?;
    refused(
        "a step on a view that does not exist",
        learner.step(&plan(Pipeline::AUTO, 1, 99)).is_err(),
    )?;
    let mut state = LearnerState::fresh(scene.clone());
    state.seen.pop();
    refused(
        "a snapshot with a count missing",
        learner.restore(&state).is_err(),
    )?;
    let mut state = LearnerState::fresh(scene.clone());
    let moments = vec![0.0; scene.len()];
    let short = moments[1..].to_vec();
    let arrays = vec![moments.clone(), moments, short];
    state.columns.set_arrays(Column::Mask, arrays);
    refused(
        "a snapshot with a moment of a mask missing",
        learner.restore(&state).is_err(),
    )?;
    // And after all this it still works.
    learner.step(&plan(Pipeline::AUTO, 1, 0)).map_err(said)?;
    renderer.render(&camera, &options).map_err(said).map(|_| ())
}
