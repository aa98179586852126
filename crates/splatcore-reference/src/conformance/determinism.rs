//! Same seed, same backend, same machine: same result, bit for bit (docs/design/determinism.md).

pub use super::bits::{bits, state_bits};
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{odd_camera, random_scene, views};
use super::selection::{Selection, Weight};
use super::step::plan;
use splatcore_core::backend::{Backend, Refine, RenderOptions};
use splatcore_core::columns::{Column, ColumnPlan};
use splatcore_core::pipeline::Blend;
use splatcore_core::{Camera, Image, Learner, Pipeline, Renderer};
use std::sync::Arc;

fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        background: [0.1, 0.2, 0.3],
        ..RenderOptions::default()
    }
}

type Bits = (Vec<u32>, Vec<u32>);

/// Image and gradients as bits; no gradients of a pipeline that has those of another.
fn results(
    renderer: &mut dyn Renderer,
    camera: &Camera,
    pipeline: Pipeline,
) -> Result<Bits, String> {
    let options = options(pipeline);
    let rendered = renderer.render(camera, &options).map_err(said)?;
    let image = rendered
        .image
        .data
        .as_flattened()
        .iter()
        .chain(&rendered.transmittance)
        .map(|v| v.to_bits())
        .collect();
    if !Blend::COMMON.contains(&pipeline.blend) {
        return Ok((image, Vec::new()));
    }
    let data = (0..rendered.image.data.len())
        .map(|i| [0.3, -0.7, 0.5].map(|w| w * ((i % 7) as f32 - 3.0)))
        .collect();
    let gradient = Image {
        width: camera.width,
        height: camera.height,
        data,
    };
    let gradients = renderer
        .gradients(camera, &options, &gradient.clone().into())
        .map_err(said)?;
    Ok((image, bits(&gradients)))
}

/// Image and gradients twice from one renderer and once from another are the same bits, for every
/// pipeline.
pub fn runs_are_bit_equal(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(41, 700, 1);
    let camera = odd_camera(90, 61, 0.2);
    for pipeline in Selection::new(backend)?.pipelines(Weight::Blends) {
        let mut renderer = backend.renderer(&scene).map_err(said)?;
        let first = results(renderer.as_mut(), &camera, pipeline)?;
        let second = results(renderer.as_mut(), &camera, pipeline)?;
        let third = results(
            backend.renderer(&scene).map_err(said)?.as_mut(),
            &camera,
            pipeline,
        )?;
        for (name, other) in [("a second run", second), ("another renderer", third)] {
            ensure(first.0 == other.0, || {
                format!("{pipeline}: {name} gives another image")
            })?;
            ensure(first.1 == other.1, || {
                format!("{pipeline}: {name} gives other gradients")
            })?;
        }
    }
    Ok(())
}

/// A small view after a large one, and after another pipeline, is what it is in a fresh renderer.
pub fn buffers_are_not_remembered(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(42, 400, 0);
    let small = odd_camera(35, 22, 0.5);
    let large = odd_camera(160, 120, -0.4);
    let mut used = backend.renderer(&scene).map_err(said)?;
    for pipeline in Selection::new(backend)?.pipelines(Weight::Blends) {
        let fresh = results(
            backend.renderer(&scene).map_err(said)?.as_mut(),
            &small,
            pipeline,
        )?;
        results(used.as_mut(), &large, pipeline)?;
        let found = results(used.as_mut(), &small, pipeline)?;
        ensure(fresh == found, || {
            format!("{pipeline}: a view after a larger one is not what it is in a fresh renderer")
        })?;
    }
    Ok(())
}

/// Fast enough that some Gaussians are masked within eight steps.
const MASKS: ColumnPlan = ColumnPlan {
    weight: 1e-3,
    rate: 1.2,
};

/// Runs some steps with a refinement among them, with both filters and learned masks if `extras`;
/// returns the state as bits.
fn go_on(learner: &mut dyn Learner, from: u32, extras: bool) -> Result<Vec<u32>, String> {
    for step in from..from + 4 {
        let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
        plan.noise = Some(1e-3);
        plan.render.antialias = extras;
        plan.columns[Column::Mask] = extras.then_some(MASKS);
        // Not with the first steps after a restore: what was computed before must be there.
        if extras && step % 4 == 3 {
            learner
                .refine(&Refine::ComputeColumn(Column::Filter))
                .map_err(said)?;
        }
        learner.step(&plan).map_err(said)?;
        if step == from + 1 {
            let refine = Refine::Adc {
                gradient_threshold: 1e-3,
                split_scale: 0.1,
                min_opacity: 0.02,
                max_scale: None,
                max_gaussians: 260,
                budget: None,
                region: None,
                seed: 5,
                step,
            };
            learner.refine(&refine).map_err(said)?;
        }
        if extras && step == from + 2 {
            learner
                .refine(&Refine::PruneByColumn(Column::Mask))
                .map_err(said)?;
        }
    }
    Ok(state_bits(&learner.snapshot().map_err(said)?))
}

/// Snapshot, go on; restore into another learner, go on: the same bits. The snapshot itself comes
/// back unchanged.
pub fn snapshots_go_on_bit_for_bit(backend: &dyn Backend) -> Outcome {
    gather([false, true].map(|extras| one_goes_on_bit_for_bit(backend, extras)))
}

fn one_goes_on_bit_for_bit(backend: &dyn Backend, extras: bool) -> Outcome {
    let views = Arc::new(views());
    let scene = random_scene(43, 200, 2);
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    go_on(learner.as_mut(), 1, extras)?;
    let snapshot = learner.snapshot().map_err(said)?;
    ensure(
        Column::ALL
            .iter()
            .all(|&column| snapshot.columns.has(column) == extras),
        || "filters or masks are not in the snapshot".into(),
    )?;
    let straight_on = go_on(learner.as_mut(), 5, extras)?;
    // Another number of Gaussians, and used: nothing of it may survive.
    let mut other = backend
        .learner(&random_scene(44, 50, 2), views)
        .map_err(said)?;
    go_on(other.as_mut(), 1, extras)?;
    other.restore(&snapshot).map_err(said)?;
    let restored = other.snapshot().map_err(said)?;
    ensure(state_bits(&restored) == state_bits(&snapshot), || {
        "a restored snapshot is not the snapshot".into()
    })?;
    ensure(other.count() == snapshot.gaussians.len(), || {
        "the count after restoring is not the snapshot's".into()
    })?;
    let resumed = go_on(other.as_mut(), 5, extras)?;
    ensure(resumed == straight_on, || {
        "training goes on differently after a restore".into()
    })?;
    let mut back = learner;
    back.restore(&snapshot).map_err(said)?;
    let again = go_on(back.as_mut(), 5, extras)?;
    ensure(again == straight_on, || {
        "going back to a snapshot and on gives another result".into()
    })
}
