//! Gradients against the twin, on every scene and pipeline.
//!
//! The bound is that of docs/conventions.md. Measured on the CPU: 3e-6, and 3e-5 for the image of
//! one pixel. Needles need more: f32 holds the entries of a projected covariance to epsilon of its
//! larger eigenvalue, which is epsilon times their ratio of the smaller one, and everything that
//! passes through the inverse takes that error on. There the bound is `ROUNDINGS` times that, and
//! relative to scales and rotations together: the short axis is nearly all low-pass, so most of the
//! projected covariance's gradient, with its error, belongs to neither scale.
//!
//! A sum over pixels of either sign may be small against its terms, and then so is not what
//! rounding does to it. Products of halves, whose bound leaves room for some ten roundings of a sum
//! that is as large as its terms, get that much more room in a group that a relative noise in the
//! image's gradient changes by more than itself (found: 2.6 times for the opacities of Gaussians
//! far outside the frustum, 2.3 times for those of huge ones, about once for most).
//!
//! And what a nearly opaque fragment leaves, 0.01 to 0.03, is off by some per cent of itself where
//! alphas and weights are halves, and with it the mean colour behind it, of which its own is
//! subtracted. What that does to a group, of signs at random, is added twice (found: 1e-3 to 1.1e-2
//! in eight stacks of opaque Gaussians, for the opacities, which a few pixels decide there).

use super::answers::by_lists;
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{Case, cases};
use super::selection::Selection;
use crate::twin::project::project;
use crate::twin::{CutOffs, Doubt, Group, Lists, Scene};
use rayon::prelude::*;
use splatcore_core::backend::Backend;
use splatcore_core::pipeline::{Backward, Intersect};
use splatcore_core::precision::HALF;
use splatcore_core::random::Rng;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Image, Pipeline};

/// About as many roundings go into a projected covariance and back out of its inverse.
const ROUNDINGS: f64 = 16.0;
/// What roundings of random signs do is a draw; so many times another draw's size holds it.
const DEVIATIONS: f64 = 2.0;

/// Every scene of [`super::scenes`], every pipeline: the bounds of docs/conventions.md for f32,
/// with a random gradient of the image at all pixels that are away from every cut-off.
pub fn gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let selection = Selection::new(backend)?;
    let check = |case: &Case| one_case(backend, case, &selection.training(case.weight));
    gather(cases().iter().map(check))
}

/// As [`gradients_match_the_twin`], of these pipelines; for methods that not every backend has.
pub fn pipelines_match_the_twin(backend: &dyn Backend, pipelines: &[Pipeline]) -> Outcome {
    gather(
        cases()
            .iter()
            .map(|case| one_case(backend, case, pipelines)),
    )
}

/// A scene with each of these pipelines.
pub(super) fn one_case(backend: &dyn Backend, case: &Case, pipelines: &[Pipeline]) -> Outcome {
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    let mut intersects: Vec<Intersect> = Intersect::ALL.to_vec();
    intersects.retain(|&intersect| pipelines.iter().any(|p| p.intersect == intersect));
    let expected = expected(case, &intersects);
    let mut outcomes = Vec::new();
    for &intersect in Intersect::ALL {
        for &pipeline in pipelines.iter().filter(|p| p.intersect == intersect) {
            let found = expected
                .iter()
                .find(|of| of.intersects.contains(&intersect));
            let of_these =
                found.ok_or_else(|| format!("the twin was not asked for {intersect}"))?;
            let options = case.options(pipeline);
            let what = format!("{}, {pipeline}", case.name);
            let found = renderer.gradients(&case.camera, &options, &of_these.image.clone().into());
            outcomes.push(match found {
                Err(error) => Err(format!("{what}: {}", said(error))),
                Ok(found) => {
                    let found = Scene::from(&found);
                    let tolerance = tolerance(case, backend.gradient_tolerance(pipeline));
                    let judge = |tolerance: &dyn Fn(Group) -> f64| {
                        compare::gradients(
                            &what,
                            &of_these.scene,
                            &found,
                            tolerance,
                            case.ill_conditioned,
                        )
                    };
                    judge(&|_| tolerance).or_else(|why| {
                        if pipeline.backward != Backward::Splatcore {
                            return Err(why);
                        }
                        let [gains, shares] = halves_do(case, intersect);
                        judge(&|group| {
                            tolerance * gains[group as usize].max(1.0)
                                + DEVIATIONS * shares[group as usize]
                        })
                    })
                }
            });
        }
    }
    gather(outcomes)
}

/// What is right for the pipelines of some intersects.
struct Expected {
    intersects: Vec<Intersect>,
    /// A random gradient of the image, zero where a comparison is in doubt: roundings must not
    /// decide what is compared.
    image: Image,
    /// What it makes of the parameters.
    scene: Scene,
}

/// For each intersect, those with equal lists together, side by side on the machine's threads.
fn expected(case: &Case, intersects: &[Intersect]) -> Vec<Expected> {
    let scene = Scene::from(&case.scene);
    let options = case.options(Pipeline::AUTO);
    let one = |(intersects, lists): (Vec<Intersect>, Lists)| {
        let mut rng = image_gradients();
        let mut data = Vec::with_capacity(case.camera.width as usize * case.camera.height as usize);
        let gradients = lists.gradients(&scene, &mut |_, doubt| {
            let gradient = image_gradient(&mut rng, doubt);
            data.push(gradient);
            gradient.map(f64::from)
        });
        let image = Image {
            width: case.camera.width,
            height: case.camera.height,
            data,
        };
        Expected {
            intersects,
            image,
            scene: gradients.scene,
        }
    };
    let groups = by_lists(&scene, &case.camera, &options, intersects);
    groups.into_par_iter().map(one).collect()
}

/// Of each group, what halves do to its gradient: by what factor it changes more than the image's
/// gradient that it is made of, if that is off by a small share of itself, of either sign at
/// random, at every pixel and in every channel; and by what share of its size it changes if the
/// transmittance behind every fragment is off by two roundings to halves, of its alpha and of its
/// weight, and the colour behind it with it. Its size is what [`compare::gradients`] takes for it.
fn halves_do(case: &Case, intersect: Intersect) -> [[f64; Group::ALL.len()]; 2] {
    const NOISE: f64 = 1e-3;
    let scene = Scene::from(&case.scene);
    let options = case.options(Pipeline {
        intersect,
        ..Pipeline::AUTO
    });
    let lists = Lists::new(&scene, &case.camera, &options, CutOffs::Reference);
    let gradients = |noise: f64, rounding: f64| {
        let (mut rng, mut signs, mut others) =
            (image_gradients(), Rng::new(18, 93), Rng::new(19, 93));
        let mut image = |_, doubt: &Doubt| {
            let gradient = image_gradient(&mut rng, doubt);
            gradient
                .map(|g| f64::from(g) * (1.0 + if signs.uniform() < 0.5 { noise } else { -noise }))
        };
        let mut scale_behind = |alpha: f64| {
            let off = rounding * alpha / (1.0 - alpha);
            1.0 + if others.uniform() < 0.5 { off } else { -off }
        };
        lists
            .gradients_scaled(&scene, &mut image, &mut scale_behind)
            .scene
    };
    let exact = gradients(0.0, 0.0);
    [(NOISE, 0.0, NOISE), (0.0, HALF, 1.0)].map(|(noise, rounding, by)| {
        let changed = gradients(noise, rounding);
        Group::ALL.map(|group| {
            let (a, b) = (exact.group(group), changed.group(group));
            let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let size = compare::norm(&a).max(compare::floor(&exact, group, case.ill_conditioned));
            compare::norm(&difference) / (by * size.max(f64::MIN_POSITIVE))
        })
    })
}

/// Where the random gradients of a case's image come from.
fn image_gradients() -> Rng {
    Rng::new(17, 93)
}

/// The next pixel's: zero where a comparison is in doubt.
fn image_gradient(rng: &mut Rng, doubt: &Doubt) -> [f32; 3] {
    let random = [0; 3].map(|_| rng.normal());
    if doubt.any { [0.0; 3] } else { random }
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

/// Whether the cases together reach every parameter group; for the suite's own test.
pub fn cases_reach_every_group() -> Outcome {
    let mut reached = vec![0; Group::ALL.len()];
    for case in cases() {
        let expected = expected(&case, &[Pipeline::AUTO.intersect]).swap_remove(0);
        for (count, group) in reached.iter_mut().zip(Group::ALL) {
            *count += (compare::norm(&expected.scene.group(group)) > 1e-3) as usize;
        }
    }
    ensure(reached.iter().all(|&count| count >= 5), || {
        format!("cases with a gradient, by group: {reached:?}")
    })
}
