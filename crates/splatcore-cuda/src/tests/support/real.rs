//! Real photos' cameras and models trained on them, and cut-outs small enough for the emulator.

use super::device;
use crate::CudaBackend;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, Split};
use splatcore_data::scene;
use splatcore_reference::twin::{Scene, project::project};
use splatcore_test_support::shared;

/// A card, unless the emulator is asked for.
pub fn card() -> Option<CudaBackend> {
    device::card().map(|card| CudaBackend::on(card, false))
}

/// The cameras of the held-out photos, as the binary reads them.
pub fn held_out() -> Option<Vec<Camera>> {
    let dataset = Dataset::open(&shared("posed/fox_colmap")?, &OpenOptions::default()).unwrap();
    let indices = dataset.select(Split::Test, 8);
    let views = dataset.load_views(&indices, &LoadOptions::default(), &|_, _| {});
    Some(views.unwrap().into_iter().map(|view| view.camera).collect())
}

pub fn model(name: &str) -> Option<Gaussians> {
    Some(scene::read(&shared(name)?).unwrap().gaussians)
}

/// The models that were trained on those photos, as far as they are there.
pub fn models_of_held_out() -> impl Iterator<Item = (&'static str, Gaussians)> {
    let names = ["fox_220k.spz", "fox_mcmc_1m.sog"].into_iter();
    names.filter_map(|name| Some((name, model(&format!("models/{name}"))?)))
}

/// The middle of a view, pixels as large as before.
pub fn cut_out(whole: &Camera, width: u32, height: u32) -> Camera {
    Camera {
        width,
        height,
        cx: whole.cx - 0.5 * (whole.width - width) as f64,
        cy: whole.cy - 0.5 * (whole.height - height) as f64,
        ..whole.clone()
    }
}

/// The Gaussians that can reach an image, in their order.
pub fn in_reach(scene: &Gaussians, camera: &Camera) -> Gaussians {
    let wide = Scene::from(scene);
    let mut kept = Gaussians::empty(scene.sh_degree);
    for i in 0..scene.len() {
        let Some(splat) = project(&wide, i, camera, NEAR_PLANE, 0) else {
            continue;
        };
        // alpha = 1/255 is within 3.4 sigma; half as much again, and a tile.
        let reach = 5.0 / 3.0 * splat.three_sigma + 32.0;
        let size = [camera.width as f64, camera.height as f64];
        if (0..2).all(|k| splat.mean[k] > -reach && splat.mean[k] < size[k] + reach) {
            kept.push_from(scene, i);
        }
    }
    kept
}
