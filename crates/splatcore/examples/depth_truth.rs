//! The demo's world from few photos and from many, learned with depth maps that are right and with
//! some that are not.
//!
//! ```sh
//! cargo run --release -p splatcore --example depth_truth -- FOLDER [STEPS] [SEEDS] [WEIGHT] [ONLY]
//! ```
//!
//! FOLDER takes photos and depth maps. A line for each kind of maps: PSNR in dB and error of the
//! depths on held-out photos, means over the seeds, and the largest PSNR less the smallest. ONLY:
//! lines that contain this.

use splatcore::core::backend::Backend;
use splatcore::core::random::Rng;
use splatcore::core::{Camera, View};
use splatcore::cpu::CpuBackend;
use splatcore::data::dataset::{Dataset, OpenOptions, points_of};
use splatcore::data::procedural::{ProceduralOptions, World, write_dataset};
use splatcore::train::config::{Config, DepthKind, Depths, NamedDepthLoss};
use splatcore::train::{Evaluation, Trainer, evaluate, init};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

type Answer<T> = Result<T, Box<dyn Error>>;

/// From the true depth, and a number from 0 to 1 that differs from pixel to pixel, to what a map
/// says.
type Says = fn(f64, f64) -> f64;

/// Folder, what the maps say, and what they are taken for.
const MAPS: [(&str, Says, DepthKind); 8] = [
    ("true", |z, _| z, DepthKind::Metric),
    (
        "half-unknown",
        |z, u| if u < 0.5 { 0.0 } else { z },
        DepthKind::Metric,
    ),
    ("outliers", outliers, DepthKind::Metric),
    ("noise", |z, u| z * (0.95 + 0.1 * u), DepthKind::Metric),
    ("times-1.3", |z, _| 1.3 * z, DepthKind::Metric),
    ("times-1.3", |z, _| 1.3 * z, DepthKind::Scaled),
    ("disparity", |z, _| 90.0 / z + 20.0, DepthKind::Disparity),
    ("relative", |z, _| 0.1 * z - 0.2, DepthKind::Relative),
];

/// One in twenty is anywhere.
fn outliers(z: f64, u: f64) -> f64 {
    match u < 0.05 {
        true => 0.3 + 400.0 * u,
        false => z,
    }
}

/// What photos are trained on: one of so many, of so many points.
const CAPTURES: [(&str, usize, usize); 2] = [("6 photos", 8, 300), ("42 photos", 1, 5000)];

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, more @ ..] = &arguments[..] else {
        return Err("usage: depth_truth FOLDER [STEPS] [SEEDS] [WEIGHT] [ONLY]".into());
    };
    let number = |i: usize, without: f64| more.get(i).map_or(Ok(without), |text| text.parse());
    let (steps, seeds) = (number(0, 1000.0)? as u32, number(1, 1.0)? as u64);
    let weight = more.get(2).map(|text| text.parse()).transpose()?;
    println!("photos, maps, taken for: dB (spread), depths off by, Gaussians");
    for (capture, every, points) in CAPTURES {
        let folder = &Path::new(folder).join(capture.replace(' ', "-"));
        let options = ProceduralOptions {
            width: 200,
            height: 150,
            points,
            ..ProceduralOptions::default()
        };
        write_dataset(folder, &options, &|_, _| {})?;
        let dataset = Dataset::open(folder, &OpenOptions::default())?;
        for (name, says, _) in MAPS {
            write_maps(&dataset, &folder.join(name), says)?;
        }
        let settings = |depths: &str, kind, loss: &str| -> Answer<Config> {
            Ok(Config {
                iterations: Some(steps),
                depths: Some(depths.to_owned().into()),
                depth_kind: Some(kind),
                depth_weight: weight,
                depth_loss: Some(loss.parse::<NamedDepthLoss>()?),
                ..Config::UNSET
            })
        };
        let run = |what: &str, config: Config, at_depths| -> Answer<()> {
            let what = format!("{capture}, {what}");
            if more.get(3).is_some_and(|only| !what.contains(only)) {
                return Ok(());
            }
            let seeds = 0..seeds;
            let of_seed = |seed| learned(&dataset, every, &config, seed, at_depths);
            let found = seeds.map(of_seed).collect::<Answer<Vec<_>>>()?;
            tell(&what, &found);
            Ok(())
        };
        run(
            "none",
            settings("none", DepthKind::Metric, "inverse")?,
            false,
        )?;
        run(
            "true, log",
            settings("true", DepthKind::Metric, "log")?,
            false,
        )?;
        run(
            "true, start",
            settings("true", DepthKind::Metric, "inverse")?,
            true,
        )?;
        for (name, _, kind) in MAPS {
            let what = format!("{name}, {kind:?}").to_lowercase();
            run(&what, settings(name, kind, "inverse")?, false)?;
        }
    }
    Ok(())
}

/// The depths of all photos as a folder of npy files.
fn write_maps(dataset: &Dataset, folder: &Path, says: Says) -> Answer<()> {
    std::fs::create_dir_all(folder)?;
    for (index, entry) in dataset.entries.iter().enumerate() {
        let (world, camera) = (World::new(), &entry.camera);
        let mut rng = Rng::new(index as u64, 1);
        let values = depths(&world, camera).map(|z| says(z, rng.uniform().into()) as f32);
        let mut header = format!(
            "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
            camera.height, camera.width
        );
        header.extend(std::iter::repeat_n(' ', 117 - header.len()));
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(values.flat_map(f32::to_le_bytes));
        std::fs::write(folder.join(&entry.name).with_extension("npy"), bytes)?;
    }
    Ok(())
}

/// Along the axis of the camera, at the centres of its pixels.
fn depths(world: &World, camera: &Camera) -> impl Iterator<Item = f64> {
    let pixels = (0..camera.height).flat_map(|y| (0..camera.width).map(move |x| [x, y]));
    pixels.map(move |at| {
        let Some([x, y]) = camera.ray(at.map(|v| f64::from(v) + 0.5)) else {
            return 0.0;
        };
        let length = (x * x + y * y + 1.0).sqrt();
        let view = [x / length, y / length, 1.0 / length];
        let axis = |j: usize| (0..3).map(|k| camera.rotation[k][j] * view[k]).sum();
        let direction = [axis(0), axis(1), axis(2)];
        world.look(camera.position(), direction).distance / length
    })
}

fn learned(
    dataset: &Dataset,
    every: usize,
    config: &Config,
    seed: u64,
    at_depths: bool,
) -> Answer<Evaluation> {
    let config = Config {
        seed: Some(seed),
        ..config.clone()
    }
    .resolve()?;
    let indices = 0..dataset.entries.len();
    let (test, train): (Vec<usize>, Vec<usize>) = indices.partition(|i| i % 8 == 4);
    let train: Vec<usize> = train.into_iter().filter(|i| i % every == 0).collect();
    let load = |indices: &[usize], config: &splatcore::train::ResolvedConfig| {
        dataset.load_views(indices, &config.load_options(), &|_, _| {})
    };
    let train = load(&train, &config)?;
    // What is measured against is true.
    let truth = Config {
        depths: Some(Depths::Folder("true".into())),
        ..Config::UNSET
    };
    let test: Vec<View> = load(&test, &truth.resolve()?)?;
    let points = match at_depths {
        true => &points_of(&train, 20_000, seed)?,
        false => &dataset.points,
    };
    let extent = splatcore::core::camera::extent(train.iter().map(|view| &view.camera));
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    let backend = CpuBackend::new(None);
    let mut trainer = Trainer::new(&config, &backend, Arc::new(train), start.gaussians)?;
    trainer.run(&mut ())?;
    let mut renderer = backend.renderer(&trainer.scene()?)?;
    Ok(evaluate(
        &mut *renderer,
        &test,
        &Default::default(),
        &|_, _, _, _| (),
    )?)
}

fn tell(what: &str, found: &[Evaluation]) {
    let psnr: Vec<f64> = found.iter().map(|found| found.psnr).collect();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let most = psnr.iter().fold(f64::MIN, |a, &b| a.max(b));
    let spread = most - psnr.iter().fold(f64::MAX, |a, &b| a.min(b));
    let off = found.iter().filter_map(|found| found.depth);
    let off = mean(off.map(|error| error.absolute_relative).collect());
    let gaussians = mean(found.iter().map(|found| found.gaussians as f64).collect());
    println!(
        "{what}: {:.2} ({spread:.2}) dB, {:.2} %, {gaussians:.0}",
        mean(psnr),
        100.0 * off
    );
}
