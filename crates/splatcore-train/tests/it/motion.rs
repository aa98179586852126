//! Motions that nobody noted: found beside the scene they give nearly the scene of those that were,
//! and a run that is resumed ends with the same bits.

use crate::blobs::{self, resumed};
use crate::poses::{Capture, captured_with};
use splatcore_core::backend::Backend;
use splatcore_core::camera::dot;
use splatcore_core::shutter::Readout;
use splatcore_core::{Camera, Lens, View};
use splatcore_cpu::CpuBackend;
use splatcore_data::dataset::LoadOptions;
use splatcore_data::procedural::{Motion, ProceduralOptions};
use splatcore_train::config::{Config, LineOrder};
use splatcore_train::{Trainer, init};
use std::sync::{Arc, OnceLock};

/// Photos of one world through a lens, as they were taken.
pub fn painted(lens: Lens, motion: Option<Motion>) -> Capture {
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
    let load = LoadOptions {
        keep_lens: true,
        ..LoadOptions::default()
    };
    captured_with(&options, &load)
}

/// Those of global shutters through a pinhole.
pub fn still() -> &'static Capture {
    static PAINTED: OnceLock<Capture> = OnceLock::new();
    PAINTED.get_or_init(|| painted(Lens::Pinhole, None))
}

/// Those of rolling shutters.
fn rolling() -> &'static Capture {
    static PAINTED: OnceLock<Capture> = OnceLock::new();
    PAINTED.get_or_init(|| painted(Lens::Pinhole, Some(MOTION)))
}

const MOTION: Motion = Motion {
    readout: Readout::TopToBottom,
    turn: 9.0,
    shift: 0.3,
};

pub fn started(of: &Capture, train: Vec<View>, steps: u32, finds: bool) -> Trainer {
    let config = Config {
        iterations: Some(steps),
        sh_degree: Some(1),
        refine_motion: finds.then_some(LineOrder::TopToBottom),
        ..Config::UNSET
    }
    .complete();
    let points = &of.points;
    let start = init::from_points(&points.positions, &points.colours, &config, 6.0).gaussians;
    Trainer::new(&config, &CpuBackend::new(Some(2)), Arc::new(train), start).unwrap()
}

/// The same photos, taken for those of global shutters.
pub fn at_once(views: &[View]) -> Vec<View> {
    let still = |view: &View| View {
        camera: view.camera.still(),
        ..view.clone()
    };
    views.iter().map(still).collect()
}

pub fn psnr(trainer: &mut Trainer, test: &[View]) -> f64 {
    let scene = trainer.scene().unwrap();
    let (_, options) = trainer.renderer().unwrap();
    let mut renderer = CpuBackend::new(Some(2)).renderer(&scene).unwrap();
    blobs::psnr(&mut *renderer, test, &options)
}

/// By how many pixels the upper edge's middle moves from where it is, at the distance at which the
/// cameras look, on average.
fn flow(found: &[Camera], wanted: &[View]) -> f64 {
    let place = |camera: &Camera| {
        let begin = camera.at(-0.5);
        let middle: [f64; 3] =
            std::array::from_fn(|k| camera.position()[k] + 6.6 * camera.forward()[k]);
        begin.project(middle).unwrap()
    };
    let off = |(found, wanted): (&Camera, &View)| {
        let (a, b) = (place(found), place(&wanted.camera));
        (a[0] - b[0]).hypot(a[1] - b[1])
    };
    found.iter().zip(wanted).map(off).sum::<f64>() / found.len() as f64
}

#[test]
fn motions_are_found_and_the_scene_with_them() {
    let (still, rolling) = (still(), rolling());
    let learnt = |train: Vec<View>, finds| {
        let mut trainer = started(rolling, train, 300, finds);
        trainer.run(&mut ()).unwrap();
        trainer
    };
    let mut known = learnt(rolling.train.clone(), false);
    let known = psnr(&mut known, &still.test);
    let mut ignored = learnt(at_once(&rolling.train), false);
    let ignored = psnr(&mut ignored, &still.test);
    let mut trainer = learnt(at_once(&rolling.train), true);
    let found = psnr(&mut trainer, &still.test);
    let cameras = trainer.cameras();
    let begun: Vec<Camera> = at_once(&rolling.train)
        .into_iter()
        .map(|v| v.camera)
        .collect();
    let (before, after) = (flow(&begun, &rolling.train), flow(&cameras, &rolling.train));
    eprintln!(
        "{known:.2} dB with the motions, {found:.2} with those found, {ignored:.2} without; \
         {before:.2} px off before, {after:.2} after"
    );
    assert!(known > ignored + 0.8);
    assert!(found > ignored + 0.6 * (known - ignored), "{found:.2} dB");
    assert!(after < 0.55 * before, "{after:.2} of {before:.2} px");
    // All of them together stay where they were.
    let turns = cameras.iter().map(|camera| camera.shutter.unwrap().turn);
    let sum = turns.fold([0.0; 3], |sum, turn| {
        std::array::from_fn(|k| sum[k] + turn[k])
    });
    assert!(dot(sum, sum).sqrt() < 1e-9, "{sum:?}");
    // Held-out photos get theirs from the finished scene.
    let held_out = trainer
        .fit_motions(&at_once(&rolling.test), &|_| ())
        .unwrap();
    assert!(held_out.iter().all(|camera| camera.shutter.is_none()));
    let mut views = at_once(&rolling.test);
    splatcore_train::motion::rolling(&mut views, Readout::TopToBottom);
    let given: Vec<Camera> = views.iter().map(|view| view.camera.clone()).collect();
    let fitted = trainer.fit_motions(&views, &|_| ()).unwrap();
    let (before, after) = (flow(&given, &rolling.test), flow(&fitted, &rolling.test));
    eprintln!("held out: {before:.2} px off before, {after:.2} after");
    assert!(after < 0.7 * before, "{after:.2} of {before:.2} px");
}

#[test]
fn a_resumed_run_finds_the_same_motions() {
    // Each photo is rendered 7 times in each of the 16 rounds.
    let views = Arc::new(at_once(&rolling().train[..4]));
    let new = || started(rolling(), views.to_vec(), 60, true);
    let (end, stopped) = resumed(new, &views, &[33]);
    let [end, stopped] = [end, stopped].map(|checkpoint| checkpoint.motion.unwrap());
    assert!(end.rounds > stopped.rounds && stopped.rounds > 0);
    let moved = end.motions.iter().zip(&stopped.motions);
    assert!(moved.clone().all(|(end, stopped)| end != stopped));
}
