//! Cameras with rolling shutters against the twin: images, gradients, depth, steps and batches.

use super::batches::batches_match_the_twin;
use super::case::{Case, odd_camera, random_scene, through};
use super::lenses::{is_along_rays, lenses};
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::views;
use super::step::{scene_and, steps_match_the_twin_with};
use super::{depth_gradients, forward, gradients, refine, smoothing};
use splatcore_core::backend::{Backend, BackendError};
use splatcore_core::pipeline::Blend;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Camera, Gaussians, Lens, Pipeline, View};

/// A camera that moves by several of its pixels while it reads a photo.
pub(super) fn rolling(camera: Camera, readout: Readout) -> Camera {
    let shutter = Shutter {
        readout,
        turn: [0.04, -0.05, 0.06],
        shift: [-0.1, 0.12, 0.07],
    };
    Camera {
        shutter: Some(shutter),
        ..camera
    }
}

/// A scene for each order of lines, without a lens and through several, each with and without the
/// 2D filter.
fn cases() -> Vec<Case> {
    let lenses = lenses();
    let kinds = [
        ("pinhole", Lens::Pinhole, Readout::TopToBottom, [64, 48]),
        ("pinhole", Lens::Pinhole, Readout::RightToLeft, [37, 61]),
        ("opencv", lenses[0].1, Readout::BottomToTop, [61, 37]),
        ("fisheye", lenses[2].1, Readout::LeftToRight, [33, 60]),
        ("orthographic", lenses[5].1, Readout::TopToBottom, [50, 50]),
    ];
    type Kind = (&'static str, Lens, Readout, [u32; 2]);
    let case = |(i, (name, lens, readout, [width, height])): (usize, Kind)| {
        let camera = through(odd_camera(width, height, 0.7 * i as f64), lens);
        let scene = random_scene(170 + i as u64, 200, i as u8 % 4);
        let name = format!("rolling shutter, {name}, {readout:?}");
        Case::new(&name, scene, rolling(camera, readout))
    };
    let plain: Vec<Case> = kinds.into_iter().enumerate().map(case).collect();
    let filtered = plain.iter().map(|case| Case {
        name: format!("{}, antialiased", case.name),
        antialias: true,
        ..case.clone()
    });
    let filtered: Vec<Case> = filtered.collect();
    [plain, filtered].concat()
}

/// Photos without a lens and with one, and one of a global shutter among them.
pub(super) fn views_with_shutters() -> Vec<View> {
    let mut views = views();
    let through = |view: &View, lens, readout| rolling(through(view.camera.clone(), lens), readout);
    views[0].camera = through(&views[0], Lens::Pinhole, Readout::TopToBottom);
    views[1].camera = through(&views[1], lenses()[2].1, Readout::RightToLeft);
    views
}

/// As `images match the twin`, with rolling shutters.
pub fn images_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    gather(
        cases()
            .iter()
            .map(|case| forward::pipelines_of_case(backend, &pipelines, case)),
    )
}

/// As `gradients match the twin` and `depth gradients match the twin`, with rolling shutters.
pub fn gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    gather(cases().iter().map(|case| {
        gather([
            gradients::one_case(backend, case, &pipelines),
            depth_gradients::one_case(backend, case, Pipeline::AUTO),
        ])
    }))
}

/// Steps, a batch, the search for floaters and 3D filters, with rolling shutters and without.
pub fn steps_match_the_twin(backend: &dyn Backend) -> Outcome {
    let start = scene_and(53, views_with_shutters());
    gather([
        steps_match_the_twin_with(backend, None, &start),
        batches_match_the_twin(backend, &start),
        refine::floaters_go_in(backend, &views_with_shutters()),
        smoothing::filters_follow(backend, views_with_shutters()),
    ])
}

/// Blends by depth along rays know pinholes alone.
pub fn rays_are_refused(backend: &dyn Backend) -> Outcome {
    let mut renderer = backend.renderer(&Gaussians::empty(0)).map_err(said)?;
    let camera = rolling(odd_camera(32, 32, 0.1), Readout::TopToBottom);
    let case = Case::new("", Gaussians::empty(0), camera);
    gather(
        Blend::ALL
            .iter()
            .filter(|&&blend| is_along_rays(blend))
            .map(|&blend| {
                let pipeline = Pipeline {
                    blend,
                    ..Pipeline::AUTO
                };
                let answer = renderer.render(&case.camera, &case.options(pipeline));
                let refused = matches!(answer, Err(BackendError::Unsupported { .. }));
                ensure(refused, || format!("{pipeline} gave {answer:?}"))
            }),
    )
}
