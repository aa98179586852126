//! The whole trainer on the real CPU backend: it learns, and a resumed run ends bit for bit where
//! it would have.

use crate::common::{config, points, start, stopped_at};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Camera, Gaussians, LearnerState, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{BatchScaling, Config, Strategy};
use splatcore_train::{Outcome, Trainer, evaluate, init};
use std::sync::Arc;

/// A cloud of coloured blobs.
fn truth() -> Gaussians {
    let positions = points(40);
    let colours: Vec<[u8; 3]> = (0..40u8)
        .map(|i| [i * 6, 255 - i * 5, (i % 7) * 36])
        .collect();
    let mut scene =
        init::from_points(&positions, &colours, &Config::UNSET.complete(), 1.0).gaussians;
    scene.opacity_logits.fill(2.0);
    for scale in &mut scene.log_scales {
        *scale = scale.map(|v| v.min(-1.0));
    }
    scene
}

/// Photos of the cloud from a circle, 40x28 pixels: not a multiple of the tile.
fn photos(backend: &CpuBackend, n: usize) -> Arc<Vec<View>> {
    let mut renderer = backend.renderer(&truth()).unwrap();
    let view = |i: usize| {
        let angle = i as f64 * std::f64::consts::TAU / n as f64;
        let eye = [5.0 * angle.cos(), -1.0, 5.0 * angle.sin()];
        let camera = Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], 0.8, 40, 28);
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

fn assert_same(a: &LearnerState, b: &LearnerState) {
    let bits = |set: &Gaussians| -> Vec<u32> {
        let rows = [
            set.means.as_flattened(),
            set.log_scales.as_flattened(),
            set.rotations.as_flattened(),
            &set.opacity_logits,
            set.sh.as_flattened(),
        ];
        rows.concat().iter().map(|v| v.to_bits()).collect()
    };
    assert_eq!(a.gaussians.len(), b.gaussians.len());
    assert!(
        bits(&a.gaussians) == bits(&b.gaussians),
        "parameters differ"
    );
    assert!(bits(&a.first) == bits(&b.first), "first moments differ");
    assert!(bits(&a.second) == bits(&b.second), "second moments differ");
    assert_eq!((&a.gradient_sum, &a.seen), (&b.gradient_sum, &b.seen));
    assert_eq!(a.smoothing, b.smoothing, "3D filters differ");
}

#[test]
fn resuming_from_a_file_is_bit_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
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
        let mut whole = Trainer::new(
            &config.complete(),
            &backend,
            Arc::clone(&views),
            start(&config),
        )
        .unwrap();
        assert_eq!(whole.run(&mut ()).unwrap(), Outcome::Finished);
        let whole = whole.checkpoint().unwrap();
        assert!(whole.state.gaussians.len() > 40, "the set must have grown");
        // In between, at a refinement, just after a reset, at a reset and refinement, near the end.
        for stop in [17, 40, 71, 140, 233] {
            let first = Trainer::new(
                &config.complete(),
                &backend,
                Arc::clone(&views),
                start(&config),
            )
            .unwrap();
            // Another backend of another number of threads: only the file connects the two.
            let other = CpuBackend::new(Some(1));
            let checkpoint = stopped_at(first, stop, &path);
            let mut second =
                Trainer::resume(&config.complete(), &other, Arc::clone(&views), checkpoint)
                    .unwrap();
            assert_eq!(second.run(&mut ()).unwrap(), Outcome::Finished);
            let second = second.checkpoint().unwrap();
            assert_same(&second.state, &whole.state);
            assert_eq!(
                (second.order, second.smoothed_loss),
                (whole.order.clone(), whole.smoothed_loss)
            );
        }
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
        let mut trainer = Trainer::new(
            &config.complete(),
            &backend,
            Arc::clone(&train),
            start(&config),
        )
        .unwrap();
        let psnr = |trainer: &mut Trainer, views: &[View]| {
            let (renderer, options) = trainer.renderer().unwrap();
            evaluate(renderer, views, &options, &|_, _, _, _| ())
                .unwrap()
                .psnr
        };
        let before = psnr(&mut trainer, &test);
        trainer.run(&mut ()).unwrap();
        let (after, trained) = (psnr(&mut trainer, &test), psnr(&mut trainer, &train));
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
