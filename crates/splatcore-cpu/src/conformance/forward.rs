//! Images and counts against the twin, on every scene and pipeline.

use super::scenes::{Case, cases, random_scene};
use super::{Outcome, compare, ensure, gather, said};
use crate::twin::{self, TwinFrame};
use splatcore_core::backend::{Backend, RenderOptions, Rendered};
use splatcore_core::pipeline::{Blend, Intersect};
use splatcore_core::semantics::Semantics;
use splatcore_core::{Pipeline, Renderer};

/// Pixels that a scene may have near a cut-off before it tests too little.
const MOST_DOUBTFUL: f64 = 0.1;

/// Every scene of [`super::scenes`], every pipeline, within the scene's tolerance; other constants too.
pub fn images_match_the_twin(backend: &dyn Backend) -> Outcome {
    let mut outcomes = Vec::new();
    for case in cases() {
        outcomes.push(one_case(backend, &case));
    }
    outcomes.push(other_semantics(backend));
    gather(outcomes)
}

fn one_case(backend: &dyn Backend, case: &Case) -> Outcome {
    let mut renderer = backend
        .renderer(&case.scene)
        .map_err(|e| format!("{}: {}", case.name, said(e)))?;
    let mut outcomes = vec![ensure(renderer.count() == case.scene.len(), || {
        format!(
            "{}: {} Gaussians, not {}",
            case.name,
            renderer.count(),
            case.scene.len()
        )
    })];
    for &intersect in Intersect::ALL {
        let mut twin: Option<TwinFrame> = None;
        for pipeline in Pipeline::all().into_iter().filter(|p| p.intersect == intersect) {
            let options = case.options(pipeline);
            let twin = twin.get_or_insert_with(|| twin::render(&case.scene, &case.camera, &options));
            outcomes.push(enough_sure_pixels(case, twin));
            let what = format!("{}, {pipeline}", case.name);
            let rendered = match render(renderer.as_mut(), case, &options) {
                Ok(rendered) => rendered,
                Err(message) => {
                    outcomes.push(Err(format!("{what}: {message}")));
                    continue;
                }
            };
            outcomes.push(compare::frames(&what, twin, &rendered, case.image_tolerance));
        }
    }
    gather(outcomes)
}

fn render(renderer: &mut dyn Renderer, case: &Case, options: &RenderOptions) -> Result<Rendered, String> {
    renderer.render(&case.camera, options).map_err(said)
}

fn enough_sure_pixels(case: &Case, twin: &TwinFrame) -> Outcome {
    let doubtful = |d: &&twin::Doubt| d.colour > case.image_tolerance;
    let share = twin.doubts.iter().filter(doubtful).count() as f64 / twin.doubts.len() as f64;
    ensure(share <= MOST_DOUBTFUL, || {
        format!(
            "{}: {:.0} % of the pixels are near a cut-off",
            case.name,
            100.0 * share
        )
    })
}

/// Near plane and cap come from the options, not from constants.
fn other_semantics(backend: &dyn Backend) -> Outcome {
    let mut case = super::scenes::cases().swap_remove(0);
    case.name = "near plane 3.5, alpha at most 0.6".into();
    let options = |pipeline| RenderOptions {
        semantics: Semantics {
            near_plane: 3.5,
            alpha_max: 0.6,
        },
        ..case.options(pipeline)
    };
    let reference = twin::render(&case.scene, &case.camera, &case.options(Pipeline::AUTO));
    let mut renderer = backend.renderer(&case.scene).map_err(said)?;
    gather(Pipeline::all().into_iter().map(|pipeline| {
        let options = options(pipeline);
        let twin = twin::render(&case.scene, &case.camera, &options);
        ensure(twin.image != reference.image, || {
            "the constants change nothing".into()
        })?;
        let rendered = render(renderer.as_mut(), &case, &options)?;
        let what = format!("{}, {pipeline}", case.name);
        compare::frames(&what, &twin, &rendered, case.image_tolerance)
    }))
}

/// What `bench` reports: every pipeline blends the twin's fragments, evaluates no fewer, and `exact` with sub-tile
/// culling evaluates less than `aabb` without.
pub fn counts_match_the_twin(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(31, 900, 0);
    let camera = super::scenes::odd_camera(110, 75, 0.3);
    let mut renderer = backend.renderer(&scene).map_err(said)?;
    let mut evaluated = Vec::new();
    for pipeline in Pipeline::all() {
        let options = RenderOptions {
            pipeline,
            ..RenderOptions::default()
        };
        let counts = renderer.counts(&camera, &options).map_err(said)?;
        let twin = twin::render(&scene, &camera, &options);
        let doubtful = twin.doubts.iter().filter(|d| d.any).count() as u64;
        let what = format!("counts, {pipeline}");
        ensure(
            counts.fragments_blended.abs_diff(twin.fragments_blended) <= doubtful,
            || {
                format!(
                    "{what}: {} fragments blended, the twin has {} and {doubtful} pixels near a cut-off",
                    counts.fragments_blended, twin.fragments_blended
                )
            },
        )?;
        ensure(counts.fragments_evaluated >= counts.fragments_blended, || {
            format!(
                "{what}: {} evaluated, {} blended",
                counts.fragments_evaluated, counts.fragments_blended
            )
        })?;
        ensure(counts.visible as usize <= scene.len(), || {
            format!("{what}: {} Gaussians visible of {}", counts.visible, scene.len())
        })?;
        // `exact` may keep a few pairs of which roundings decide; `aabb` may drop those that no pixel sees.
        let (least, most) = match pipeline.intersect {
            Intersect::Aabb => (twin.pairs / 2, twin.pairs),
            Intersect::Exact => (twin.pairs - twin.pairs / 100, twin.pairs + twin.pairs / 20),
        };
        ensure((least..=most).contains(&counts.pairs), || {
            format!(
                "{what}: {} pairs, the twin has {} (from {least} to {most} are right)",
                counts.pairs, twin.pairs
            )
        })?;
        evaluated.push((pipeline, counts.fragments_evaluated));
    }
    let of = |intersect, blend| {
        let found = evaluated
            .iter()
            .find(|(p, _)| p.intersect == intersect && p.blend == blend);
        found.map_or(0, |&(_, count)| count)
    };
    let (fewest, most) = (
        of(Intersect::Exact, Blend::Splatcore),
        of(Intersect::Aabb, Blend::Scalar),
    );
    ensure(2 * fewest < most, || {
        format!("culling saves too little: {fewest} fragments evaluated instead of {most}")
    })
}
