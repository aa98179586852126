//! Writes a scene in every format, reads it back, and renders what came back beside the scene: what
//! a format costs in quality.
//!
//! ```sh
//! cargo run --release -p splatcore --example format_losses -- SCENE DATASET FOLDER [MAX_SIZE]
//! ```
//!
//! The cameras and photos are the dataset's held-out ones (every 8th), scaled so that the longer
//! side has MAX_SIZE pixels, 480 if not given. FOLDER takes the files. A line of JSON for each
//! format: bytes; PSNR in dB of the renders against the scene's own, mean and worst view, and
//! against the photos; and against the renders of the same file written and read once more.

use splatcore::core::backend::RenderOptions;
use splatcore::core::metrics::{psnr, psnr_between};
use splatcore::core::{Backend, Gaussians, Image, View};
use splatcore::cpu::CpuBackend;
use splatcore::data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore::data::scene::{self, WriteOptions};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Names of files in every format that is both written and read. SPZ names the version that is
/// asked for, and the bits of harmonics if they are not the usual ones.
const FILES: [(&str, u32, Option<u8>); 10] = [
    ("scene.ply", 3, None),
    ("scene.glb", 3, None),
    ("scene.compressed.ply", 3, None),
    ("v2.spz", 2, None),
    ("v3.spz", 3, None),
    ("v3-8bits.spz", 3, Some(8)),
    ("v4.spz", 4, None),
    ("scene.sog", 3, None),
    ("streamed/lod-meta.json", 3, None),
    ("scene.splat", 3, None),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, dataset, folder, max_size @ ..] = &arguments[..] else {
        return Err("usage: format_losses SCENE DATASET FOLDER [MAX_SIZE]".into());
    };
    let max_size = max_size.first().map_or(Ok(480), |size| size.parse())?;
    let dataset = Dataset::open(Path::new(dataset), &OpenOptions::default())?;
    let options = LoadOptions {
        max_size: Some(max_size),
        ..LoadOptions::default()
    };
    let held_out = dataset.select(Split::Test, 8);
    let views = dataset.load_views(&held_out, &options, &|_, _| {})?;
    let file = scene::read(Path::new(path))?;
    let render = |scene: &Gaussians| rendered(scene, &views, file.antialiased);
    let own = render(&file.gaussians)?;
    print(Path::new(path), 0, &own, &own, &own, &views);
    for (name, version, sh_bits) in FILES {
        let once = PathBuf::from(folder).join(name);
        let twice = PathBuf::from(folder).join("again").join(name);
        let mut options = WriteOptions {
            antialiased: file.antialiased,
            ..WriteOptions::default()
        };
        options.spz.version = version;
        options.spz.sh_bits = sh_bits.map_or(options.spz.sh_bits, |bits| [bits; 2]);
        let write = |path: &Path, scene: &Gaussians| {
            std::fs::create_dir_all(path.parent().unwrap_or(path))?;
            let written = scene::write(path, scene, &options, &|_, _, _| ())?;
            let read = scene::read(path)?.gaussians;
            Ok::<_, Box<dyn Error>>((written.bytes, read))
        };
        let (bytes, read) = write(&once, &file.gaussians)?;
        let (_, again) = write(&twice, &read)?;
        print(
            &once,
            bytes,
            &own,
            &render(&read)?,
            &render(&again)?,
            &views,
        );
    }
    Ok(())
}

fn rendered(
    scene: &Gaussians,
    views: &[View],
    antialias: bool,
) -> Result<Vec<Image>, Box<dyn Error>> {
    let options = RenderOptions {
        antialias,
        sh_degree: scene.sh_degree.min(3),
        ..RenderOptions::default()
    };
    let mut renderer = CpuBackend::new(None).renderer(scene)?;
    let images = views.iter().map(|view| {
        let rendered = renderer.render(&view.camera, &options)?;
        Ok(rendered.image)
    });
    images.collect()
}

fn print(path: &Path, bytes: u64, own: &[Image], read: &[Image], again: &[Image], views: &[View]) {
    let against = |images: &[Image]| -> Vec<f64> {
        let pairs = images.iter().zip(read);
        pairs.map(|(a, b)| psnr_between(a, b)).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let own = against(own);
    let photos: Vec<f64> = views
        .iter()
        .zip(read)
        .map(|(v, r)| psnr(r, &v.photo))
        .collect();
    // JSON has no infinity.
    let number = |value: f64| match value.is_finite() {
        true => format!("{value:.2}"),
        false => "null".into(),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!(
        "{{\"file\": \"{name}\", \"bytes\": {bytes}, \"psnr\": {}, \"worst\": {}, \"photos\": {}, \
         \"again\": {}}}",
        number(mean(&own)),
        number(own.iter().copied().fold(f64::INFINITY, f64::min)),
        number(mean(&photos)),
        number(mean(&against(again)))
    );
}
