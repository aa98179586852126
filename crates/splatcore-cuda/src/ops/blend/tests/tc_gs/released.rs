//! `tc-gs-released` and the same with one difference taken away each.

use super::{backend, breakers, options, random_case, render};
use splatcore_core::backend::Backend;
use splatcore_core::gaussians::logit;
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::{Blend, Intersect};
use splatcore_core::{Camera, Gaussians};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::bounds::Reference;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};

/// The released arithmetic, then with a difference taken away each.
const RELEASED: [Blend; 5] = [
    Blend::TcGsReleased,
    Blend::TcGsReleasedExpF32,
    Blend::TcGsReleasedBlendF32,
    Blend::TcGsReleasedStopEach,
    Blend::TcGsReleasedVote,
];

/// The released arithmetic, and each of its differences taken away: within the bounds of a pixel
/// that the conformance suite makes of where halves enter, and each has an image of its own where
/// it computes otherwise.
#[test]
fn the_released_arithmetic_keeps_its_bounds() {
    let Some(ours) = backend() else { return };
    let cpu = CpuBackend::new(None);
    let scalar = options(Intersect::Exact, Blend::Scalar);
    let mut cases: Vec<(&str, Gaussians, Camera)> = breakers();
    let (scene, camera) = random_case(1);
    cases.push(("random", scene, camera));
    for (name, scene, camera) in cases {
        let reference = render(&cpu, &scene, &camera, &scalar);
        let twin = Reference::new(&scene, &camera, &scalar);
        let pixels: Vec<[usize; 2]> = (0..camera.height as usize)
            .flat_map(|y| (0..camera.width as usize).map(move |x| [x, y]))
            .filter(|[x, y]| (7 * x + 13 * y) % 5 == 0)
            .collect();
        let images = RELEASED.map(|blend| {
            let image = render(&ours, &scene, &camera, &options(Intersect::Exact, blend));
            let expected = twin.pixels(blend.precision(), pixels.clone());
            let off = expected.pixels.iter().map(|([x, y], expected)| {
                let found = image.data[y * camera.width as usize + x];
                let allowed = expected.rounding[0] + expected.cut_offs[0];
                let off = found
                    .iter()
                    .zip(expected.colour)
                    .map(|(f, e)| (f64::from(*f) - e).abs());
                off.fold(0.0, f64::max) - allowed
            });
            let beyond = off.filter(|off| *off > 0.0 || off.is_nan()).count();
            let psnr = psnr_between(&reference, &image);
            eprintln!(
                "{name} {blend}: {psnr:.1} dB, {beyond} of {} beyond",
                pixels.len()
            );
            assert_eq!(beyond, 0, "{name}, {blend}");
            assert!(
                psnr > blend.precision().psnr().unwrap(),
                "{name}, {blend}: {psnr} dB"
            );
            image
        });
        // A vote passes over what nobody blends. (The emulator's exponential of halves is that of
        // f32, rounded.)
        let [released, _, in_f32, _, voting] = &images;
        assert!(
            released.data == voting.data,
            "{name}: votes change the image"
        );
        assert!(released.data != in_f32.data, "{name}: nothing is a half");
    }
}

/// Behind 16 Gaussians that leave 1e-4 and less, and not in front, a pixel of the released code
/// stops; with a look at each fragment it stops where the reference does.
#[test]
fn the_released_code_looks_every_sixteen_gaussians() {
    let Some(ours) = backend() else { return };
    let mut scene = random_scene(31, 20, 0);
    for i in 0..20 {
        scene.means[i] = [0.0, 0.0, 0.1 * i as f32];
        scene.log_scales[i] = [1.0; 3];
        scene.opacity_logits[i] = logit(0.9);
    }
    let camera = plain_camera(16, 16);
    let left = |blend| {
        let mut renderer = ours.renderer(&scene).unwrap();
        let rendered = renderer.render(&camera, &options(Intersect::Exact, blend));
        rendered.unwrap().transmittance[8 * 16 + 8]
    };
    assert!(left(Blend::TcGsReleased) < 1e-6);
    assert!(left(Blend::TcGsReleasedBlendF32) < 1e-6);
    assert!(left(Blend::TcGsReleasedStopEach) >= 1e-4);
}
