//! The whole trainer on the real CPU backend: it learns, and a resumed run ends bit for bit where
//! it would have.

use crate::blobs::{camera_of, psnr_of, resumed, small_blobs};
use crate::common::{config, start};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Gaussians, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::Trainer;
use splatcore_train::config::{BatchScaling, Config, Strategy};
use std::sync::Arc;

fn truth() -> Gaussians {
    small_blobs(40, |i| [i * 6, 255 - i * 5, (i % 7) * 36], 2.0)
}

/// Photos of the cloud from a circle.
fn photos(backend: &CpuBackend, n: usize) -> Arc<Vec<View>> {
    let mut renderer = backend.renderer(&truth()).unwrap();
    let view = |i: usize| {
        let camera = camera_of(i, n);
        let image = renderer
            .render(&camera, &RenderOptions::default())
            .unwrap()
            .image;
        View {
            name: format!("{i:03}.png"),
            camera,
            photo: Photo::opaque(40, 28, image.to_bytes()),
        }
    };
    Arc::new((0..n).map(view).collect())
}

#[test]
fn resuming_from_a_file_is_bit_exact() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 8);
    for (strategy, antialias, batch) in [
        (Strategy::Splatcore, false, 1),
        (Strategy::Adc, false, 1),
        (Strategy::Mcmc, false, 1),
        (Strategy::Adc, true, 1),
        // Not a divisor of the 8 photos: rounds through them meet within a step.
        (Strategy::Adc, true, 3),
    ] {
        let config = Config {
            antialias: Some(antialias),
            batch: Some(batch),
            batch_scaling: (batch > 1).then_some(BatchScaling::Sqrt),
            ..config(strategy)
        };
        let new = || {
            let views = Arc::clone(&views);
            Trainer::new(&config.complete(), &backend, views, start(&config)).unwrap()
        };
        // In between, at a refinement, just after a reset, at a reset and refinement, near the end.
        let (end, _) = resumed(new, &views, &[17, 40, 71, 140, 233]);
        assert!(end.state.gaussians.len() > 40, "the set must have grown");
    }
}

/// Photos 12 degrees apart leave a held-out view little room for invention, so it must come out
/// almost as well as the photos that were trained on.
#[test]
fn training_brings_the_photos_back() {
    let backend = CpuBackend::new(None);
    let views = photos(&backend, 30);
    let held_out = |i: usize| i.is_multiple_of(5);
    let keep = |wanted: bool| -> Vec<View> {
        let chosen = views
            .iter()
            .enumerate()
            .filter(|(i, _)| held_out(*i) == wanted);
        chosen.map(|(_, view)| view.clone()).collect()
    };
    let (test, train) = (keep(true), Arc::new(keep(false)));
    for strategy in [Strategy::Adc, Strategy::Mcmc] {
        let config = Config {
            iterations: Some(2000),
            sh_degree: Some(1),
            densify_until: Some(1000),
            opacity_reset_every: Some(5000),
            ..config(strategy)
        };
        let (views, start) = (Arc::clone(&train), start(&config));
        let mut trainer = Trainer::new(&config.complete(), &backend, views, start).unwrap();
        let before = psnr_of(&mut trainer, &test);
        trainer.run(&mut ()).unwrap();
        let after = psnr_of(&mut trainer, &test);
        let trained = psnr_of(&mut trainer, &train);
        let (first, last) = (
            trainer.curve()[0],
            trainer.curve()[trainer.curve().len() - 1],
        );
        eprintln!(
            "{strategy:?}: held-out {before:.2} -> {after:.2} dB, trained {trained:.2} dB; \
             {first:?} -> {last:?}"
        );
        assert!(
            after > before + 10.0 && after > 30.0,
            "{strategy:?}: {before} -> {after} dB"
        );
        assert!(last.loss < 0.25 * first.loss, "{first:?} -> {last:?}");
    }
}
