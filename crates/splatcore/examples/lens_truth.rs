//! The demo's world photographed through lenses: how good a scene is that is learnt from the photos
//! as they were taken, from the photos undistorted, and from photos of pinholes at the same places.
//!
//! ```sh
//! cargo run --release -p splatcore --example lens_truth -- FOLDER [STEPS] [SEED] [LENS]
//! ```
//!
//! FOLDER takes the photos. A line for each lens: PSNR in dB on held-out photos of pinholes, which
//! no training saw, and on the held-out photos as they were taken (of a panorama on its parts).

use splatcore::core::backend::Backend;
use splatcore::core::{Gaussians, Lens, View};
use splatcore::cpu::CpuBackend;
use splatcore::data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore::data::procedural::{ProceduralOptions, write_dataset};
use splatcore::train::config::Config;
use splatcore::train::{Trainer, evaluate, init};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Pixels of a photo. A panorama has about as many for a degree as a pinhole of 60 degrees.
const SIZE: [u32; 2] = [200, 150];
const PANORAMA: [u32; 2] = [800, 400];

/// Name, lens, vertical field of view in degrees without it, size of the photos.
const LENSES: [(&str, Lens, f64, [u32; 2]); 4] = [
    (
        "opencv",
        Lens::OpenCv {
            k: [-0.25, 0.08, -0.01, 0.0, 0.0, 0.0],
            p: [0.002, -0.003],
            s: [0.0; 4],
        },
        60.0,
        SIZE,
    ),
    ("fisheye", FISHEYE, 60.0, SIZE),
    ("wide fisheye", FISHEYE, 100.0, SIZE),
    ("equirectangular", Lens::Equirectangular, 60.0, PANORAMA),
];
const FISHEYE: Lens = Lens::Fisheye {
    k: [0.02, -0.01, 0.004, -0.001],
    p: [0.0; 2],
    s: [0.0; 2],
};

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, more @ ..] = &arguments[..] else {
        return Err("usage: lens_truth FOLDER [STEPS] [SEED] [LENS]".into());
    };
    let number = |i: usize, without: u64| more.get(i).map_or(Ok(without), |text| text.parse());
    let (steps, seed) = (number(0, 1000)? as u32, number(1, 0)?);
    println!("lens, trained on: dB on pinholes, dB as taken, seconds");
    let only = more.get(2);
    for (name, lens, field_of_view, size) in LENSES {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let folder = Path::new(folder).join(name);
        let painted =
            |lens, kind: &str, size| painted(&folder.join(kind), lens, field_of_view, size);
        let pinholes = painted(Lens::Pinhole, "pinhole", SIZE)?;
        let photos = painted(lens, "lens", size)?;
        let truth = views(&pinholes, Split::Test, false)?;
        let as_taken = views(&photos, Split::Test, true)?;
        for (kind, dataset, keep_lens) in [
            ("pinholes", &pinholes, false),
            ("as taken", &photos, true),
            ("undistorted", &photos, false),
        ] {
            let start = Instant::now();
            let scene = learnt(
                dataset,
                views(dataset, Split::Train, keep_lens)?,
                steps,
                seed,
            )?;
            let [on_truth, on_photos] = [&truth, &as_taken].map(|views| psnr(&scene, views));
            println!(
                "{name}, {kind}: {:.2} {:.2} {:.0}",
                on_truth?,
                on_photos?,
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}

fn painted(
    folder: &Path,
    lens: Lens,
    field_of_view: f64,
    [width, height]: [u32; 2],
) -> Answer<Dataset> {
    let options = ProceduralOptions {
        width,
        height,
        views: 40,
        lens,
        field_of_view,
        ..ProceduralOptions::default()
    };
    write_dataset(folder, &options, &|_, _| {})?;
    Ok(Dataset::open(folder, &OpenOptions::default())?)
}

fn views(dataset: &Dataset, split: Split, keep_lens: bool) -> Answer<Vec<View>> {
    let options = LoadOptions {
        keep_lens,
        ..LoadOptions::default()
    };
    Ok(dataset.load_views(&dataset.select(split, 8), &options, &|_, _| {})?)
}

fn learnt(dataset: &Dataset, train: Vec<View>, steps: u32, seed: u64) -> Answer<Gaussians> {
    let config = Config {
        iterations: Some(steps),
        seed: Some(seed),
        ..Config::UNSET
    };
    let (config, points) = (config.resolve()?, &dataset.points);
    let extent = splatcore::core::camera::extent(train.iter().map(|view| &view.camera));
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    let backend = CpuBackend::new(None);
    let mut trainer = Trainer::new(&config, &backend, Arc::new(train), start.gaussians)?;
    trainer.run(&mut ())?;
    Ok(trainer.scene()?)
}

fn psnr(scene: &Gaussians, views: &[View]) -> Answer<f64> {
    let mut renderer = CpuBackend::new(None).renderer(scene)?;
    let options = Default::default();
    Ok(evaluate(&mut *renderer, views, &options, &|_, _, _, _| ())?.psnr)
}
