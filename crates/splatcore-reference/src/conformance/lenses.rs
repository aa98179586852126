//! Cameras with lenses against the twin: images, gradients, depth, steps and batches.

use super::batches::batches_match_the_twin;
use super::case::{Case, odd_camera, random_scene};
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::views;
use super::selection::{Selection, Weight};
use super::step::{scene_and, steps_match_the_twin_with};
use super::{depth_gradients, forward, gradients, refine, smoothing};
use splatcore_core::backend::{Backend, BackendError};
use splatcore_core::pipeline::{Blend, Fragments};
use splatcore_core::{Camera, Gaussians, Lens, Pipeline, View};

/// One of each kind of lens: what acts in the image plane and in that of angles, each term of the
/// polynomial somewhere.
pub(super) fn lenses() -> [(&'static str, Lens); 4] {
    [
        (
            "opencv",
            Lens::OpenCv {
                k: [-0.12, 0.03, 0.01, 0.05, -0.02, 0.004],
                p: [0.02, -0.03],
                s: [0.01, -0.005, 0.02, 0.007],
            },
        ),
        (
            "brown",
            Lens::Brown {
                k: [-0.1, 0.02, -0.003, 0.001],
                p: [0.01, -0.02, 0.1, -0.05],
                skew: 0.02,
                fisheye: false,
            },
        ),
        (
            "fisheye",
            Lens::Fisheye {
                k: [0.02, -0.01, 0.004, -0.001],
                p: [0.002, -0.003],
                s: [0.003, -0.002],
            },
        ),
        (
            "thin prism",
            Lens::RadTanThinPrism {
                k: [0.02, -0.01, 0.004, -0.001, 0.0005, -0.0001],
                p: [0.002, -0.003],
                s: [0.003, -0.002, 0.001, 0.0015],
            },
        ),
    ]
}

/// A scene for each lens, each with and without the 2D filter; and one in the middle of which a
/// fisheye stands that sees what is behind it.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, (name, lens)) in lenses().into_iter().enumerate() {
        let [width, height] = [[64, 48], [61, 37], [33, 60], [50, 50]][i];
        let camera = Camera {
            lens,
            ..odd_camera(width, height, 0.7 * i as f64)
        };
        let scene = random_scene(140 + i as u64, 200, i as u8 % 4);
        cases.push(Case::new(&format!("through a lens, {name}"), scene, camera));
    }
    let eye = Camera::look_at(
        [0.1, -0.2, 0.15],
        [1.0, 0.2, 0.4],
        [0.0, -1.0, 0.0],
        0.8,
        57,
        49,
    );
    let around = Camera {
        fx: 13.0,
        fy: 13.5,
        lens: lenses()[2].1,
        ..eye
    };
    cases.push(Case::new(
        "through a lens, all around",
        random_scene(150, 200, 1),
        around,
    ));
    let filtered: Vec<Case> = cases
        .iter()
        .map(|case| Case {
            name: format!("{}, antialiased", case.name),
            antialias: true,
            ..case.clone()
        })
        .collect();
    cases.extend(filtered);
    cases
}

/// As `images match the twin`, through lenses.
pub fn images_match_the_twin(backend: &dyn Backend) -> Outcome {
    let selection = Selection::new(backend)?;
    let mut pipelines = selection.pipelines(Weight::Common);
    pipelines.retain(|pipeline| !is_along_rays(pipeline.blend));
    gather(
        cases()
            .iter()
            .map(|case| forward::pipelines_of_case(backend, &pipelines, case)),
    )
}

/// As `gradients match the twin` and `depth gradients match the twin`, through lenses.
pub fn gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    let of_image = gather(
        cases()
            .iter()
            .map(|case| gradients::one_case(backend, case, &pipelines)),
    );
    let of_depth = gather(
        cases()
            .iter()
            .map(|case| depth_gradients::one_case(backend, case, Pipeline::AUTO)),
    );
    gather([of_image, of_depth])
}

/// Photos with a lens each, and a pinhole among them: what a step is made of changes from photo to
/// photo.
pub(super) fn views_through_lenses() -> Vec<View> {
    let mut views = views();
    for (view, (_, lens)) in views.iter_mut().zip(lenses().into_iter().skip(1)) {
        view.camera.lens = lens;
    }
    views[1].camera.lens = Lens::Pinhole;
    views
}

/// Steps and a batch, each photo with another lens.
pub fn steps_match_the_twin(backend: &dyn Backend) -> Outcome {
    let scene_and_views = scene_and(51, views_through_lenses());
    gather([
        steps_match_the_twin_with(backend, None, &scene_and_views),
        batches_match_the_twin(backend, &scene_and_views),
    ])
}

/// As `floaters go`, in views through lenses.
pub fn floaters_go(backend: &dyn Backend) -> Outcome {
    let lenses = lenses().map(|(_, lens)| lens);
    gather([
        refine::floaters_go_through(backend, &[lenses[0], lenses[2], lenses[1]]),
        refine::floaters_go_through(backend, &[lenses[2], lenses[3], Lens::Pinhole]),
    ])
}

/// As `filters follow the cameras`, of cameras with lenses and one without.
pub fn filters_follow_the_cameras(backend: &dyn Backend) -> Outcome {
    smoothing::filters_follow(backend, views_through_lenses())
}

/// What no backend has: lenses that are no polynomial, and blends by depth along rays.
pub fn other_lenses_are_refused(backend: &dyn Backend) -> Outcome {
    let mut renderer = backend.renderer(&Gaussians::empty(0)).map_err(said)?;
    let case = Case::new("", Gaussians::empty(0), odd_camera(32, 32, 0.1));
    let mut refused = |lens: Lens, pipeline: Pipeline| {
        let camera = Camera {
            lens,
            ..case.camera.clone()
        };
        let answer = renderer.render(&camera, &case.options(pipeline));
        let refused = matches!(answer, Err(BackendError::Unsupported { .. }));
        ensure(refused, || {
            format!("{} with {pipeline} gave {answer:?}", lens.name())
        })
    };
    refused(Lens::Fov { omega: 0.9 }, Pipeline::AUTO)?;
    for &blend in Blend::ALL.iter().filter(|&&blend| is_along_rays(blend)) {
        let pipeline = Pipeline {
            blend,
            ..Pipeline::AUTO
        };
        refused(lenses()[2].1, pipeline)?;
    }
    Ok(())
}

fn is_along_rays(blend: Blend) -> bool {
    blend.method().fragments == Fragments::AlongRay
}
