//! The demo's world photographed through lenses and with rolling shutters: how good a scene is that
//! is learnt from the photos as they were taken, from the photos undistorted or as if they had been
//! taken at once, and from photos of pinholes at the same places.
//!
//! ```sh
//! cargo run --release -p splatcore --example lens_truth -- FOLDER [STEPS] [SEED] [LENS] [KIND]
//! ```
//!
//! FOLDER takes the photos; KIND is what is trained on, as the lines call it. A line for each lens:
//! PSNR in dB on held-out photos of pinholes, which no training saw, and on the held-out photos as
//! they were taken (of a panorama on its parts).

use splatcore::core::backend::Backend;
use splatcore::core::shutter::Readout;
use splatcore::core::{Camera, Gaussians, Lens, View};
use splatcore::cpu::CpuBackend;
use splatcore::data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore::data::procedural::{Motion, ProceduralOptions, write_dataset};
use splatcore::train::config::{Config, LineOrder};
use splatcore::train::{Trainer, evaluate, init};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Pixels of a photo. A panorama has about as many for a degree as a pinhole of 60 degrees.
const SIZE: [u32; 2] = [200, 150];
const PANORAMA: [u32; 2] = [800, 400];

/// How photos are taken.
struct Taken {
    name: &'static str,
    lens: Lens,
    motion: Option<Motion>,
    /// Vertical, in degrees, without the lens.
    field_of_view: f64,
    size: [u32; 2],
}

const fn through(name: &'static str, lens: Lens, field_of_view: f64) -> Taken {
    Taken {
        name,
        lens,
        motion: None,
        field_of_view,
        size: SIZE,
    }
}

/// Of a camera that turns by degrees and moves by metres while it reads a photo.
const fn rolling(name: &'static str, lens: Lens, turn: f64, shift: f64) -> Taken {
    let motion = Motion {
        readout: Readout::TopToBottom,
        turn,
        shift,
    };
    Taken {
        motion: Some(motion),
        ..through(name, lens, 60.0)
    }
}

const WAYS: [Taken; 10] = [
    through("opencv", OPENCV, 60.0),
    through("fisheye", FISHEYE, 60.0),
    through("wide fisheye", FISHEYE, 100.0),
    through("thin prism", THIN_PRISM, 60.0),
    through("f-theta", F_THETA, 60.0),
    through("orthographic", Lens::Orthographic, 60.0),
    Taken {
        size: PANORAMA,
        ..through("equirectangular", Lens::Equirectangular, 60.0)
    },
    rolling("rolling 1", Lens::Pinhole, 1.0, 0.05),
    rolling("rolling 4", Lens::Pinhole, 4.0, 0.2),
    rolling("rolling fisheye", FISHEYE, 4.0, 0.2),
];
const OPENCV: Lens = Lens::OpenCv {
    k: [-0.25, 0.08, -0.01, 0.0, 0.0, 0.0],
    p: [0.002, -0.003],
    s: [0.0; 4],
};
const FISHEYE: Lens = Lens::Fisheye {
    k: [0.02, -0.01, 0.004, -0.001],
    p: [0.0; 2],
    s: [0.0; 2],
};
// Radii near those of a pinhole, so that both have as many pixels for each part of the scene.
const THIN_PRISM: Lens = Lens::Fisheye {
    k: [0.3, 0.12, 0.0, 0.0],
    p: [0.004, -0.006],
    s: [0.01, -0.008],
};
const F_THETA: Lens = Lens::FTheta {
    k: [
        0.02, 0.28, 0.03, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    ],
    skew: [0.01, -0.008],
    max_angle: None,
};

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, more @ ..] = &arguments[..] else {
        return Err("usage: lens_truth FOLDER [STEPS] [SEED] [LENS] [KIND]".into());
    };
    let number = |i: usize, without: u64| more.get(i).map_or(Ok(without), |text| text.parse());
    let (steps, seed) = (number(0, 1000)? as u32, number(1, 0)?);
    println!("lens, trained on: dB on pinholes, dB as taken, seconds");
    let only = more.get(2);
    for taken in WAYS {
        let name = taken.name;
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let folder = Path::new(folder).join(name);
        let plain = through(name, Lens::Pinhole, taken.field_of_view);
        let pinholes = painted(&folder.join("pinhole"), &plain)?;
        let photos = painted(&folder.join("lens"), &taken)?;
        let truth = views(&pinholes, Split::Test, false)?;
        let as_taken = views(&photos, Split::Test, true)?;
        let of_pinholes = || views(&pinholes, Split::Train, false);
        let as_they_are = |keep_lens| views(&photos, Split::Train, keep_lens);
        let mut kinds = vec![
            ("pinholes", &pinholes, of_pinholes()?, None),
            ("as taken", &photos, as_they_are(true)?, None),
        ];
        match taken.motion {
            None if !taken.lens.has_pinhole_view() => {}
            None => kinds.push(("undistorted", &photos, as_they_are(false)?, None)),
            Some(motion) => {
                for (kind, found) in [
                    ("as if at once", None),
                    ("with motions found", Some(motion.readout)),
                ] {
                    kinds.push((kind, &photos, at_once(as_they_are(true)?), found));
                }
            }
        }
        if let Some(only) = more.get(3) {
            kinds.retain(|(kind, ..)| kind == only);
        }
        for (kind, dataset, train, found) in kinds {
            let start = Instant::now();
            let (scene, cameras) = learnt(dataset, train, [steps, seed as u32], found)?;
            if found.is_some() {
                say_errors(name, &cameras, &as_they_are(true)?);
            }
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

/// The same photos, taken for those of global shutters.
fn at_once(mut views: Vec<View>) -> Vec<View> {
    for view in &mut views {
        view.camera = view.camera.still();
    }
    views
}

fn painted(folder: &Path, taken: &Taken) -> Answer<Dataset> {
    let options = ProceduralOptions {
        width: taken.size[0],
        height: taken.size[1],
        views: 40,
        lens: taken.lens,
        motion: taken.motion,
        field_of_view: taken.field_of_view,
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

/// How far the motions of cameras are from the true ones.
fn say_errors(name: &str, cameras: &[Camera], truth: &[View]) {
    let mut errors = [0.0; 4];
    for (camera, view) in cameras.iter().zip(truth) {
        let (Some(found), Some(wanted)) = (camera.shutter, view.camera.shutter) else {
            continue;
        };
        let off = |a: [f64; 3], b: [f64; 3]| -> f64 {
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
        };
        let (turn, shift) = (off(found.turn, wanted.turn), off(found.shift, wanted.shift));
        let sizes = [off(wanted.turn, [0.0; 3]), off(wanted.shift, [0.0; 3])];
        for (sum, of_photo) in errors.iter_mut().zip([turn, shift, sizes[0], sizes[1]]) {
            *sum += of_photo;
        }
    }
    let [turn, shift, turns, shifts] = errors.map(|sum| sum / cameras.len() as f64);
    println!(
        "{name}: turns of {:.2} degrees are off by {:.3}, shifts of {shifts:.3} by {shift:.4}",
        turns.to_degrees(),
        turn.to_degrees()
    );
}

/// The scene, and the cameras that it was learnt with.
fn learnt(
    dataset: &Dataset,
    train: Vec<View>,
    [steps, seed]: [u32; 2],
    motion: Option<Readout>,
) -> Answer<(Gaussians, Vec<Camera>)> {
    let config = Config {
        iterations: Some(steps),
        seed: Some(seed.into()),
        refine_motion: motion.map(|_| LineOrder::TopToBottom),
        ..Config::UNSET
    };
    let (config, points) = (config.resolve()?, &dataset.points);
    let extent = splatcore::core::camera::extent(train.iter().map(|view| &view.camera));
    let start = init::from_points(&points.positions, &points.colours, &config, extent);
    let backend = CpuBackend::new(None);
    let mut trainer = Trainer::new(&config, &backend, Arc::new(train), start.gaussians)?;
    trainer.run(&mut ())?;
    Ok((trainer.scene()?, trainer.cameras()))
}

fn psnr(scene: &Gaussians, views: &[View]) -> Answer<f64> {
    let mut renderer = CpuBackend::new(None).renderer(scene)?;
    let options = Default::default();
    Ok(evaluate(&mut *renderer, views, &options, &|_, _, _, _| ())?.psnr)
}
