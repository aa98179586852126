//! Poses that are not quite right: refined beside the scene they come right, and the scene with
//! them. Photos of the painted garden that `splatcore demo` trains on.

use crate::blobs::{psnr_of, resumed, resumed_with};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Photo, Tracks, View, camera};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Points, Split};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use splatcore_train::config::Config;
use splatcore_train::poses::{Fit, Offset, fit};
use splatcore_train::{Checkpoint, Outcome, Trainer, init};
use std::sync::Arc;

const DEGREES: f64 = 1.0;
/// Of the extent of the cameras.
const SHARE: f64 = 0.02;

/// Photos to train on, those held out, and points to start from.
pub struct Capture {
    pub train: Vec<View>,
    pub test: Vec<View>,
    pub points: Points,
    /// Which of the points the photos to train on show.
    pub tracks: Vec<Tracks>,
    pub extent: f64,
}

pub fn painted(width: u32, views: usize) -> Capture {
    captured(&ProceduralOptions {
        width,
        height: width * 3 / 4,
        views,
        samples: 4,
        points: 1500,
        ..ProceduralOptions::default()
    })
}

pub fn captured(options: &ProceduralOptions) -> Capture {
    captured_with(options, &LoadOptions::default())
}

pub fn captured_with(options: &ProceduralOptions, load: &LoadOptions) -> Capture {
    let folder = tempfile::tempdir().unwrap();
    write_dataset(folder.path(), options, &|_, _| {}).unwrap();
    let dataset = Dataset::open(folder.path(), &OpenOptions::default()).unwrap();
    let of = |split| {
        let indices = dataset.select(split, 8);
        dataset.load_views(&indices, load, &|_, _| {}).unwrap()
    };
    let (train, test) = (of(Split::Train), of(Split::Test));
    Capture {
        extent: camera::extent(train.iter().map(|view| &view.camera)),
        tracks: dataset.tracks(&train).unwrap(),
        train,
        test,
        points: dataset.points,
    }
}

/// Every pose off by [`DEGREES`] about some axis and by [`SHARE`] of the extent in some direction.
pub fn disturbed(views: &[View], extent: f64) -> Vec<View> {
    let mut rng = Rng::new(17, 0);
    let mut direction = |length: f64| {
        let v: [f64; 3] = [0; 3].map(|_| f64::from(rng.normal()));
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.map(|v| length * v / norm)
    };
    views
        .iter()
        .map(|view| {
            let offset = Offset {
                shift: direction(SHARE * extent),
                ..Offset::NONE.turned(direction(DEGREES.to_radians()))
            };
            View {
                camera: offset.of(&view.camera),
                ..view.clone()
            }
        })
        .collect()
}

pub fn config(iterations: u32, refine: bool) -> Config {
    Config {
        iterations: Some(iterations),
        sh_degree: Some(1),
        refine_poses: Some(refine),
        ..Config::UNSET
    }
}

pub fn trainer(
    backend: &CpuBackend,
    capture: &Capture,
    train: &[View],
    config: &Config,
) -> Trainer {
    let (points, config) = (&capture.points, config.complete());
    let start =
        init::from_points(&points.positions, &points.colours, &config, capture.extent).gaussians;
    Trainer::new(&config, backend, Arc::new(train.to_vec()), start).unwrap()
}

/// Mean angle in degrees and mean distance as a share of the extent between cameras, once a
/// rotation, a scale and a shift of all of them have brought them as near as they come.
fn error_of(found: &[Camera], truth: &[View], extent: f64) -> [f64; 2] {
    let n = truth.len() as f64;
    let offsets: Vec<Offset> = found
        .iter()
        .zip(truth)
        .map(|(found, view)| Offset::between(&view.camera, found))
        .collect();
    // Small angles: the mean rotation, and then a similarity of the places by least squares.
    let mean = |value: &dyn Fn(&Offset) -> [f64; 3]| -> [f64; 3] {
        let sum = offsets.iter().fold([0.0; 3], |sum: [f64; 3], offset| {
            let value = value(offset);
            std::array::from_fn(|k| sum[k] + value[k])
        });
        sum.map(|v| v / n)
    };
    let back = Offset::NONE.turned(mean(&Offset::vector).map(|v| -v));
    let turned = |offset: &Offset| Offset {
        rotation: offset.turned(mean(&Offset::vector).map(|v| -v)).rotation,
        ..*offset
    };
    let angle = offsets
        .iter()
        .map(|offset| turned(offset).angle())
        .sum::<f64>()
        / n;
    let centred = |places: Vec<[f64; 3]>| -> Vec<[f64; 3]> {
        let middle: [f64; 3] =
            std::array::from_fn(|k| places.iter().map(|p| p[k]).sum::<f64>() / n);
        let from = |p: &[f64; 3]| std::array::from_fn(|k| p[k] - middle[k]);
        places.iter().map(from).collect()
    };
    let there = centred(truth.iter().map(|view| view.camera.position()).collect());
    let here = centred(
        found
            .iter()
            .map(|camera| back.rotated(camera.position()))
            .collect(),
    );
    let dot = |a: &[[f64; 3]], b: &[[f64; 3]]| -> f64 {
        a.as_flattened()
            .iter()
            .zip(b.as_flattened())
            .map(|(a, b)| a * b)
            .sum()
    };
    let scale = dot(&here, &there) / dot(&here, &here);
    let distance = here.iter().zip(&there).map(|(a, b)| {
        let d: [f64; 3] = std::array::from_fn(|k| scale * a[k] - b[k]);
        d.iter().map(|v| v * v).sum::<f64>().sqrt()
    });
    [angle.to_degrees(), distance.sum::<f64>() / n / extent]
}

/// PSNR of the held-out photos, with poses that are fitted to the scene.
fn measured(backend: &CpuBackend, trainer: &mut Trainer, test: &[View]) -> f64 {
    let views = Arc::new(test.to_vec());
    let fitted = trainer.fit_poses(backend, &views, &[], &|_| ()).unwrap();
    let fitted: Vec<View> = test
        .iter()
        .zip(fitted)
        .map(|(view, fitted)| View {
            camera: fitted.camera,
            ..view.clone()
        })
        .collect();
    psnr_of(trainer, &fitted)
}

/// docs/log/training-poses.md has the numbers of a larger one.
#[test]
fn disturbed_poses_come_right() {
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(64, 24));
    let steps = 900;
    let wrong = disturbed(&capture.train, capture.extent);
    let run = |views: &[View], refine: bool| {
        let mut trainer = trainer(&backend, &capture, views, &config(steps, refine));
        assert_eq!(trainer.run(&mut ()).unwrap(), Outcome::Finished);
        let error = error_of(&trainer.cameras(), &capture.train, capture.extent);
        (measured(&backend, &mut trainer, &capture.test), error)
    };
    let (truth, _) = run(&capture.train, false);
    let (without, before) = run(&wrong, false);
    let (with, after) = run(&wrong, true);
    eprintln!(
        "held out: {truth:.2} dB with true poses, {without:.2} with wrong ones, {with:.2} refined; \
         error {before:?} -> {after:?}"
    );
    // A pixel is 0.7 degrees.
    assert!(
        with > without + 2.0 && with < truth + 1.0,
        "{without:.2} dB without, {with:.2} refined, {truth:.2} undisturbed"
    );
    assert!(after[0] < 0.75 * before[0], "{before:?} -> {after:?}");
    assert!(after[1] < 0.6 * before[1], "{before:?} -> {after:?}");
}

/// Poses that are right stay right.
#[test]
fn true_poses_stay() {
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(64, 24));
    let run = |refine: bool| {
        let config = config(700, refine);
        let mut trainer = trainer(&backend, &capture, &capture.train, &config);
        trainer.run(&mut ()).unwrap();
        let error = error_of(&trainer.cameras(), &capture.train, capture.extent);
        (measured(&backend, &mut trainer, &capture.test), error)
    };
    let ((without, _), (with, error)) = (run(false), run(true));
    eprintln!("held out: {without:.2} dB without, {with:.2} refined; error {error:?}");
    assert!(
        with > without - 0.5,
        "{without:.2} dB without, {with:.2} refined"
    );
}

/// Points that were found in larger photos bring wrong poses nearer to the truth, and hold true
/// ones.
#[test]
fn points_of_the_model_hold_poses() {
    let larger = ProceduralOptions {
        width: 256,
        height: 192,
        views: 24,
        samples: 1,
        points: 1500,
        ..ProceduralOptions::default()
    };
    let small = LoadOptions {
        max_size: Some(64),
        ..LoadOptions::default()
    };
    let (backend, capture) = (CpuBackend::new(Some(2)), captured_with(&larger, &small));
    let run = |views: &[View], held: bool| {
        let mut trainer = trainer(&backend, &capture, views, &config(500, true));
        if held {
            trainer.hold_poses_by(capture.tracks.clone()).unwrap();
        }
        trainer.run(&mut ()).unwrap();
        let error = error_of(&trainer.cameras(), &capture.train, capture.extent);
        (measured(&backend, &mut trainer, &capture.test), error)
    };
    let wrong = disturbed(&capture.train, capture.extent);
    let (alone, held) = (run(&wrong, false), run(&wrong, true));
    let (drifted, stayed) = (run(&capture.train, false), run(&capture.train, true));
    eprintln!("wrong: {alone:?}, held {held:?}; true: {drifted:?}, held {stayed:?}");
    for k in 0..2 {
        assert!(held.1[k] < 0.6 * alone.1[k], "{alone:?} {held:?}");
        assert!(stayed.1[k] < 0.7 * drifted.1[k], "{drifted:?} {stayed:?}");
    }
    assert!(held.0 > alone.0 && stayed.0 > drifted.0 - 0.1);
}

/// A trainer takes tracks of each of its photos, and of no other number.
#[test]
fn tracks_are_those_of_the_photos() {
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(32, 9));
    let mut trainer = trainer(&backend, &capture, &capture.train, &config(10, true));
    let error = trainer.hold_poses_by(vec![Tracks::default()]).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("tracks of 1 photos") && !error.contains('\n'),
        "{error}"
    );
}

/// Where a run ends. Stopped between two moves of the cameras and gone on from the file, it ends
/// there too; a run by `other` settings does not go on with it, and says so by the name of `flag`.
pub fn end_of_resumed(
    disturb: fn(&Capture) -> Vec<View>,
    config: Config,
    other: Config,
    flag: &str,
) -> Checkpoint {
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(32, 9));
    let views = Arc::new(disturb(&capture));
    let new = || trainer(&backend, &capture, &views, &config);
    let (end, stopped) = resumed(new, &views, &[20, 33]);
    let refused = Trainer::resume(&other.complete(), &backend, views, stopped);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains(flag) && !error.contains('\n'), "{error}");
    end
}

#[test]
fn a_resumed_run_ends_where_it_would_have() {
    let config = config(60, true);
    let other = Config {
        refine_poses: Some(false),
        ..config.clone()
    };
    let disturb = |capture: &Capture| disturbed(&capture.train, capture.extent);
    let end = end_of_resumed(disturb, config.clone(), other, "refine-poses");
    // Held by points, it ends elsewhere, and there again. Without any, where it did.
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(32, 9));
    let views = Arc::new(disturb(&capture));
    let of_tracks = |tracks: Vec<Tracks>| {
        let hold = |trainer: &mut Trainer| trainer.hold_poses_by(tracks.clone()).unwrap();
        let new = || {
            let mut trainer = trainer(&backend, &capture, &views, &config);
            hold(&mut trainer);
            trainer
        };
        resumed_with(new, &views, &[20, 33], &hold).0
    };
    assert_ne!(of_tracks(capture.tracks.clone()).poses, end.poses);
    let none = vec![Tracks::default(); views.len()];
    assert_eq!(of_tracks(none).poses, end.poses);
}

/// Through a lens so long that a step of the fit is three pixels and more: a pose that is right
/// stays, and one that is off by a few pixels gets a lower loss.
#[test]
fn a_fitted_pose_never_has_a_higher_loss() {
    let backend = CpuBackend::new(Some(2));
    let mut rng = Rng::new(29, 0);
    let mut scene = Gaussians::zeros(600, 0);
    for i in 0..scene.len() {
        scene.means[i] = [0; 3].map(|_| 0.04 * rng.normal());
        scene.log_scales[i] = [-6.0; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 2.0;
        scene.sh[i] = [0; 3].map(|_| rng.normal());
    }
    let right = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.03, 64, 48);
    let render = RenderOptions::default();
    let mut renderer = backend.renderer(&scene).unwrap();
    let photo = Photo::opaque(64, 48, renderer.render_bytes(&right, &render).unwrap());
    let fit_from = |camera: &Camera| {
        let view = View {
            name: "photo".into(),
            camera: camera.clone(),
            photo: photo.clone(),
        };
        let how = Fit {
            render: render.clone(),
            ssim_weight: 0.2,
            extent: 3.0,
            settings: Config::UNSET.complete().poses,
            tracks: Vec::new(),
        };
        let mut fitted = fit(&backend, &scene, &Arc::new(vec![view]), &how, &|_| ()).unwrap();
        fitted.swap_remove(0)
    };
    let stayed = fit_from(&right);
    assert!(stayed.losses[1] <= stayed.losses[0]);
    // A fifth of a pixel: photos are rounded.
    let off = Offset::between(&right, &stayed.camera).angle();
    assert!(off < 1.25e-4, "{off} radians away");
    for turn in [[0.0, 0.002, -0.01], [-0.0005, 0.0005, 0.03]] {
        let found = fit_from(&Offset::NONE.turned(turn).of(&right));
        let [before, after] = found.losses;
        eprintln!("turned by {turn:?}: loss {before:.4} -> {after:.4}");
        assert!(after < 0.8 * before, "{before} -> {after}");
    }
}

/// A pose that is off by more than the photo's own pixels bring back, of a photo that points show.
#[test]
fn points_begin_the_fit_of_a_held_out_photo() {
    let (backend, capture) = (CpuBackend::new(Some(2)), painted(64, 9));
    let (points, config) = (&capture.points, Config::UNSET.complete());
    let scene =
        init::from_points(&points.positions, &points.colours, &config, capture.extent).gaussians;
    let (right, render) = (&capture.train[0].camera, RenderOptions::default());
    let mut renderer = backend.renderer(&scene).unwrap();
    let photo = renderer.render_bytes(right, &render).unwrap();
    let wrong = Offset::NONE.turned([0.05, -0.06, 0.02]).of(right);
    let view = View {
        name: "photo".into(),
        photo: Photo::opaque(right.width, right.height, photo),
        camera: wrong.clone(),
    };
    let views = Arc::new(vec![view]);
    let fitted_by = |tracks: Vec<Tracks>| {
        let how = Fit {
            render: render.clone(),
            ssim_weight: 0.2,
            extent: capture.extent,
            settings: config.poses.clone(),
            tracks,
        };
        let mut fitted = fit(&backend, &scene, &views, &how, &|_| ()).unwrap();
        fitted.swap_remove(0)
    };
    let off = |camera: &Camera| Offset::between(right, camera).angle().to_degrees();
    let [alone, by_points] = [Vec::new(), vec![capture.tracks[0].clone()]].map(fitted_by);
    let [alone, by_points] = [alone, by_points].map(|of| (off(&of.camera), of.losses));
    eprintln!(
        "{:.2} degrees off: {alone:?} without points, {by_points:?} with",
        off(&wrong)
    );
    assert!(by_points.0 < 0.1 && by_points.0 < 0.2 * alone.0);
    // The loss of the pose as given is told all the same.
    assert_eq!(by_points.1[0], alone.1[0]);
    // Points of another place harm nothing.
    let mut astray = capture.tracks[1].clone();
    astray
        .points
        .iter_mut()
        .for_each(|point| point.position[0] += 1.0);
    assert!(fitted_by(vec![astray]).losses[1] <= alone.1[1]);
}
