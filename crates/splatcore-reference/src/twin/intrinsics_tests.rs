//! The twin's gradients by the intrinsics against central differences.

use super::finite_difference_tests::{camera, options, random_scene, random_weights, slope};
use super::lens_tests::{cameras, image_scalar};
use super::project::jacobian;
use super::*;
use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::lens::COEFFICIENTS;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;

/// The camera with number `k` of its intrinsics changed, in the order and the units of
/// [`splatcore_core::IntrinsicsGradient`].
fn changed(camera: &Camera, k: usize, by: f64) -> Camera {
    let mut camera = camera.clone();
    let mut lens = [0.0; COEFFICIENTS];
    match k {
        0 => camera.fx *= by.exp(),
        1 => camera.fy *= by.exp(),
        2 => camera.cx += by * f64::from(camera.width),
        3 => camera.cy += by * f64::from(camera.height),
        _ => lens[k - 4] = by,
    }
    camera.lens = camera.lens.adjusted(&lens);
    camera
}

fn slopes_are_by_intrinsics(scene: &Scene, camera: &Camera, options: &RenderOptions) {
    let weights = random_weights(&mut Rng::new(31, 5));
    let found = gradients_scene(scene, camera, options, CutOffs::None, &weights);
    let mut tested = 0;
    for (k, got) in found.intrinsics.numbers().into_iter().enumerate() {
        if changed(camera, k, 0.1) == *camera {
            // The model has no such coefficient.
            continue;
        }
        let want = slope(|d| image_scalar(scene, &changed(camera, k, d), options, &weights));
        let allowed = 1e-6 * want.abs().max(1.0);
        assert!(
            (want - got).abs() <= allowed,
            "number {k} of {:?}: {got} for {want}",
            camera.lens
        );
        tested += 1;
    }
    assert!(tested >= 4);
}

/// Some Gaussians are far off axis, where EWA's Jacobian is clamped.
#[test]
fn intrinsics_of_a_pinhole() {
    for antialias in [false, true] {
        let scene = random_scene(&mut Rng::new(30, antialias.into()), 16, 1);
        let camera = camera();
        let clamped = scene.means.iter().filter(|&&mean| {
            let view = camera.to_view(mean);
            view[2] > 0.2 && jacobian(view, &camera).clamped.contains(&true)
        });
        assert!(clamped.count() > 1, "tests too little");
        let options = RenderOptions {
            antialias,
            ..options(Intersect::Exact)
        };
        slopes_are_by_intrinsics(&scene, &camera, &options);
    }
}

/// Gaussians that no sigma point takes beyond the image: the continuation there is held.
#[test]
fn intrinsics_of_lenses() {
    for (i, camera) in cameras().iter().enumerate() {
        for antialias in [false, true] {
            let mut scene = random_scene(&mut Rng::new(32, i as u64), 14, 1);
            for (mean, scales) in scene.means.iter_mut().zip(&mut scene.log_scales) {
                *mean = mean.map(|v| 0.3 * v);
                *scales = scales.map(|s| s - 1.2);
            }
            let options = RenderOptions {
                antialias,
                ..options(Intersect::Exact)
            };
            let seen = visible_splats(&scene, camera, &options).len();
            assert!(seen > 6, "{seen} of 14 Gaussians are seen by camera {i}");
            slopes_are_by_intrinsics(&scene, camera, &options);
        }
    }
}
