//! Photos of one world through a lens, with a rolling shutter, and by plain pinholes: what is
//! learnt as they were taken is the same scene.

use crate::motion::{at_once, painted, psnr, started, still};
use crate::poses::Capture;
use splatcore_core::shutter::Readout;
use splatcore_core::{Lens, View};
use splatcore_data::procedural::Motion;
use std::sync::OnceLock;

/// PSNR of a scene that was learnt from these photos, on those.
fn learnt(of: &Capture, train: &[View], test: &[View]) -> f64 {
    let mut trainer = started(of, train.to_vec(), 300, false);
    trainer.run(&mut ()).unwrap();
    psnr(&mut trainer, test)
}

/// That of a scene which was learnt from photos of global shutters through a pinhole.
fn own() -> f64 {
    static PSNR: OnceLock<f64> = OnceLock::new();
    *PSNR.get_or_init(|| learnt(still(), &still().train, &still().test))
}

#[test]
fn a_scene_learnt_through_a_lens_is_that_without() {
    let (truth, own) = (&still().test, own());
    let lens = Lens::Fisheye {
        k: [0.05, -0.02, 0.01, -0.002],
        p: [0.0; 2],
        s: [0.0; 2],
    };
    let fisheye = painted(lens, None);
    let through = learnt(&fisheye, &fisheye.train, truth);
    let mut ignored = fisheye.train.clone();
    for view in &mut ignored {
        view.camera.lens = Lens::Pinhole;
    }
    let without = learnt(&fisheye, &ignored, truth);
    eprintln!("{own:.2} dB by pinholes, {through:.2} as taken, {without:.2} without the lens");
    assert!(
        through > own - 0.5,
        "{own:.2} dB by pinholes, {through:.2} as taken"
    );
    assert!(
        without < through - 1.0,
        "{through:.2} dB as taken, {without:.2} without the lens"
    );
}

/// The truth are photos of global shutters at the poses in the middle.
#[test]
fn a_scene_learnt_from_rolling_shutters_is_that_without() {
    let (truth, own) = (&still().test, own());
    let motion = Motion {
        readout: Readout::TopToBottom,
        turn: 12.0,
        shift: 0.4,
    };
    let rolling = painted(Lens::Pinhole, Some(motion));
    let through = learnt(&rolling, &rolling.train, truth);
    let without = learnt(&rolling, &at_once(&rolling.train), truth);
    eprintln!("{own:.2} dB by global shutters, {through:.2} by rolling ones, {without:.2} ignored");
    assert!(through > own - 0.3, "{through:.2} dB for {own:.2}");
    assert!(without < through - 1.0, "{without:.2} dB for {through:.2}");
}
