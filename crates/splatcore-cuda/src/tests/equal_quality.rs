//! Equal quality on real scenes: the PSNR of every pipeline's image against the CPU's image in f32
//! is what its blend promises (`Blend::precision`).
//!
//! On a card: two trained models from the held-out cameras of the photos that they were trained on,
//! at full size; every blend with `exact` from all cameras, all other pairs of methods from the
//! first (`SPLATCORE_PIPELINES=all`: from all). On the emulator: `exact` with every blend on one
//! small cut-out at full resolution.
//!
//! Conservative intersects are compared with `exact`. Those that lose fragments by design are
//! compared with themselves on the CPU; what they lose is printed, not judged. The CPU has no blend
//! that loses fragments: what such a blend loses is printed, not judged.

use crate::CudaBackend;
use crate::tests::support::device::emulator;
use crate::tests::support::real::{card, cut_out, held_out, in_reach, model, models_of_held_out};
use splatcore_core::backend::{BackendError, RenderOptions};
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::{Blend, Intersect, Pipeline};
use splatcore_core::precision::EQUAL_QUALITY;
use splatcore_core::{Backend, Camera, Gaussians, Image, Renderer};
use splatcore_cpu::CpuBackend;
use std::collections::HashMap;

/// Below this an image is plainly broken: what the global-coordinate ablations of TC-GS must come
/// to in half precision.
const BROKEN: f64 = 30.0;

fn pipeline(intersect: Intersect, blend: Blend) -> Pipeline {
    Pipeline {
        intersect,
        blend,
        backward: blend.backward(),
    }
}

fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        ..RenderOptions::default()
    }
}

/// Whether fragments of alpha 1/255 or more may be lost, so that the image differs from that of
/// `exact`.
fn loses(intersect: Intersect) -> bool {
    !intersect.loses_nothing()
}

/// Images of the CPU by view, made once: of `exact` and of those that lose fragments.
struct References {
    renderer: Box<dyn Renderer>,
    images: HashMap<(usize, Intersect), Image>,
}

impl References {
    fn get(&mut self, view: usize, camera: &Camera, intersect: Intersect) -> &Image {
        self.images.entry((view, intersect)).or_insert_with(|| {
            let options = options(pipeline(intersect, Blend::Scalar));
            self.renderer.render(camera, &options).unwrap().image
        })
    }
}

fn promised(promise: Option<f64>, blend: Blend) -> String {
    match promise {
        _ if !blend.blends_as_scalar() => "not judged".into(),
        Some(least) => format!("{least:.0} promised"),
        None => "to fail".into(),
    }
}

/// Whether the worst image of a blend is as it promises; one that promises nothing must fail.
fn keeps(promise: Option<f64>, worst: f64, blend: Blend, whole: bool) -> bool {
    match promise {
        _ if !blend.blends_as_scalar() => true,
        Some(least) => worst >= least,
        // In whole images coordinates reach a thousand pixels; in a small cut-out they do not.
        None => {
            !whole || worst < BROKEN || (blend == Blend::TcGsGlobalTf32 && worst < EQUAL_QUALITY)
        }
    }
}

/// Renders every pipeline from its cameras; returns a line for each that breaks its promise.
fn failures(
    backend: &CudaBackend,
    name: &str,
    scene: &Gaussians,
    views: &[(Pipeline, Vec<&Camera>)],
    whole: bool,
) -> Vec<String> {
    let mut renderer = backend.renderer(scene).unwrap();
    let mut references = References {
        renderer: CpuBackend::new(None).renderer(scene).unwrap(),
        images: HashMap::new(),
    };
    let mut failures = Vec::new();
    let mut judged = 0;
    for (pipeline, cameras) in views {
        let own = if loses(pipeline.intersect) {
            pipeline.intersect
        } else {
            Intersect::Exact
        };
        let (mut worst, mut worst_of_exact, mut mean) = (f64::INFINITY, f64::INFINITY, 0.0);
        let mut lacking = false;
        for (view, camera) in cameras.iter().enumerate() {
            let image = match renderer.render(camera, &options(*pipeline)) {
                Ok(rendered) => rendered.image,
                Err(BackendError::Unsupported { .. }) => {
                    lacking = true;
                    break;
                }
                Err(error) => {
                    failures.push(format!("{name}: {pipeline}: {error}"));
                    lacking = true;
                    break;
                }
            };
            let psnr = psnr_between(&image, references.get(view, camera, own));
            mean += psnr / cameras.len() as f64;
            worst = worst.min(psnr);
            worst_of_exact = worst_of_exact.min(psnr_between(
                &image,
                references.get(view, camera, Intersect::Exact),
            ));
        }
        if lacking {
            eprintln!("{name}: {pipeline}: no image");
            continue;
        }
        judged += 1;
        let promise = backend.precision(pipeline.blend).psnr();
        let kept = keeps(promise, worst, pipeline.blend, whole);
        let line = format!(
            "{name}: {}+{}: {worst:.1} dB at worst and {mean:.1} in the mean of {} views{}, {} {}",
            pipeline.intersect,
            pipeline.blend,
            cameras.len(),
            if own == Intersect::Exact {
                String::new()
            } else {
                format!(" ({worst_of_exact:.1} against exact)")
            },
            promised(promise, pipeline.blend),
            if kept { "ok" } else { "MISSED" }
        );
        eprintln!("{line}");
        if !kept {
            failures.push(line);
        }
    }
    assert!(
        judged >= Blend::COMMON.len(),
        "{name}: nothing was rendered"
    );
    failures
}

fn report(failures: Vec<String>) {
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn whole_images_on_a_card() {
    let Some(backend) = card() else {
        eprintln!("skipped: whole images need a card");
        return;
    };
    let Some(cameras) = held_out() else { return };
    let everywhere = std::env::var("SPLATCORE_PIPELINES").is_ok_and(|wish| wish == "all");
    let mut all = Vec::new();
    for (name, scene) in models_of_held_out() {
        let views: Vec<_> = Pipeline::combinations(Blend::ALL)
            .into_iter()
            .map(|pipeline| {
                let count = if everywhere || pipeline.intersect == Intersect::Exact {
                    cameras.len()
                } else {
                    1
                };
                (pipeline, cameras.iter().take(count).collect())
            })
            .collect();
        all.extend(failures(&backend, name, &scene, &views, true));
    }
    report(all);
}

/// Of interpolated images not all pixels are blended. The reference is the card's own in f32, as
/// the CPU takes minutes.
#[test]
fn interpolated_images_on_a_card() {
    let Some(backend) = card() else {
        eprintln!("skipped: large images need a card");
        return;
    };
    let Some(cameras) = held_out() else { return };
    for (name, scene) in models_of_held_out() {
        let mut renderer = backend.renderer(&scene).unwrap();
        let mut image = |camera: &Camera, blend: Blend| {
            let mut options = options(pipeline(Intersect::Exact, blend));
            options.interpolate = true;
            renderer.render(camera, &options).unwrap().image
        };
        for [width, height] in [[3840, 2160], [2160, 3840]] {
            let mut worst = f64::INFINITY;
            for whole in &cameras {
                let camera = whole.with_size(width, height);
                let [interpolated, wanted] =
                    [Blend::Splatcore, Blend::Scalar].map(|blend| image(&camera, blend));
                worst = worst.min(psnr_between(&interpolated, &wanted));
            }
            eprintln!("{name}, {width}x{height}: {worst:.2} dB at worst");
            assert!(worst >= EQUAL_QUALITY, "{name}: {worst} dB");
        }
    }
}

#[test]
fn a_cut_out_on_the_emulator() {
    if card().is_some() {
        eprintln!("skipped: whole images are rendered on the card");
        return;
    }
    let Some(emulated) = emulator() else { return };
    let (Some(cameras), Some(scene)) = (held_out(), model("models/fox_220k.spz")) else {
        return;
    };
    let cut_out = cut_out(&cameras[1], 96, 64);
    let scene = in_reach(&scene, &cut_out);
    eprintln!("{} Gaussians", scene.len());
    let backend = CudaBackend::on(emulated, false);
    let views: Vec<_> = Blend::ALL
        .iter()
        .map(|&blend| (pipeline(Intersect::Exact, blend), vec![&cut_out]))
        .collect();
    report(failures(
        &backend,
        "cut-out of fox_220k.spz",
        &scene,
        &views,
        false,
    ));
}
