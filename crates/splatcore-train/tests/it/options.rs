//! Options of training on the real CPU backend: runs with them resume bit for bit, learn, and do
//! what they claim.

use crate::blobs::{self, camera, camera_of, resumed, small_blobs, trainer};
use crate::common::{config, start};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::columns::Column;
use splatcore_core::columns::learned_masks::is_on;
use splatcore_core::{Gaussians, Photo, View, metrics};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{
    Background, Config, DensifyStatistic, Optimizer, ResolutionSchedule, Strategy,
};
use splatcore_train::{Outcome, Trainer};
use std::sync::Arc;

/// A cloud of blobs, some of them black.
fn truth() -> Gaussians {
    let colour = |i| match i % 3 {
        0 => [0; 3],
        _ => [i * 6, 255 - i * 5, (i % 7) * 36],
    };
    small_blobs(40, colour, 3.0)
}

/// Photos of the cloud from a circle on black, with alpha if wanted.
pub fn photos(backend: &CpuBackend, n: usize, alpha: bool) -> Arc<Vec<View>> {
    let mut renderer = backend.renderer(&truth()).unwrap();
    let view = |i: usize| {
        let camera = camera_of(i, n);
        let rendered = renderer.render(&camera, &RenderOptions::default()).unwrap();
        let opaque = |t: &f32| ((1.0 - t) * 255.0 + 0.5) as u8;
        View {
            name: format!("{i:03}.png"),
            camera,
            photo: Photo {
                alpha: alpha.then(|| rendered.transmittance.iter().map(opaque).collect()),
                ..Photo::opaque(40, 28, rendered.image.to_bytes())
            },
        }
    };
    Arc::new((0..n).map(view).collect())
}

pub fn all_options(strategy: Strategy) -> Config {
    Config {
        optimizer: Some(Optimizer::SparseAdam),
        resolution_schedule: Some(ResolutionSchedule::CoarseToFine),
        coarse_until: Some(120),
        background: Some(Background::Random),
        antialias: Some(true),
        exposure: Some(true),
        prune_floaters: Some(0.8),
        prune_every: Some(40),
        ..match strategy {
            Strategy::Mcmc => config(strategy),
            Strategy::Splatcore | Strategy::Adc => Config {
                densify_statistic: Some(DensifyStatistic::Absolute),
                learned_masks: Some(1e-3),
                lr_masks: Some(0.2),
                ..config(strategy)
            },
        }
    }
}

pub fn trained(backend: &CpuBackend, config: &Config, views: &Arc<Vec<View>>) -> Trainer {
    let mut trainer = trainer(backend, config, views, start(config));
    assert_eq!(trainer.run(&mut ()).unwrap(), Outcome::Finished);
    trainer
}

#[test]
fn resuming_with_every_option_is_bit_exact() {
    let backend = CpuBackend::new(Some(2));
    let views = photos(&backend, 8, true);
    for strategy in [Strategy::Splatcore, Strategy::Adc, Strategy::Mcmc] {
        let config = all_options(strategy);
        // At a quarter, at half just after the change, at full size.
        let new = || trainer(&backend, &config, &views, start(&config));
        let (_, stopped) = resumed(new, &views, &[17, 61, 233]);
        let no_masks = strategy == Strategy::Mcmc;
        assert_eq!(!stopped.state.columns.has(Column::Mask), no_masks);
        let mut other = config.clone();
        other.optimizer = None;
        let error = Trainer::resume(&other.complete(), &backend, Arc::clone(&views), stopped)
            .err()
            .unwrap();
        assert!(error.to_string().contains("optimizer"), "{error}");
    }
}

/// PSNR of a trainer's scene from between the photos' cameras against the truth, on a background.
fn psnr(backend: &CpuBackend, trainer: &mut Trainer, background: [f32; 3]) -> f64 {
    let options = RenderOptions {
        background,
        ..RenderOptions::default()
    };
    let mut truth = backend.renderer(&truth()).unwrap();
    let (renderer, _) = trainer.renderer().unwrap();
    let each: Vec<f64> = (0..6)
        .map(|i| {
            let camera = camera(0.1 + i as f64);
            let rendered = truth.render(&camera, &options).unwrap().image;
            let photo = Photo::opaque(40, 28, rendered.to_bytes());
            let image = renderer.render(&camera, &options).unwrap().image;
            metrics::psnr(&image, &photo)
        })
        .collect();
    each.iter().sum::<f64>() / each.len() as f64
}

/// Adc that grows for half of its steps.
fn grown_and_settled() -> Config {
    Config {
        iterations: Some(1500),
        sh_degree: Some(1),
        densify_until: Some(700),
        opacity_reset_every: Some(5000),
        ..config(Strategy::Adc)
    }
}

/// Each option alone ends within reach of the run without it.
#[test]
fn options_learn_too() {
    let backend = CpuBackend::new(None);
    let views = photos(&backend, 24, false);
    let base = grown_and_settled();
    let plain = psnr(&backend, &mut trained(&backend, &base, &views), [0.0; 3]);
    assert!(plain > 28.0, "{plain} dB without options");
    for (name, config) in [
        (
            "sparse-adam",
            Config {
                optimizer: Some(Optimizer::SparseAdam),
                ..base.clone()
            },
        ),
        (
            "coarse-to-fine",
            Config {
                resolution_schedule: Some(ResolutionSchedule::CoarseToFine),
                ..base.clone()
            },
        ),
    ] {
        let with = psnr(&backend, &mut trained(&backend, &config, &views), [0.0; 3]);
        eprintln!("{name}: {with:.2} dB, without {plain:.2} dB");
        assert!(with > plain - 1.5, "{name}: {with} dB, without {plain} dB");
    }
}

/// On black, black surfaces need not be there; a background that changes shows the holes.
#[test]
fn a_random_background_fills_holes() {
    let backend = CpuBackend::new(None);
    let views = photos(&backend, 24, true);
    let on_black: Vec<View> = views
        .iter()
        .map(|view| View {
            photo: view.photo.on([0; 3]),
            ..view.clone()
        })
        .collect();
    let base = Config {
        iterations: Some(1000),
        sh_degree: Some(0),
        densify_until: Some(500),
        opacity_reset_every: Some(5000),
        ..config(Strategy::Adc)
    };
    let random = Config {
        background: Some(Background::Random),
        ..base.clone()
    };
    let mut on_black = trained(&backend, &base, &Arc::new(on_black));
    let mut on_random = trained(&backend, &random, &views);
    let [black, filled] =
        [&mut on_black, &mut on_random].map(|trainer| psnr(&backend, trainer, [1.0; 3]));
    eprintln!(
        "seen on white: trained on black {black:.2} dB, on random backgrounds {filled:.2} dB"
    );
    assert!(
        filled > black + 6.0,
        "{black} dB on black, {filled} dB on random backgrounds"
    );
    // What is measured and reported is on black.
    let (renderer, options) = on_random.renderer().unwrap();
    assert_eq!(options.background, [0.0; 3]);
    let measured = blobs::psnr(renderer, &views, &options);
    assert!(measured > 25.0, "{measured} dB on black");
}

/// Fewer Gaussians show nearly the same; none of those that are left is masked.
#[test]
fn learned_masks_remove_what_is_not_needed() {
    let backend = CpuBackend::new(None);
    let views = photos(&backend, 24, false);
    let base = grown_and_settled();
    let masked = Config {
        // Every Gaussian of so small a scene covers a good part of some photo.
        learned_masks: Some(0.02),
        lr_masks: Some(0.03),
        ..base.clone()
    };
    let mut both = [&base, &masked].map(|config| trained(&backend, config, &views));
    let counts = both.each_mut().map(|run| run.scene().unwrap().len());
    let quality = both.each_mut().map(|run| psnr(&backend, run, [0.0; 3]));
    eprintln!("without and with masks: {counts:?} Gaussians, {quality:.2?} dB");
    assert!(10 * counts[1] < 9 * counts[0], "{counts:?}");
    assert!(quality[1] > quality[0] - 1.5, "{quality:?}");
    let state = both[1].checkpoint().unwrap().state;
    let logits = state.columns.values(Column::Mask);
    assert!(logits.len() == counts[1] && logits.iter().all(|&mask| is_on(mask)));
}
