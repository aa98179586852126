//! Photos in, a scene out: a dataset, the trainer, the quality on photos it has not seen.
//!
//! ```sh
//! cargo run --release --example train_in_thirty_lines
//! ```

use splatcore::core::{Backend, camera};
use splatcore::cpu::CpuBackend;
use splatcore::data::DataError;
use splatcore::data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore::data::procedural::{ProceduralOptions, write_dataset};
use splatcore::data::scene::write_ply;
use splatcore::train::{Config, Trainer, evaluate, init};
use std::path::PathBuf;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = paint_photos()?; // a folder with a COLMAP model or a transforms.json does as well
    let dataset = Dataset::open(&folder, &OpenOptions::default())?;
    let options = LoadOptions::default();
    let load = |split| dataset.load_views(&dataset.select(split, 8), &options, &|_, _| {});
    let (train, test) = (Arc::new(load(Split::Train)?), load(Split::Test)?);

    let config = Config {
        iterations: Some(300),
        ..Config::default()
    }
    .resolve()?;
    let extent = camera::extent(train.iter().map(|view| &view.camera));
    let points = &dataset.points;
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    let backend = CpuBackend::new(None); // or splatcore::cuda::CudaBackend, with a card
    println!("{} photos, {}", train.len(), backend.describe());

    let mut trainer = Trainer::new(&config, &backend, train, start.gaussians)?;
    trainer.run(&mut ())?;
    write_ply(&folder.join("scene.ply"), &trainer.scene()?, false)?;

    let (renderer, options) = trainer.renderer()?;
    let quality = evaluate(renderer, &test, &options, &|_, _, _, _| {})?;
    let (psnr, photos) = (quality.psnr, test.len());
    println!("PSNR {psnr:.2} dB on {photos} held-out photos");
    Ok(())
}

/// 24 small photos of the procedural scene in a temporary folder.
fn paint_photos() -> Result<PathBuf, DataError> {
    let folder = std::env::temp_dir().join("splatcore-thirty-lines");
    let options = ProceduralOptions {
        width: 96,
        height: 72,
        views: 24,
        ..ProceduralOptions::default()
    };
    write_dataset(&folder, &options, &|_, _| {})?;
    Ok(folder)
}
