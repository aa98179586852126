//! Photos of one world through a lens, with a rolling shutter, and by plain pinholes: what is
//! learnt as they were taken is the same scene.

use splatcore_core::backend::Backend;
use splatcore_core::shutter::Readout;
use splatcore_core::{Lens, View};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore_data::procedural::{Motion, ProceduralOptions, write_dataset};
use splatcore_train::config::Config;
use splatcore_train::{Trainer, evaluate, init};
use std::sync::Arc;

fn painted(lens: Lens, motion: Option<Motion>) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let options = ProceduralOptions {
        width: 96,
        height: 72,
        views: 24,
        samples: 6,
        points: 1500,
        lens,
        field_of_view: 60.0,
        motion,
        ..ProceduralOptions::default()
    };
    write_dataset(folder.path(), &options, &|_, _| {}).unwrap();
    let mut dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
    // The photos stay until the test ends.
    dataset.root = folder.keep();
    dataset
}

fn views(dataset: &Dataset, split: Split, keep_lens: bool) -> Vec<View> {
    let options = LoadOptions {
        keep_lens,
        ..LoadOptions::default()
    };
    dataset
        .load_views(&dataset.select(split, 8), &options, &|_, _| {})
        .unwrap()
}

/// PSNR of a scene that was learnt from these photos, on those.
fn learnt(dataset: &Dataset, train: Vec<View>, test: &[View]) -> f64 {
    let config = Config {
        iterations: Some(300),
        sh_degree: Some(1),
        ..Config::UNSET
    };
    let backend = CpuBackend::new(Some(2));
    let points = &dataset.points;
    let start =
        init::from_points(&points.positions, &points.colours, &config.complete(), 6.0).gaussians;
    let mut trainer = Trainer::new(&config.complete(), &backend, Arc::new(train), start).unwrap();
    trainer.run(&mut ()).unwrap();
    let scene = trainer.scene().unwrap();
    let (_, options) = trainer.renderer().unwrap();
    let mut renderer = backend.renderer(&scene).unwrap();
    evaluate(&mut *renderer, test, &options, &|_, _, _, _| ())
        .unwrap()
        .psnr
}

#[test]
fn a_scene_learnt_through_a_lens_is_that_without() {
    let pinhole = painted(Lens::Pinhole, None);
    let truth = views(&pinhole, Split::Test, false);
    let own = learnt(&pinhole, views(&pinhole, Split::Train, false), &truth);
    let lens = Lens::Fisheye {
        k: [0.05, -0.02, 0.01, -0.002],
        p: [0.0; 2],
        s: [0.0; 2],
    };
    let fisheye = painted(lens, None);
    let through = learnt(&fisheye, views(&fisheye, Split::Train, true), &truth);
    let mut ignored = views(&fisheye, Split::Train, true);
    for view in &mut ignored {
        view.camera.lens = Lens::Pinhole;
    }
    let without = learnt(&fisheye, ignored, &truth);
    eprintln!("{own:.2} dB by pinholes, {through:.2} as taken, {without:.2} without the lens");
    assert!(
        through > own - 0.5,
        "{own:.2} dB by pinholes, {through:.2} as taken"
    );
    assert!(
        without < through - 1.0,
        "{through:.2} dB as taken, {without:.2} without the lens"
    );
    for dataset in [pinhole, fisheye] {
        std::fs::remove_dir_all(dataset.root).unwrap();
    }
}

/// The truth are photos of global shutters at the poses in the middle.
#[test]
fn a_scene_learnt_from_rolling_shutters_is_that_without() {
    let still = painted(Lens::Pinhole, None);
    let truth = views(&still, Split::Test, false);
    let own = learnt(&still, views(&still, Split::Train, false), &truth);
    let motion = Motion {
        readout: Readout::TopToBottom,
        turn: 12.0,
        shift: 0.4,
    };
    let rolling = painted(Lens::Pinhole, Some(motion));
    let through = learnt(&rolling, views(&rolling, Split::Train, false), &truth);
    let mut ignored = views(&rolling, Split::Train, false);
    for view in &mut ignored {
        view.camera = view.camera.still();
    }
    let without = learnt(&rolling, ignored, &truth);
    eprintln!("{own:.2} dB by global shutters, {through:.2} by rolling ones, {without:.2} ignored");
    assert!(through > own - 0.3, "{through:.2} dB for {own:.2}");
    assert!(without < through - 1.0, "{without:.2} dB for {through:.2}");
    for dataset in [still, rolling] {
        std::fs::remove_dir_all(dataset.root).unwrap();
    }
}
