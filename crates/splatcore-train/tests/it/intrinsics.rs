//! Intrinsics that are not quite right: refined beside the scene they come right. Photos of the
//! painted garden that `splatcore demo` trains on.

use crate::blobs::psnr_of;
use crate::poses::{Capture, config, disturbed, end_of_resumed, painted, trainer};
use splatcore_core::{Camera, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::Config;
use splatcore_train::intrinsics::LensChange;
use splatcore_train::{Outcome, Trainer};

/// Focal lengths and principal point off by this share.
const OFF: f64 = 0.01;

fn wrong(views: &[View]) -> Vec<View> {
    let off = |view: &View| View {
        camera: Camera {
            fx: (1.0 + OFF) * view.camera.fx,
            fy: (1.0 + OFF) * view.camera.fy,
            cx: view.camera.cx + OFF * f64::from(view.camera.width),
            ..view.camera.clone()
        },
        ..view.clone()
    };
    views.iter().map(off).collect()
}

/// Of the held-out photos, seen through what was found of their lens.
fn measured(trainer: &mut Trainer, test: &[View]) -> f64 {
    let lenses = trainer.lenses();
    let through = |view: &View| View {
        camera: LensChange::of(&lenses, &view.camera),
        ..view.clone()
    };
    let views: Vec<View> = test.iter().map(through).collect();
    psnr_of(trainer, &views)
}

fn refined(capture: &Capture, config: &Config) -> (f64, Camera) {
    let backend = CpuBackend::new(Some(2));
    let mut trainer = trainer(&backend, capture, &wrong(&capture.train), config);
    assert_eq!(trainer.run(&mut ()).unwrap(), Outcome::Finished);
    let psnr = measured(&mut trainer, &wrong(&capture.test));
    (psnr, trainer.cameras().swap_remove(0))
}

/// docs/log/training-poses.md has the numbers of a larger one.
#[test]
fn wrong_intrinsics_come_right() {
    let capture = painted(64, 24);
    let truth = &capture.train[0].camera;
    let run = |refine: bool| {
        let config = Config {
            refine_intrinsics: Some(refine),
            ..config(900, false)
        };
        refined(&capture, &config)
    };
    let ((without, _), (with, found)) = (run(false), run(true));
    let (focal, centre) = (
        found.fx / truth.fx - 1.0,
        (found.cx - truth.cx) / f64::from(truth.width),
    );
    eprintln!(
        "held out: {without:.2} dB without, {with:.2} refined; focal length off by {focal:.5}, \
         principal point by {centre:.5} of {OFF}"
    );
    assert_eq!(found.fx, found.fy);
    assert!(with > without + 1.0, "{without:.2} dB, {with:.2} refined");
    assert!(centre.abs() < 0.2 * OFF, "{centre}");
    // A tenth of a pixel in photos of this size: little more than that it does not run away.
    assert!(focal.abs() < 1.7 * OFF, "{focal}");
}

#[test]
fn a_resumed_run_ends_where_it_would_have() {
    let config = Config {
        refine_intrinsics: Some(true),
        ..config(60, true)
    };
    let other = Config {
        refine_intrinsics: Some(false),
        ..config.clone()
    };
    let disturb = |capture: &Capture| wrong(&disturbed(&capture.train, capture.extent));
    let moved = end_of_resumed(disturb, config, other, "refine-intrinsics");
    let moved = moved.intrinsics.unwrap();
    assert!(moved.values.len() == 1 && moved.values[0][..4].iter().all(|&n| n != 0.0));
}
