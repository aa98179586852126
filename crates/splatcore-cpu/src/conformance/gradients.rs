//! Gradients against the twin, on every scene and pipeline.
//!
//! The bound is DESIGN section 3's. Measured on the CPU: 3e-6, and 3e-5 for the image of one pixel. Needles need more: f32 holds the entries of a projected covariance to
//! epsilon of its larger eigenvalue, which is epsilon times their ratio of the smaller one, and everything that passes
//! through the inverse takes that error on. There the bound is `ROUNDINGS` times that, and relative to scales and
//! rotations together: the short axis is nearly all low-pass, so most of the projected covariance's gradient, with its
//! error, belongs to neither scale.

use super::scenes::{Case, cases};
use super::selection::Selection;
use super::{Outcome, compare, ensure, gather, said};
use crate::twin::project::project;
use crate::twin::{self, Group, Scene, TwinGradients};
use splatcore_core::backend::Backend;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Image, Pipeline};

/// About as many roundings go into a projected covariance and back out of its inverse.
const ROUNDINGS: f64 = 16.0;

/// Every scene of [`super::scenes`], every pipeline: DESIGN section 3's bounds for f32, with a random gradient of the
/// image at all pixels that are away from every cut-off.
pub fn gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let selection = Selection::new(backend)?;
    let check = |case: &Case| one_case(backend, case, &selection.training(case.weight));
    gather(cases().iter().map(check))
}

/// As [`gradients_match_the_twin`], of these pipelines; for methods that not every backend has.
pub fn pipelines_match_the_twin(backend: &dyn Backend, pipelines: &[Pipeline]) -> Outcome {
    gather(cases().iter().map(|case| one_case(backend, case, pipelines)))
}

fn one_case(backend: &dyn Backend, case: &Case, pipelines: &[Pipeline]) -> Outcome {
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    let mut outcomes = Vec::new();
    for &intersect in Intersect::ALL {
        let mut expected: Option<(Image, TwinGradients)> = None;
        for &pipeline in pipelines.iter().filter(|p| p.intersect == intersect) {
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
                    let tolerance = tolerance(case, backend.gradient_tolerance(pipeline));
                    compare::gradients(&what, &twin.scene, &found, tolerance, case.ill_conditioned)
                }
            });
        }
    }
    gather(outcomes)
}

/// See the module's documentation.
fn tolerance(case: &Case, bound: f64) -> f64 {
    if !case.ill_conditioned {
        return bound;
    }
    let scene = Scene::from(&case.scene);
    let ratio = |i| {
        let splat = project(&scene, i, &case.camera, NEAR_PLANE, 0)?;
        let [a, b, c] = splat.covariance;
        let root = (0.25 * (a - c) * (a - c) + b * b).sqrt();
        Some((0.5 * (a + c) + root) / (0.5 * (a + c) - root))
    };
    let largest = (0..scene.len()).filter_map(ratio).fold(1.0, f64::max);
    bound.max(ROUNDINGS * 0.5 * f32::EPSILON as f64 * largest)
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
    let mut reached = vec![0; Group::ALL.len()];
    for case in cases() {
        let gradient = sure_gradient(&case, Pipeline::AUTO);
        let wide: Vec<[f64; 3]> = gradient.data.iter().map(|g| g.map(f64::from)).collect();
        let options = case.options(Pipeline::AUTO);
        let twin = twin::gradients(&case.scene, &case.camera, &options, &wide);
        for (count, group) in reached.iter_mut().zip(Group::ALL) {
            *count += (compare::norm(&twin.scene.group(group)) > 1e-3) as usize;
        }
    }
    ensure(reached.iter().all(|&count| count >= 5), || {
        format!("cases with a gradient, by group: {reached:?}")
    })
}
