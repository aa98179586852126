//! Mip-Splatting's own experiment in small (Yu et al. 2024, section 6.2): trained at one size,
//! measured at a quarter of it against photos averaged to that size.

use splatcore_core::View;
use splatcore_core::backend::{Backend, Renderer};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Trainer, evaluate, init};
use std::sync::Arc;

/// PSNR of held-out views at the photos' size and at a quarter of it, by the learner and by the
/// scene that it gives away.
fn trained(dataset: &Dataset, antialias: bool) -> [f64; 3] {
    let config = Config {
        antialias: Some(antialias),
        iterations: Some(400),
        sh_degree: Some(1),
        densify_from: Some(60),
        densify_until: Some(320),
        opacity_reset_every: Some(10_000),
        strategy: Some(Strategy::Adc),
        ..Config::UNSET
    };
    let views = |split, max_size| -> Vec<View> {
        let options = LoadOptions {
            max_size,
            ..LoadOptions::default()
        };
        let indices = dataset.select(split, 8);
        dataset.load_views(&indices, &options, &|_, _| ()).unwrap()
    };
    let backend = CpuBackend::new(Some(2));
    let points = &dataset.points;
    let train = Arc::new(views(Split::Train, None));
    let start =
        init::from_points(&points.positions, &points.colours, &config.complete(), 1.0).gaussians;
    let mut trainer = Trainer::new(&config.complete(), &backend, train, start).unwrap();
    trainer.run(&mut ()).unwrap();
    let (full, quarter) = (views(Split::Test, None), views(Split::Test, Some(24)));
    assert_eq!(quarter[0].photo.width, 24);
    let scene = trainer.scene().unwrap();
    let (learner, options) = trainer.renderer().unwrap();
    assert_eq!(options.antialias, antialias);
    let psnr = |renderer: &mut dyn Renderer, views: &[View]| {
        evaluate(renderer, views, &options, &|_, _, _, _| ())
            .unwrap()
            .psnr
    };
    let mut file = backend.renderer(&scene).unwrap();
    [
        psnr(learner, &full),
        psnr(learner, &quarter),
        psnr(&mut *file, &quarter),
    ]
}

#[test]
fn antialiased_scenes_look_right_from_afar() {
    let folder = tempfile::tempdir().unwrap();
    let options = ProceduralOptions {
        width: 96,
        height: 72,
        views: 24,
        points: 1500,
        ..ProceduralOptions::default()
    };
    write_dataset(folder.path(), &options, &|_, _| ()).unwrap();
    let dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
    let [without, with] = [false, true].map(|antialias| trained(&dataset, antialias));
    let report =
        format!("full, quarter, quarter as a file: without {without:.2?}, with {with:.2?}");
    eprintln!("{report}");
    // Nothing is lost where there is no aliasing, and what the file holds is what was learnt.
    assert!(with[0] > without[0] - 0.3, "{report}");
    assert!(with[1] > without[1] + 1.0, "{report}");
    assert!((with[1] - with[2]).abs() < 0.01, "{report}");
}
