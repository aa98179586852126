//! Pruning, fewer harmonics and fine-tuning on a small scene that is trained here.

use crate::blobs::psnr;
use crate::poses::captured;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, View};
use splatcore_cpu::CpuBackend;
use splatcore_data::procedural::ProceduralOptions;
use splatcore_train::config::Config;
use splatcore_train::prune::{self, Keep, Score};
use splatcore_train::{Trainer, init};
use std::sync::Arc;

struct Trained {
    backend: CpuBackend,
    train: Arc<Vec<View>>,
    test: Vec<View>,
    scene: Gaussians,
}

impl Trained {
    fn new() -> Self {
        let capture = captured(&ProceduralOptions {
            width: 96,
            height: 72,
            views: 24,
            points: 1500,
            ..ProceduralOptions::default()
        });
        let config = Config {
            iterations: Some(700),
            sh_every: Some(100),
            densify_from: Some(60),
            densify_until: Some(500),
            opacity_reset_every: Some(10_000),
            ..Config::UNSET
        };
        let config = config.complete();
        let points = &capture.points;
        let start = init::from_points(&points.positions, &points.colours, &config, 1.0).gaussians;
        let (backend, train) = (CpuBackend::new(Some(2)), Arc::new(capture.train));
        let mut trainer = Trainer::new(&config, &backend, Arc::clone(&train), start).unwrap();
        trainer.run(&mut ()).unwrap();
        Self {
            scene: trainer.scene().unwrap(),
            test: capture.test,
            backend,
            train,
        }
    }

    fn psnr(&self, scene: &Gaussians, views: &[View]) -> f64 {
        let mut renderer = self.backend.renderer(scene).unwrap();
        psnr(&mut *renderer, views, &RenderOptions::default())
    }

    fn kept(&self, scores: &[f64]) -> Gaussians {
        let best = prune::best(scores, Keep::Share(0.4).of(scores.len()));
        let mut scene = self.scene.clone();
        scene.retain(|i| best[i]);
        scene
    }
}

#[test]
fn a_small_scene_gets_smaller() {
    let trained = Trained::new();
    let (scene, options) = (&trained.scene, RenderOptions::default());
    let mut renderer = trained.backend.renderer(scene).unwrap();
    let mut told = 0;
    let tell = &mut |done| told = done;
    let shown = prune::visibility(&mut *renderer, &trained.train, &options, tell).unwrap();
    assert_eq!(told, trained.train.len());

    // What is kept by a score is better than what is kept by opacity alone, or by chance.
    let psnr = |scores: &[f64]| trained.psnr(&trained.kept(scores), &trained.test);
    let by_score = psnr(&Score::Transmittance.of(scene, &shown));
    let by_lightgaussian = psnr(&Score::LightGaussian.of(scene, &shown));
    let opacities: Vec<f64> = scene.opacity_logits.iter().map(|&o| o.into()).collect();
    let by_opacity = psnr(&opacities);
    let mut rng = Rng::new(3, 0);
    let random: Vec<f64> = opacities.iter().map(|_| rng.uniform().into()).collect();
    let by_chance = psnr(&random);
    let whole = trained.psnr(scene, &trained.test);
    let report = format!(
        "{} Gaussians, whole {whole:.2} dB, by alpha T {by_score:.2}, by LightGaussian \
         {by_lightgaussian:.2}, by opacity {by_opacity:.2}, by chance {by_chance:.2}",
        scene.len()
    );
    eprintln!("{report}");
    let worst_score = by_score.min(by_lightgaussian);
    assert!(
        worst_score > by_opacity + 0.5 && by_opacity > by_chance + 0.5,
        "{report}"
    );

    // Fitted harmonics are better than cut ones.
    let kept = trained.kept(&Score::Transmittance.of(scene, &shown));
    let mut renderer = trained.backend.renderer(&kept).unwrap();
    let views = &trained.train;
    let reduced = prune::reduced(&kept, 1, &mut *renderer, views, &options, &mut |_| ()).unwrap();
    let cut = kept.with_sh_degree(1);
    let [fitted, cut] = [&reduced, &cut].map(|scene| trained.psnr(scene, views));
    eprintln!("harmonics fitted {fitted:.2} dB, cut {cut:.2}");
    assert!(fitted > cut, "{fitted} {cut}");

    // Steps make up for what went, and neither add nor remove.
    let before = trained.psnr(&reduced, &trained.test);
    let config = prune::finetuning(300, 1).resolve().unwrap();
    let count = reduced.len();
    let mut trainer = Trainer::new(&config, &trained.backend, Arc::clone(views), reduced).unwrap();
    trainer.run(&mut ()).unwrap();
    let tuned = trainer.scene().unwrap();
    assert_eq!((tuned.len(), tuned.sh_degree), (count, 1));
    let after = trained.psnr(&tuned, &trained.test);
    eprintln!("fine-tuned {after:.2} dB, before {before:.2}");
    assert!(after > before + 1.0, "{after} {before}");
    settles(&trained, tuned);
}

/// Steps make up for much of what rounding did, and leave what was rounded as it is.
fn settles(trained: &Trained, unrounded: Gaussians) {
    let mut scene = unrounded.clone();
    for values in [&mut scene.log_scales[..], &mut scene.sh[..]] {
        for value in values.as_flattened_mut() {
            *value = (value.mul_add(4.0, 0.5)).floor() / 4.0;
        }
    }
    let whole = trained.psnr(&unrounded, &trained.test);
    let rounded = scene.clone();
    let views = Arc::clone(&trained.train);
    let config = prune::settling(200, 1).resolve().unwrap();
    let mut trainer = Trainer::new(&config, &trained.backend, views, scene).unwrap();
    trainer.run(&mut ()).unwrap();
    let settled = trainer.scene().unwrap();
    assert_eq!(settled.log_scales, rounded.log_scales);
    assert_eq!(settled.rotations, rounded.rotations);
    let higher = |scene: &Gaussians| -> Vec<_> {
        (0..scene.len())
            .map(|i| scene.sh_of(i)[1..].to_vec())
            .collect()
    };
    assert_eq!(higher(&settled), higher(&rounded));
    let [before, after] = [&rounded, &settled].map(|scene| trained.psnr(scene, &trained.test));
    eprintln!("settled {after:.2} dB, rounded {before:.2}");
    assert!(before < whole - 0.2, "{before} {whole}");
    assert!(after > (before + whole) / 2.0, "{after} {before} {whole}");
    assert_eq!(prune::shared_out(3000), [2100, 900]);
    assert_eq!(prune::shared_out(1), [1, 0]);
}
