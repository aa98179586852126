//! Cameras with lenses against the twin: images, gradients, depth, steps and batches.

use super::batches::batches_match_the_twin;
use super::case::{Case, odd_camera, random_scene, through};
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
pub(super) fn lenses() -> [(&'static str, Lens); 7] {
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
        ("equirectangular", Lens::Equirectangular),
        ("orthographic", Lens::Orthographic),
        ("f-theta", f_theta()),
    ]
}

/// Odd and even powers, both skews, and an angle beyond which there is no image.
fn f_theta() -> Lens {
    let mut k = [0.0; 12];
    k[..6].copy_from_slice(&[-0.02, 0.05, -0.08, 0.03, 0.01, -0.004]);
    Lens::FTheta {
        k,
        skew: [0.02, -0.03],
        max_angle: Some(1.4),
    }
}

const SIZES: [[u32; 2]; 7] = [
    [64, 48],
    [61, 37],
    [33, 60],
    [50, 50],
    [49, 52],
    [60, 35],
    [47, 53],
];

/// A scene for each lens, each with and without the 2D filter; and scenes in the middle of which a
/// fisheye and a panorama's camera stand, which see what is behind them.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, (name, lens)) in lenses().into_iter().enumerate() {
        let [width, height] = SIZES[i];
        let camera = through(odd_camera(width, height, 0.7 * i as f64), lens);
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
    let fisheye = Camera {
        fx: 13.0,
        fy: 13.5,
        lens: lenses()[2].1,
        ..eye.clone()
    };
    // Half of the way around, from pole to pole.
    let panorama = Camera {
        fx: 57.0 / std::f64::consts::PI,
        fy: 49.0 / std::f64::consts::PI,
        lens: Lens::Equirectangular,
        ..eye
    };
    for (name, camera) in [("all around", fisheye), ("half around", panorama)] {
        let scene = random_scene(150, 200, 1);
        cases.push(Case::new(&format!("through a lens, {name}"), scene, camera));
    }
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
    views_through([lenses()[1].1, Lens::Pinhole, lenses()[3].1])
}

/// The same through the lenses that are no polynomials about the axis, and one of odd powers.
pub(super) fn views_without_polynomials() -> Vec<View> {
    views_through([lenses()[4].1, lenses()[5].1, lenses()[6].1])
}

fn views_through(lenses: [Lens; 3]) -> Vec<View> {
    let mut views = views();
    for (view, lens) in views.iter_mut().zip(lenses) {
        view.camera = through(view.camera.clone(), lens);
    }
    views
}

/// Steps and a batch, each photo with another lens.
pub fn steps_match_the_twin(backend: &dyn Backend) -> Outcome {
    let about_the_axis = scene_and(51, views_through_lenses());
    let others = scene_and(52, views_without_polynomials());
    gather([
        steps_match_the_twin_with(backend, None, &about_the_axis),
        batches_match_the_twin(backend, &about_the_axis),
        batches_match_the_twin(backend, &others),
    ])
}

/// As `floaters go`, in views through lenses.
pub fn floaters_go(backend: &dyn Backend) -> Outcome {
    let lenses = lenses().map(|(_, lens)| lens);
    gather([
        refine::floaters_go_through(backend, &[lenses[0], lenses[2], lenses[1]]),
        refine::floaters_go_through(backend, &[lenses[2], lenses[3], Lens::Pinhole]),
        refine::floaters_go_through(backend, &[lenses[4], lenses[5], lenses[6]]),
    ])
}

/// As `filters follow the cameras`, of cameras with lenses and one without.
pub fn filters_follow_the_cameras(backend: &dyn Backend) -> Outcome {
    gather([
        smoothing::filters_follow(backend, views_through_lenses()),
        smoothing::filters_follow(backend, views_without_polynomials()),
    ])
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

pub(super) fn is_along_rays(blend: Blend) -> bool {
    blend.method().fragments == Fragments::AlongRay
}
