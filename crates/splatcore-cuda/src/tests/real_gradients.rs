//! Gradients on a real scene: cut-outs of a trained model at full resolution, every backward method
//! against the f64 twin.
//!
//! Where a comparison is in doubt (alpha near 1/255 or the cap, transmittance near 1e-4, depths
//! that f32 does not tell apart) a rounding decides whether a fragment is there at all. The image's
//! gradient is zero at those pixels, on both sides; everywhere else the bound for f32
//! of docs/conventions.md holds: relative L2 at most 1e-4 for each group of parameters.
//!
//! Trained scenes have needles, and of a needle's projected covariance f32 keeps the smaller
//! eigenvalue to no more than half an epsilon times the ratio of both
//! (`splatcore_reference::conformance::gradients`). One needle of 266 pixels by 1.7 that reaches
//! into an image from outside makes nearly all of the error of its scales: 4e-4 in one of the
//! cut-outs on the CPU, where the 6063 of 8530 Gaussians that f32 can hold to the bound have 7e-6.
//! So on the larger cut-outs the bound is for those (seven to eight of ten, with 95 % of the norm
//! of the scales' gradient), and for all together what the ratio leaves. On the small cut-out it
//! holds for all.
//!
//! On a card four cut-outs of 256x192 pixels; on the emulator one of 96x64.

use crate::CudaBackend;
use crate::tests::support::device::emulated;
use crate::tests::support::real::{card, cut_out, held_out, in_reach, model};
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Blend, Intersect, Pipeline};
use splatcore_core::random::Rng;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Backend, Camera, Gaussians, Image};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::compare::norm;
use splatcore_reference::twin::project::project;
use splatcore_reference::twin::{self, Group, Scene};

/// The bound of docs/conventions.md, relative L2, in f32.
const TOLERANCE: f64 = 1e-4;
/// About as many roundings go into a projected covariance and back out of its inverse.
const ROUNDINGS: f64 = 16.0;
/// Share of the pixels that must be left to compare. Where hundreds of fragments meet in a pixel,
/// one of them often is near a cut-off.
const SURE: f64 = 0.25;

fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        ..RenderOptions::default()
    }
}

/// Lists that lose nothing and arithmetic in f32, as the twin has.
const PLAIN: Pipeline = Pipeline {
    intersect: Intersect::Exact,
    blend: Blend::Scalar,
    backward: Backward::Atomic,
};

fn behind(blend: Blend, backward: Backward) -> Pipeline {
    Pipeline {
        blend,
        backward,
        ..PLAIN
    }
}

/// Every way to bring gradients together, and published blends, whose authors' code has no backward
/// pass.
fn pipelines() -> Vec<Pipeline> {
    let methods = Pipeline::backward_variants().into_iter();
    let published = [Blend::EarlyCull, Blend::TcGs, Blend::GemmGs];
    methods
        .chain(published.map(|blend| behind(blend, Backward::Subtile)))
        .collect()
}

/// A random gradient of the image, zero where a comparison is in doubt, and the share of pixels
/// where none is.
fn sure_gradient(scene: &Gaussians, camera: &Camera) -> (Image, f64) {
    let mut rng = Rng::new(29, 4);
    let doubts = twin::render(scene, camera, &options(PLAIN)).doubts;
    let sure = doubts.iter().filter(|doubt| !doubt.any).count();
    let data = doubts
        .iter()
        .map(|doubt| {
            let gradient = [0; 3].map(|_| rng.normal());
            if doubt.any { [0.0; 3] } else { gradient }
        })
        .collect();
    let image = Image {
        width: camera.width,
        height: camera.height,
        data,
    };
    (image, sure as f64 / doubts.len() as f64)
}

/// Relative L2 error and cosine of a group's rows that are `kept`.
fn error_of(want: &[f64], got: &[f64], kept: &[bool]) -> (f64, f64) {
    let width = want.len() / kept.len().max(1);
    let pick = |values: &[f64]| -> Vec<f64> {
        let rows = values
            .chunks(width.max(1))
            .zip(kept)
            .filter(|(_, kept)| **kept);
        rows.flat_map(|(row, _)| row.to_vec()).collect()
    };
    let (want, got) = (pick(want), pick(got));
    let difference: Vec<f64> = want.iter().zip(&got).map(|(w, g)| w - g).collect();
    let product: f64 = want.iter().zip(&got).map(|(w, g)| w * g).sum();
    (
        norm(&difference) / norm(&want),
        product / (norm(&want) * norm(&got)),
    )
}

/// What f32 leaves of each Gaussian's projected shape.
fn losses(scene: &Gaussians, camera: &Camera) -> Vec<f64> {
    let scene = Scene::from(scene);
    let loss = |i| {
        let Some(splat) = project(&scene, i, camera, NEAR_PLANE, 0) else {
            return 0.0;
        };
        let [a, b, c] = splat.covariance;
        let (middle, root) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
        ROUNDINGS * 0.5 * f32::EPSILON as f64 * (middle + root) / (middle - root)
    };
    (0..scene.len()).map(loss).collect()
}

/// A line for each group and method that misses a bound; `strict` if needles are no excuse.
fn misses(
    backend: &dyn Backend,
    pipelines: &[Pipeline],
    strict: bool,
    name: &str,
    scene: &Gaussians,
    camera: &Camera,
) -> Vec<String> {
    let scene = in_reach(scene, camera);
    let (gradient, sure) = sure_gradient(&scene, camera);
    let wide: Vec<[f64; 3]> = gradient.data.iter().map(|g| g.map(f64::from)).collect();
    let want = twin::gradients(&scene, camera, &options(PLAIN), &wide).scene;
    let losses = losses(&scene, camera);
    let (all, round) = (
        vec![true; losses.len()],
        losses.iter().map(|&loss| loss <= TOLERANCE),
    );
    let round: Vec<bool> = round.collect();
    let loosest = match strict {
        true => TOLERANCE,
        false => losses.iter().copied().fold(TOLERANCE, f64::max),
    };
    eprintln!(
        "{name}: {} Gaussians, {} of them no needles; {:.1} % of the pixels are sure",
        scene.len(),
        round.iter().filter(|round| **round).count(),
        100.0 * sure
    );
    let mut missed = Vec::new();
    if sure < SURE {
        missed.push(format!(
            "{name}: only {:.1} % of the pixels are sure",
            100.0 * sure
        ));
    }
    let mut renderer = backend.renderer(&scene).unwrap();
    for &pipeline in pipelines {
        let found = renderer
            .gradients(camera, &options(pipeline), &gradient.clone().into())
            .unwrap();
        let found = Scene::from(&found);
        let bound = backend.gradient_tolerance(pipeline);
        let of_all = ("all", &all, loosest.max(bound));
        for (of, kept, tolerance) in [of_all, ("no needles", &round, bound)] {
            let mut line = format!("{name}: {pipeline}, {of}:");
            for group in Group::ALL {
                let (error, cosine) = error_of(&want.group(group), &found.group(group), kept);
                line += &format!(" {group:?} {error:.1e}");
                // `<=` and `>=` are false for NaN.
                // An error of that size at right angles: below 0.9999 for the published blends in
                // halves alone.
                let least_cosine = (1.0 - 0.5 * tolerance * tolerance).min(0.9999);
                if !(error <= tolerance && cosine >= least_cosine) {
                    missed.push(format!(
                        "{name}: {pipeline}, {of}: {group:?}: {error:.2e}, cosine {cosine:.6}"
                    ));
                }
            }
            eprintln!("{line}");
        }
    }
    missed
}

#[test]
fn a_real_scene_has_the_twins_gradients() {
    let (Some(cameras), Some(scene)) = (held_out(), model("models/fox_220k.spz")) else {
        return;
    };
    let (backend, cut_outs) = match card() {
        Some(backend) => {
            let four = cameras.iter().take(4);
            (
                backend,
                four.map(|camera| cut_out(camera, 256, 192)).collect(),
            )
        }
        None => {
            let Some(emulated) = emulated() else { return };
            (CudaBackend::on(emulated, false), Vec::new())
        }
    };
    let small = cut_out(&cameras[1], 96, 64);
    let mut missed = misses(
        &backend,
        &pipelines(),
        true,
        "small cut-out",
        &scene,
        &small,
    );
    for (i, camera) in cut_outs.iter().enumerate() {
        let name = format!("cut-out {i}");
        missed.extend(misses(&backend, &pipelines(), false, &name, &scene, camera));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The CPU backend is held to the same.
#[test]
fn so_has_the_cpu() {
    let (Some(cameras), Some(scene)) = (held_out(), model("models/fox_220k.spz")) else {
        return;
    };
    let backend = CpuBackend::new(None);
    let methods = [PLAIN, Pipeline::AUTO];
    let small = cut_out(&cameras[1], 96, 64);
    let mut missed = misses(
        &backend,
        &methods,
        true,
        "small cut-out, cpu",
        &scene,
        &small,
    );
    // With the longest needle.
    let large = cut_out(&cameras[3], 256, 192);
    missed.extend(misses(
        &backend,
        &methods,
        false,
        "cut-out 3, cpu",
        &scene,
        &large,
    ));
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
