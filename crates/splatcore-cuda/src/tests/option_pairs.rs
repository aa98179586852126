//! Options of training, alone and in pairs: each has an effect beside every other one, and the
//! device trains to what the CPU trains to. Pairs that make no sense are refused, by an error that
//! names both.
//!
//! A few steps of the procedural scene with a schedule in which everything happens: growth,
//! pruning, an opacity reset, all sizes of the photos. The device is this machine's card if
//! `SPLATCORE_TEST_DEVICE=card`, else the emulator. On it every option alone and all together, with
//! `SPLATCORE_CHECK=NAME` the pairs of one option, with `SPLATCORE_CHECK=" + "` all of them, which
//! takes some minutes.

mod against_cpu;

use rayon::prelude::*;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::{Camera, Image, Photo, Pipeline, View, camera};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use splatcore_train::config::{
    Background, Config, DensifyStatistic, Interval, Moments, Optimizer, ResolutionSchedule,
    ResolvedConfig, Strategy,
};
use splatcore_train::{TrainError, Trainer, init};
use std::sync::Arc;

/// What an option sets.
type Set = fn(&mut Config);

/// The option that makes Gaussians fade.
const FADES: &str = "opacity-halving-every";

/// Options that change what is computed, by the names of their flags.
const OPTIONS: [(&str, Set); 16] = [
    ("strategy mcmc", |c| c.strategy = Some(Strategy::Mcmc)),
    ("densify-statistic absolute", |c| {
        c.densify_statistic = Some(DensifyStatistic::Absolute);
    }),
    (FADES, |c| {
        (c.opacity_halving_every, c.lr_final_share) = (Some(Interval::Steps(8)), Some(0.5));
        c.no_bias_correction = Some(true);
    }),
    ("prune-floaters", |c| c.prune_floaters = Some(0.97)),
    ("max-scale", |c| c.max_scale = Some(0.02)),
    ("resolution-schedule coarse-to-fine", |c| {
        c.resolution_schedule = Some(ResolutionSchedule::CoarseToFine);
    }),
    ("optimizer sparse-adam", |c| {
        c.optimizer = Some(Optimizer::SparseAdam);
    }),
    ("background random", |c| {
        c.background = Some(Background::Random)
    }),
    ("antialias", |c| c.antialias = Some(true)),
    ("exposure", |c| {
        (c.exposure, c.lr_exposure) = (Some(true), Some(0.03))
    }),
    ("learned-masks", |c| {
        (c.learned_masks, c.lr_masks) = (Some(0.01), Some(0.9));
    }),
    ("moments second", |c| c.moments = Some(Moments::Second)),
    ("opacity-regulariser", |c| c.opacity_regulariser = Some(3.0)),
    ("scale-regulariser", |c| c.scale_regulariser = Some(3.0)),
    ("pipeline vanilla", |c| c.pipeline = Some(Pipeline::VANILLA)),
    (AUTO, |c| c.pipeline = Some(Pipeline::AUTO)),
];

/// How far apart the two may be: relative L2 of what a step adds to moments and statistics, the
/// same of parameters, and PSNR between images.
///
/// In f32 they are 3e-5, 3e-3 and more than 100 dB apart, but where the L1 error of one of the
/// coarse photos' 80 pixels, or a fragment's alpha, is within roundings of a change of sign or of
/// its threshold: 2.5e-4, 4e-2 and 85 dB in 120 pairs. On matrix units gradients are held to 5e-3,
/// and what a step adds to a moment is a difference of gradient and moment, smaller than both:
/// 5e-2, 0.2 and 79 dB. A device that leaves an option out is 0.3 or more apart in one of them, or
/// Gaussians are: each was tried.
fn allowed(pipeline: Pipeline) -> (f64, f64, f64) {
    match pipeline.backward {
        Backward::Splatcore => (0.1, 0.25, 75.0),
        _ => (1e-3, 0.1, 80.0),
    }
}

/// Pairs that are refused.
const REFUSED: [(&str, &str); 2] = [
    ("strategy mcmc", "densify-statistic absolute"),
    ("strategy mcmc", "learned-masks"),
];

/// The matrix units' pipeline; on the CPU the same methods as [`SINGLE`].
const AUTO: &str = "pipeline auto";

/// All in f32, so that the device and the CPU are near each other and whatever one of them leaves
/// out shows.
const SINGLE: Pipeline = Pipeline {
    intersect: Intersect::Exact,
    blend: Blend::Subtile,
    backward: Backward::Subtile,
};

/// A run of twelve steps.
const BASE: Config = Config {
    iterations: Some(12),
    sh_degree: Some(1),
    sh_every: Some(1),
    densify_from: Some(2),
    densify_until: Some(12),
    densify_every: Some(3),
    densify_gradient: Some(8e-3),
    opacity_reset_every: Some(8),
    opacity_reset_to: Some(0.3),
    prune_every: Some(4),
    coarse_until: Some(8),
    max_gaussians: Some(260),
    init_opacity: Some(0.4),
    init_scale: Some(0.8),
    noise_rate: Some(5e4),
    pipeline: Some(SINGLE),
    strategy: Some(Strategy::Adc),
    ..Config::UNSET
};

fn config(options: &[usize]) -> ResolvedConfig {
    let mut config = BASE;
    options.iter().for_each(|&i| OPTIONS[i].1(&mut config));
    config.complete()
}

fn name(options: &[usize]) -> String {
    let names: Vec<&str> = options.iter().map(|&i| OPTIONS[i].0).collect();
    names.join(" + ")
}

/// Numbers of the options whose names begin so.
fn named(start: &str) -> Vec<usize> {
    let begins = |i: &usize| OPTIONS[*i].0.starts_with(start);
    (0..OPTIONS.len()).filter(begins).collect()
}

/// Every option alone, then every pair that can be.
fn alone_and_in_pairs() -> Vec<Vec<usize>> {
    let n = OPTIONS.len();
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| vec![i, j]));
    let pipelines = named("pipeline");
    let pairs = pairs.filter(|pair| *pair != pipelines);
    (0..n).map(|i| vec![i]).chain(pairs).collect()
}

/// What is trained on the device: every option alone, and of each strategy and each pipeline all
/// options at a time but [`FADES`], with which hardly a Gaussian would be left. With
/// `SPLATCORE_CHECK` all pairs whose names hold that.
fn on_the_device() -> Vec<Vec<usize>> {
    let mut choices = alone_and_in_pairs();
    if let Ok(wanted) = std::env::var("SPLATCORE_CHECK") {
        choices.retain(|options| name(options).contains(&wanted));
        return choices;
    }
    choices.retain(|options| options.len() == 1);
    let (pipelines, mcmc) = (named("pipeline"), named("strategy"));
    let all = |left_out: &[usize]| -> Vec<usize> {
        let of_adc = |i: &usize| {
            let of_adc = |(mcmc, of_adc): &(&str, &str)| {
                *mcmc == "strategy mcmc" && *of_adc == OPTIONS[*i].0
            };
            REFUSED.iter().any(of_adc)
        };
        let fits = |i: &usize| {
            let goes_with = left_out.contains(&mcmc[0]) || !of_adc(i);
            !left_out.contains(i) && OPTIONS[*i].0 != FADES && goes_with
        };
        (0..OPTIONS.len()).filter(fits).collect()
    };
    for &pipeline in &pipelines {
        choices.push(all(&[pipeline, mcmc[0]]));
        choices.push(all(&[pipeline]));
    }
    choices
}

/// The procedural scene from a few sides.
struct Photos {
    dataset: Dataset,
    views: Vec<View>,
}

impl Photos {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ProceduralOptions {
            width: 40,
            height: 30,
            views: 6,
            samples: 4,
            points: 150,
            ..ProceduralOptions::default()
        };
        write_dataset(folder.path(), &options, &|_, _| ()).unwrap();
        let dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
        let indices = dataset.select(Split::Train, 0);
        let mut views = dataset
            .load_views(&indices, &LoadOptions::default(), &|_, _| ())
            .unwrap();
        for (i, view) in views.iter_mut().enumerate() {
            if i % 2 == 1 {
                *view = left_half(view);
            }
            // Darker by turns, one with a mask, the others see through their upper corners.
            let photo = &mut view.photo;
            let (width, pixels) = (photo.width as usize, photo.rgb.len() / 3);
            let gain = [10, 7, 9, 6, 8, 10][i % 6];
            photo
                .rgb
                .iter_mut()
                .for_each(|v| *v = (*v as u32 * gain / 10) as u8);
            match i {
                1 => photo.mask = Some((0..pixels).map(|p| (p % width > 7) as u8).collect()),
                _ => {
                    let alpha = |p: usize| {
                        if p % width + p / width < 18 {
                            60 + i as u8
                        } else {
                            255
                        }
                    };
                    let alpha: Vec<u8> = (0..pixels).map(alpha).collect();
                    for (pixel, &alpha) in photo.rgb.chunks_exact_mut(3).zip(&alpha) {
                        let on_black = |v: u8| (v as u32 * alpha as u32 / 255) as u8;
                        pixel.iter_mut().for_each(|v| *v = on_black(*v));
                    }
                    photo.alpha = Some(alpha);
                }
            }
        }
        Self { dataset, views }
    }

    /// As they are loaded for a config: alpha is kept for a background that changes alone.
    fn of(&self, config: &ResolvedConfig) -> Arc<Vec<View>> {
        let on_background = |photo: &Photo| match config.data.background {
            Background::Random => photo.clone(),
            fixed => photo.on(splatcore_core::image::to_bytes(fixed.colour())),
        };
        let view = |view: &View| View {
            photo: on_background(&view.photo),
            ..view.clone()
        };
        Arc::new(self.views.iter().map(view).collect())
    }
}

/// So that not all of the scene is in view.
fn left_half(view: &View) -> View {
    let width = view.camera.width / 2;
    let rows = view.photo.rgb.chunks_exact(3 * view.camera.width as usize);
    View {
        camera: Camera {
            width,
            ..view.camera.clone()
        },
        photo: Photo {
            width,
            rgb: rows
                .flat_map(|row| row[..3 * width as usize].to_vec())
                .collect(),
            ..view.photo.clone()
        },
        ..view.clone()
    }
}

/// What became of a run.
#[derive(Clone, PartialEq)]
struct Trained {
    gaussians: usize,
    /// From where the photos were taken, all pixels in one row.
    images: Image,
    colours: Vec<f32>,
}

/// Pixels of several images as one.
fn one_row(data: Vec<[f32; 3]>) -> Image {
    Image {
        width: data.len() as u32,
        height: 1,
        data,
    }
}

fn trained(
    photos: &Photos,
    config: &ResolvedConfig,
    backend: &dyn Backend,
) -> Result<Trained, TrainError> {
    let views = photos.of(config);
    let points = &photos.dataset.points;
    let start = init::from_points(&points.positions, &points.colours, config, 1.0).gaussians;
    let mut trainer = Trainer::new(config, backend, views.clone(), start)?;
    trainer.run(&mut ())?;
    let colours = trainer.colours()?;
    let (renderer, options) = trainer.renderer().unwrap();
    // Through the same methods, whatever trained.
    let options = RenderOptions {
        pipeline: SINGLE,
        ..options
    };
    let mut images = Vec::new();
    for view in views.iter() {
        images.extend(renderer.render(&view.camera, &options)?.image.data);
    }
    Ok(Trained {
        gaussians: renderer.count(),
        images: one_row(images),
        colours: colours.photos.parameters,
    })
}

/// In every pair that is not refused, each option still changes what is trained.
#[test]
fn no_option_is_ignored_beside_another() {
    let photos = Photos::new();
    let backend = CpuBackend::new(Some(1));
    let of = |options: &[usize]| trained(&photos, &config(options), &backend);
    let base = of(&[]).unwrap();
    let alone: Vec<Option<Trained>> = (0..OPTIONS.len()).map(|i| of(&[i]).ok()).collect();
    let mut wrong = Vec::new();
    let mut refused = Vec::new();
    let auto = named(AUTO);
    let choices = alone_and_in_pairs();
    for pair in choices.into_iter().filter(|pair| !pair.contains(&auto[0])) {
        match (of(&pair), &pair[..]) {
            (Err(TrainError::Config(_)), &[i, j]) => refused.push((OPTIONS[i].0, OPTIONS[j].0)),
            (Err(error), _) => wrong.push(format!("{}: {error}", name(&pair))),
            (Ok(got), &[_]) if got == base => wrong.push(format!("{} does nothing", name(&pair))),
            (Ok(got), &[i, j]) => {
                for (with, of) in [(i, j), (j, i)] {
                    let names = (OPTIONS[of].0, OPTIONS[with].0);
                    if alone[with].as_ref() == Some(&got) {
                        wrong.push(format!("{} does nothing beside {}", names.0, names.1));
                    }
                }
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused.retain(|pair| !REFUSED.contains(pair));
    assert!(refused.is_empty(), "refused: {refused:?}");
}
