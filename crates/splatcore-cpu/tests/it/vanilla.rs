//! `aabb+subtile`, with which `bench` compares images on the CPU, gives vanilla's image
//! (`aabb+scalar`) in a fraction of the time.

use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Blend;
use splatcore_core::{Backend, Camera, Gaussians, Image, Pipeline, metrics};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::{odd_camera, random_scene};
use splatcore_test_support::shared;

fn images(scene: &Gaussians, camera: &Camera) -> [Image; 2] {
    let backend = CpuBackend::new(None);
    let mut renderer = backend.renderer(scene).unwrap();
    [Blend::Scalar, Blend::Subtile].map(|blend| {
        let options = RenderOptions {
            pipeline: Pipeline {
                blend,
                ..Pipeline::VANILLA
            },
            ..RenderOptions::default()
        };
        renderer.render(camera, &options).unwrap().image
    })
}

fn judge(name: &str, scene: &Gaussians, camera: &Camera) {
    let [vanilla, culled] = images(scene, camera);
    let seen = vanilla.data.iter().filter(|p| p[0] > 0.05).count();
    assert!(seen > 1000, "{name}: {seen} pixels show it");
    let psnr = metrics::psnr_between(&vanilla, &culled);
    eprintln!("{name}: {psnr:.1} dB");
    assert!(psnr > 130.0, "{name}: {psnr} dB");
}

#[test]
fn sub_tile_culling_loses_nothing_of_vanilla() {
    for seed in 0..4 {
        let scene = random_scene(seed, 2000, 1);
        judge("random", &scene, &odd_camera(161, 95, 0.3 * seed as f64));
    }
    for name in ["models/massa_59k.sog", "models/fox_220k.spz"] {
        let Some(path) = shared(name) else { continue };
        let scene = splatcore_data::scene::read(&path).unwrap().gaussians;
        judge(name, &scene, &looking_at(&scene));
    }
}

/// A camera that sees the middle half of the Gaussians.
fn looking_at(scene: &Gaussians) -> Camera {
    let quantile = |axis: usize, share: f32| {
        let mut values: Vec<f32> = scene.means.iter().map(|m| m[axis]).collect();
        let at = ((values.len() - 1) as f32 * share) as usize;
        *values.select_nth_unstable_by(at, f32::total_cmp).1 as f64
    };
    let centre = [0, 1, 2].map(|axis| quantile(axis, 0.5));
    let radius = (0..3)
        .map(|axis| quantile(axis, 0.75) - quantile(axis, 0.25))
        .fold(0.0, f64::max);
    let eye = [
        centre[0],
        centre[1] - 0.5 * radius,
        centre[2] - 1.5 * radius,
    ];
    Camera::look_at(eye, centre, [0.0, -1.0, 0.0], 0.9, 160, 100)
}
