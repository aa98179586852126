//! Depth maps on the real CPU backend: they bring the depths of few photos right, also where some
//! are wrong, and a resumed run ends bit for bit where it would have.

use crate::blobs::{blobs, camera, resumed};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::depth::DepthMap;
use splatcore_core::{Gaussians, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{Config, Depths};
use splatcore_train::{Evaluation, Trainer, evaluate};
use std::sync::Arc;

fn truth() -> Gaussians {
    blobs(60, |i| [i * 4, 240 - i * 4, (i % 7) * 30], 3.0)
}

/// Photos of the cloud with the depths that are rendered of it, of which every so many-th is wrong.
fn views(backend: &CpuBackend, angles: &[f64], wrong_every: usize) -> Vec<View> {
    let mut renderer = backend.renderer(&truth()).unwrap();
    let options = RenderOptions {
        inverse_depth: true,
        ..RenderOptions::default()
    };
    let mut view = |&angle: &f64| {
        let camera = camera(angle);
        let rendered = renderer.render(&camera, &options).unwrap();
        let depth = rendered.depth().unwrap().into_iter().enumerate();
        let known = depth.map(|(i, z)| match rendered.transmittance[i] < 0.05 {
            true if i % wrong_every == 7 => 1.0,
            true => 1.0 / z,
            false => 0.0,
        });
        View {
            name: format!("{angle}.png"),
            camera,
            photo: Photo {
                depth: Some(Arc::new(DepthMap {
                    width: 40,
                    height: 28,
                    inverse: known.collect(),
                    normals: Vec::new(),
                })),
                ..Photo::opaque(40, 28, rendered.image.to_bytes())
            },
        }
    };
    angles.iter().map(&mut view).collect()
}

fn config(depths: Depths) -> Config {
    Config {
        iterations: Some(300),
        sh_degree: Some(1),
        seed: Some(3),
        test_every: Some(0),
        checkpoint_every: Some(0),
        depths: Some(depths),
        ..Config::UNSET
    }
}

fn trainer(backend: &CpuBackend, config: &Config, views: &Arc<Vec<View>>) -> Trainer {
    // A fifth too far from the middle.
    let mut start = truth().with_sh_degree(1);
    for mean in &mut start.means {
        *mean = mean.map(|v| 1.2 * v);
    }
    Trainer::new(&config.complete(), backend, Arc::clone(views), start).unwrap()
}

#[test]
fn depths_bring_few_photos_right() {
    let backend = CpuBackend::new(None);
    let test = views(&backend, &[0.0, 0.15, 0.3], usize::MAX);
    let run = |depths, wrong_every| {
        let train = Arc::new(views(&backend, &[0.0, 0.3], wrong_every));
        let mut trainer = trainer(&backend, &config(depths), &train);
        trainer.run(&mut ()).unwrap();
        let (renderer, options) = trainer.renderer().unwrap();
        evaluate(renderer, &test, &options, &|_, _, _, _| ()).unwrap()
    };
    let without = run(Depths::None, usize::MAX);
    let off = |found: &Evaluation| found.depth.unwrap().absolute_relative;
    for wrong_every in [usize::MAX, 20] {
        let with = run(Depths::Auto, wrong_every);
        eprintln!(
            "held-out PSNR {:.2} without, {:.2} with; depths off by {:.4} and {:.4}",
            without.psnr,
            with.psnr,
            off(&without),
            off(&with)
        );
        assert!(
            off(&with) < 0.6 * off(&without),
            "wrong: one of {wrong_every}"
        );
        assert!(with.psnr > without.psnr - 0.5);
        let json = serde_json::to_string(&with).unwrap();
        assert_eq!(json.matches("depth_absolute_relative").count(), 4, "{json}");
        assert_eq!(json.matches("depth_rmse").count(), 4, "{json}");
    }
}

#[test]
fn photos_without_depths_are_measured_without() {
    let backend = CpuBackend::new(None);
    let mut views = views(&backend, &[0.0, 0.3], 20);
    views.iter_mut().for_each(|view| view.photo.depth = None);
    let mut renderer = backend.renderer(&truth()).unwrap();
    let found = evaluate(
        &mut *renderer,
        &views,
        &RenderOptions::default(),
        &|_, _, _, _| (),
    );
    let json = serde_json::to_string(&found.unwrap()).unwrap();
    assert!(!json.contains("depth"), "{json}");
}

#[test]
fn resuming_with_depths_is_bit_exact() {
    let backend = CpuBackend::new(Some(2));
    let config = config(Depths::Auto);
    let views = Arc::new(views(&backend, &[0.0, 0.3, 2.0], 20));
    let (end, _) = resumed(|| trainer(&backend, &config, &views), &views, &[133]);
    let without = Config {
        depth_weight: Some(0.0),
        ..config
    };
    let mut without = trainer(&backend, &without, &views);
    without.run(&mut ()).unwrap();
    let scene = without.scene().unwrap();
    assert!(end.state.gaussians != scene, "depths change nothing");
}
