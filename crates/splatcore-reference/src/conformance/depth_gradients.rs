//! Gradients by way of inverse depth and transmittance against the twin, beside those of the image.

use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{Case, cases};
use crate::twin::{CutOffs, Doubt, Lists, Scene};
use splatcore_core::backend::{Backend, BackendError, Cotangents};
use splatcore_core::random::Rng;
use splatcore_core::{Image, Pipeline};

/// Usual scenes, and none at all.
const SCENES: [&str; 4] = ["random 0", "random 1", "random 2", "empty scene"];

/// With random gradients at all pixels that are away from every cut-off: of image and depth, and of
/// depth alone.
pub fn depth_gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let of_interest = |case: &Case| SCENES.iter().any(|name| case.name.starts_with(name));
    let cases: Vec<Case> = cases().into_iter().filter(of_interest).collect();
    ensure(cases.len() >= SCENES.len(), || {
        "a scene of the suite has another name".into()
    })?;
    gather(cases.iter().flat_map(|case| {
        [Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| one_case(backend, case, pipeline))
    }))
}

pub(super) fn one_case(backend: &dyn Backend, case: &Case, pipeline: Pipeline) -> Outcome {
    let scene = Scene::from(&case.scene);
    let options = case.options(pipeline);
    let lists = Lists::new(&scene, &case.camera, &options, CutOffs::Reference);
    let mut rng = Rng::new(23, 7);
    let mut random = |doubt: &Doubt| {
        let random = [0; 3].map(|_| rng.normal());
        if doubt.any { [0.0; 3] } else { random }
    };
    let (mut data, mut planes) = (Vec::new(), [Vec::new(), Vec::new()]);
    let of_image = lists.gradients(&scene, &mut |_, doubt| {
        data.push(random(doubt));
        data[data.len() - 1].map(f64::from)
    });
    // Of depths, as large beside colours as they are small.
    let of_depth = lists.depth_gradients(&scene, &mut |_, doubt| {
        let [depth, left, _] = random(doubt);
        planes[0].push(3.0 * depth);
        planes[1].push(left);
        [f64::from(3.0 * depth), left.into()]
    });
    let mut both = of_image.scene;
    both.add(&of_depth);
    let [inverse_depth, transmittance] = planes;
    let cotangents = Cotangents {
        image: Image {
            width: case.camera.width,
            height: case.camera.height,
            data,
        },
        transmittance: Some(transmittance),
        inverse_depth: Some(inverse_depth),
    };
    let alone = Cotangents {
        image: Image::filled(case.camera.width, case.camera.height, [0.0; 3]),
        transmittance: None,
        ..cotangents.clone()
    };
    let inverse_depth = cotangents.inverse_depth.as_deref().unwrap_or_default();
    let of_depth_alone = lists.depth_gradients(&scene, &mut {
        let mut pixels = inverse_depth.iter();
        move |_, _: &Doubt| [pixels.next().copied().unwrap_or(0.0).into(), 0.0]
    });
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    let tolerance = backend.gradient_tolerance(pipeline);
    for (kind, cotangents, want) in [
        ("image, depth and transmittance", &cotangents, &both),
        ("depth", &alone, &of_depth_alone),
    ] {
        let found = renderer.gradients(&case.camera, &options, cotangents);
        let found = Scene::from(&found.map_err(said)?);
        let what = format!("{}, {pipeline}, gradients by {kind}", case.name);
        compare::gradients(&what, want, &found, &|_| tolerance, case.ill_conditioned)?;
    }
    refused(&mut *renderer, case, &options, cotangents)
}

/// A plane of another size than the camera is an error.
fn refused(
    renderer: &mut dyn splatcore_core::Renderer,
    case: &Case,
    options: &splatcore_core::backend::RenderOptions,
    mut cotangents: Cotangents,
) -> Outcome {
    cotangents.inverse_depth = Some(vec![0.0; 3]);
    let answer = renderer.gradients(&case.camera, options, &cotangents);
    ensure(matches!(answer, Err(BackendError::Input(_))), || {
        format!("a plane of 3 values gave {answer:?}")
    })
}
