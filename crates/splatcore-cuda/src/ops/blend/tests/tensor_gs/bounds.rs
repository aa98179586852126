//! Images within their bounds of the twin: random scenes, and scenes that halves are bad at.
//!
//! How far a pixel may be off is in splatcore_reference::conformance::bounds: coefficients of two
//! halves or of one (relative error 2^-22 or 2^-11) about the middle of a square of tiles
//! or a pixel beside it (`Blend::precision`), products summed in f32, all else in f32.

use super::*;
use splatcore_core::metrics::psnr_between;
use splatcore_core::sh;
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::bounds::Reference;
use splatcore_reference::conformance::compare;

/// Every method within its bounds of the twin, and at the PSNR that it promises against the CPU's
/// image.
fn stays_within_bounds(name: &str, scene: &Gaussians, camera: &Camera, intersects: &[Intersect]) {
    let Some(device) = device() else { return };
    let ours = CudaBackend::on(device, false);
    let mut renderer = ours.renderer(scene).unwrap();
    for &intersect in intersects {
        let scalar = options(intersect, Blend::Scalar);
        let single = render(&CpuBackend::new(None), scene, camera, &scalar);
        assert!(
            psnr_between(
                &single.image,
                &splatcore_core::Image::filled(camera.width, camera.height, [0.3, 0.6, 0.1])
            ) < 40.0,
            "{name}: nothing to see"
        );
        for blend in METHODS.into_iter().chain(HALVES) {
            let options = options(intersect, blend);
            let got = renderer.render(camera, &options).unwrap();
            let what = format!("{name}, {intersect}+{blend}");
            eprintln!("{what}: {:.1} dB", psnr_between(&single.image, &got.image));
            let (width, height) = (camera.width as usize, camera.height as usize);
            let pixels = (0..width * height)
                .map(|i| [i % width, i / width])
                .collect();
            let precision = blend.precision();
            let expected = Reference::new(scene, camera, &options).pixels(precision, pixels);
            // f32's own error where nothing cancels, as for the conformance suite's scenes.
            let tolerance = 2e-5;
            let outcome = compare::bounded(
                &what,
                &expected,
                [&got, &single],
                precision.psnr(),
                tolerance,
            );
            outcome.unwrap_or_else(|message| panic!("{message}"));
        }
    }
}

#[test]
fn random_scenes_stay_within_bounds() {
    for (seed, size) in [(1, [130, 70]), (2, [61, 137]), (3, [17, 5]), (4, [128, 64])] {
        let camera = odd_camera(size[0], size[1], 0.4 * seed as f64);
        let scene = random_scene(seed, 400, 1);
        let name = format!("random {seed}, {}x{}", size[0], size[1]);
        stays_within_bounds(&name, &scene, &camera, &[Intersect::Exact, Intersect::Aabb]);
    }
}

/// Gaussians that halves are bad at, among others that they hide or shine through.
fn breaker(name: &str, count: usize, change: impl Fn(&mut Gaussians, usize, &mut Rng)) {
    let mut rng = Rng::new(12, 98);
    let mut scene = random_scene(31, 150, 0);
    for i in 0..count {
        change(&mut scene, i, &mut rng);
    }
    stays_within_bounds(
        name,
        &scene,
        &plain_camera(110, 70),
        &[Intersect::Exact, Intersect::Aabb],
    );
}

#[test]
fn gaussians_far_outside_stay_within_bounds() {
    breaker("far outside", 20, |scene, i, rng| {
        // Centres up to a thousand pixels beside the image, tails inside.
        scene.means[i] = [6.0 + 10.0 * rng.uniform(), 4.0 * rng.normal(), 1.0];
        scene.log_scales[i] = [1.2; 3];
        scene.opacity_logits[i] = logit(0.9);
    });
}

#[test]
fn needles_stay_within_bounds() {
    breaker("needles", 20, |scene, i, rng| {
        // Hundreds of pixels long, thinner than the low pass, at every angle.
        let angle = 0.157 * i as f32;
        scene.means[i] = [0.5 * rng.normal(), 0.5 * rng.normal(), 0.1 * i as f32];
        scene.log_scales[i] = [1.0, -8.0, -8.0];
        scene.rotations[i] = [angle.cos(), 0.0, 0.0, angle.sin()];
        scene.opacity_logits[i] = logit(0.8);
    });
}

/// 150 x 35 pairs of tiles, more than the first guess has room for, so that masks get a new buffer.
#[test]
fn gaussians_over_the_whole_image_stay_within_bounds() {
    breaker("whole image", 150, |scene, i, rng| {
        scene.means[i] = [rng.normal(), rng.normal(), 0.02 * i as f32];
        scene.log_scales[i] = [2.0 + 0.02 * i as f32; 3];
        scene.opacity_logits[i] = logit(0.03);
    });
}

/// A pixel or two wide, far from the middle of their macro-tile: the six terms of an exponent are
/// in the thousands and cancel.
#[test]
fn small_gaussians_stay_within_bounds() {
    let mut rng = Rng::new(9, 98);
    let mut scene = random_scene(17, 2500, 0);
    for i in 0..scene.len() {
        scene.means[i] = [2.2 * rng.normal(), 1.5 * rng.normal(), rng.normal()];
        scene.log_scales[i] = [0; 3].map(|_| -4.0 + 0.5 * rng.normal());
    }
    let both = [Intersect::Exact, Intersect::Aabb];
    stays_within_bounds("small", &scene, &plain_camera(130, 80), &both);
}

/// The second half of a coefficient has 11 digits more, 66 dB; each doubling of the macro-tile's
/// side costs two digits, 12 dB.
#[test]
fn what_one_half_loses_is_what_the_other_holds() {
    let Some(device) = device() else { return };
    let ours = CudaBackend::on(device, false);
    let scene = random_scene(4, 400, 1);
    let camera = odd_camera(128, 64, 1.6);
    let scalar = options(Intersect::Exact, Blend::Scalar);
    let single = render(&CpuBackend::new(None), &scene, &camera, &scalar);
    let psnr = |blend| {
        let options = options(Intersect::Exact, blend);
        let got = render(&ours, &scene, &camera, &options);
        psnr_between(&single.image, &got.image)
    };
    let (two, one) = (METHODS.map(psnr), HALVES.map(psnr));
    for (two, one) in two.into_iter().zip(one) {
        assert!((two - one - 66.0).abs() < 8.0, "{two} and {one} dB");
    }
    for pair in one.windows(2) {
        assert!((pair[0] - pair[1] - 12.0).abs() < 5.0, "{one:?}");
    }
}

#[test]
fn opacities_at_the_cut_offs_stay_within_bounds() {
    breaker("opacity 1/255 and 0.99", 150, |scene, i, _| {
        let opacity = match i % 2 {
            0 => (1.0 + 0.01 * (i % 3) as f32) / 255.0,
            _ => 0.985 + 0.005 * (i % 3) as f32,
        };
        scene.opacity_logits[i] = logit(opacity);
    });
}

#[test]
fn depth_ties_stay_within_bounds() {
    breaker("depth ties", 150, |scene, i, rng| {
        scene.means[i][2] = 0.5 * (i % 2) as f32;
        scene.sh[i] = [0; 3].map(|_| sh::from_colour(rng.uniform()));
    });
}

/// A square is 3 sigma of the longer axis on all sides: for a needle it holds macro-tiles in which
/// the exponents are beyond what halves hold, and those must count as nothing.
#[test]
fn exponents_beyond_halves_are_nothing() {
    let mut scene = random_scene(3, 40, 0);
    for i in 0..4 {
        scene.means[i] = [-30.0 + i as f32, 0.3 * i as f32, 40.0];
        scene.log_scales[i] = [-8.0, 3.2, -8.0];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = logit(0.9);
    }
    let camera = Camera {
        cx: 400.0,
        ..plain_camera(260, 40)
    };
    stays_within_bounds("needles' squares", &scene, &camera, &[Intersect::Aabb]);
}
