//! Gradients against the twin, on every scene and pipeline.

use super::scenes::{Case, cases};
use super::{Outcome, compare, ensure, gather, said};
use crate::twin::{self, Scene, TwinGradients};
use splatcore_core::backend::Backend;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_core::{Image, Pipeline};

/// Every scene of [`super::scenes`], every pipeline: DESIGN section 3's bounds for f32, with a random gradient of the
/// image at all pixels that are away from every cut-off.
pub fn gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    gather(cases().iter().map(|case| one_case(backend, case)))
}

fn one_case(backend: &dyn Backend, case: &Case) -> Outcome {
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    let mut outcomes = Vec::new();
    for &intersect in Intersect::ALL {
        let mut expected: Option<(Image, TwinGradients)> = None;
        for pipeline in Pipeline::all().into_iter().filter(|p| p.intersect == intersect) {
            let options = case.options(pipeline);
            let (image_gradient, twin) = expected.get_or_insert_with(|| {
                let gradient = sure_gradient(case, pipeline);
                let wide: Vec<[f64; 3]> = gradient.data.iter().map(|g| g.map(f64::from)).collect();
                let twin = twin::gradients(&case.scene, &case.camera, &options, &wide);
                (gradient, twin)
            });
            let what = format!("{}, {pipeline}", case.name);
            outcomes.push(match renderer.gradients(&case.camera, &options, image_gradient) {
                Err(error) => Err(format!("{what}: {}", said(error))),
                Ok(found) => {
                    let found = Scene::from(&found);
                    compare::gradients(&what, &twin.scene, &found, case.gradient_tolerance)
                }
            });
        }
    }
    gather(outcomes)
}

/// A random image gradient, zero where a comparison is in doubt: roundings must not decide what is compared.
fn sure_gradient(case: &Case, pipeline: Pipeline) -> Image {
    let mut rng = Rng::new(17, 93);
    let twin = twin::render(&case.scene, &case.camera, &case.options(pipeline));
    let data = twin
        .doubts
        .iter()
        .map(|doubt| {
            let gradient = [0; 3].map(|_| rng.normal());
            if doubt.any { [0.0; 3] } else { gradient }
        })
        .collect();
    Image {
        width: case.camera.width,
        height: case.camera.height,
        data,
    }
}

/// Whether the cases together reach every parameter group; for the suite's own test.
pub fn cases_reach_every_group() -> Outcome {
    let mut reached = vec![0; twin::Group::ALL.len()];
    for case in cases() {
        let gradient = sure_gradient(&case, Pipeline::AUTO);
        let wide: Vec<[f64; 3]> = gradient.data.iter().map(|g| g.map(f64::from)).collect();
        let options = case.options(Pipeline::AUTO);
        let twin = twin::gradients(&case.scene, &case.camera, &options, &wide);
        for (count, group) in reached.iter_mut().zip(twin::Group::ALL) {
            *count += (compare::norm(&twin.scene.group(group)) > 1e-3) as usize;
        }
    }
    ensure(reached.iter().all(|&count| count >= 5), || {
        format!("cases with a gradient, by group: {reached:?}")
    })
}
