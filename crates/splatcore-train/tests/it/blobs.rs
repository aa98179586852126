//! What tests on the real CPU backend share: a cloud of coloured blobs, cameras on a circle around
//! it, how good a scene is, and runs that are stopped and go on.

use crate::common::{points, stopped_at};
use crate::runs::{assert_same, end_of};
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::{Camera, Gaussians, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::Config;
use splatcore_train::{Checkpoint, Trainer, evaluate, init};
use std::sync::Arc;

/// So many blobs, the i-th of a colour, all with this logit of opacity.
pub fn blobs(count: u8, colour: impl Fn(u8) -> [u8; 3], opacity: f32) -> Gaussians {
    let colours: Vec<[u8; 3]> = (0..count).map(colour).collect();
    let positions = points(count.into());
    let mut scene =
        init::from_points(&positions, &colours, &Config::UNSET.complete(), 1.0).gaussians;
    scene.opacity_logits.fill(opacity);
    scene
}

/// As [`blobs`], none with a scale above 1/e.
pub fn small_blobs(count: u8, colour: impl Fn(u8) -> [u8; 3], opacity: f32) -> Gaussians {
    let mut scene = blobs(count, colour, opacity);
    for scale in &mut scene.log_scales {
        *scale = scale.map(|v| v.min(-1.0));
    }
    scene
}

/// A camera on the circle. 40x28 pixels: not a multiple of the tile.
pub fn camera(angle: f64) -> Camera {
    let eye = [5.0 * angle.cos(), -1.0, 5.0 * angle.sin()];
    Camera::look_at(eye, [0.0; 3], [0.0, -1.0, 0.0], 0.8, 40, 28)
}

/// The i-th of `n` cameras that are spread over the circle.
pub fn camera_of(i: usize, n: usize) -> Camera {
    camera(i as f64 * std::f64::consts::TAU / n as f64)
}

/// Mean PSNR of views.
pub fn psnr(renderer: &mut dyn Renderer, views: &[View], options: &RenderOptions) -> f64 {
    evaluate(renderer, views, options, &|_, _, _, _| ())
        .unwrap()
        .psnr
}

/// Mean PSNR of views of a trainer's scene.
pub fn psnr_of(trainer: &mut Trainer, views: &[View]) -> f64 {
    let (renderer, options) = trainer.renderer().unwrap();
    psnr(renderer, views, &options)
}

/// A run on these views from these Gaussians.
pub fn trainer(
    backend: &CpuBackend,
    config: &Config,
    views: &Arc<Vec<View>>,
    start: Gaussians,
) -> Trainer {
    Trainer::new(&config.complete(), backend, Arc::clone(views), start).unwrap()
}

/// Where a run ends, and what was left of it. The same run, stopped after each of some numbers of
/// steps and gone on with from the file by a backend of another number of threads, ends bit for bit
/// alike. `new` makes the run on these views.
pub fn resumed(
    new: impl Fn() -> Trainer,
    views: &Arc<Vec<View>>,
    stops: &[u32],
) -> (Checkpoint, Checkpoint) {
    resumed_with(new, views, stops, &|_| ())
}

/// The same; `ready` gives a resumed run what no checkpoint has.
pub fn resumed_with(
    new: impl Fn() -> Trainer,
    views: &Arc<Vec<View>>,
    stops: &[u32],
    ready: &dyn Fn(&mut Trainer),
) -> (Checkpoint, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let end = end_of(new());
    for &stop in stops {
        let first = new();
        let config = first.config().clone();
        let checkpoint = stopped_at(first, stop, &path);
        let (other, views) = (CpuBackend::new(Some(1)), Arc::clone(views));
        let mut second = Trainer::resume(&config, &other, views, checkpoint).unwrap();
        ready(&mut second);
        assert_same(&end_of(second), &end);
    }
    (end, Checkpoint::load(&path).unwrap())
}
