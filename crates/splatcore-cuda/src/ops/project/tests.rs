//! Scenes whose harmonics are stored as halves: nothing but the rounding of the coefficients
//! changes, images of trained scenes keep 70 dB, and less memory is taken.
//!
//! On a card whole images, on the emulator a small cut-out at full resolution.

use crate::CudaBackend;
use crate::tests::support::device::card_or_emulator;
use crate::tests::support::half;
use crate::tests::support::real::{cut_out, held_out, in_reach, models_of_held_out};
use crate::tests::support::watched::Watched;
use splatcore_core::backend::{BackendError, RenderOptions, Timed};
use splatcore_core::metrics::psnr_between;
use splatcore_core::{Backend, Camera, Choice, Gaussians, Image};
use splatcore_reference::conformance::scenes::{odd_camera, random_scene};

/// PSNR that images of trained scenes keep, dB.
const MIN: f64 = 70.0;

/// A card or the emulator, and which.
fn backend() -> Option<(CudaBackend, bool)> {
    let (device, is_card) = card_or_emulator()?;
    Some((CudaBackend::on(device, false), is_card))
}

fn render(backend: &CudaBackend, scene: &Gaussians, camera: &Camera, sh_degree: u8) -> Image {
    let options = RenderOptions {
        sh_degree,
        ..RenderOptions::default()
    };
    let mut renderer = backend.renderer(scene).unwrap();
    renderer.render(camera, &options).unwrap().image
}

/// The image is that of the scene with rounded coefficients, whatever degree is stored and asked
/// for.
#[test]
fn only_the_coefficients_are_rounded() {
    let Some((full, is_card)) = backend() else {
        return;
    };
    let halves = full.clone().with_half_scene(true);
    let camera = odd_camera(61, 37, 0.7);
    for (stored, asked) in [
        (0, 0),
        (1, 0),
        (1, 1),
        (2, 1),
        (2, 2),
        (3, 0),
        (3, 2),
        (3, 3),
    ] {
        let scene = random_scene(40 + stored as u64, 300, stored);
        let mut rounded = scene.clone();
        if stored > 0 {
            for value in rounded.sh.as_flattened_mut() {
                *value = half::through_half((*value).into()) as f32;
            }
            assert_ne!(scene.sh, rounded.sh);
        }
        let got = render(&halves, &scene, &camera, asked);
        let want = render(&full, &rounded, &camera, asked);
        // On a card the compiler may contract the basis' terms in other places.
        let same = got == want || is_card && psnr_between(&got, &want) > 110.0;
        assert!(
            same,
            "degree {asked} of {stored}: {} dB",
            psnr_between(&got, &want)
        );
        assert!(stored == 0 || got != render(&full, &scene, &camera, asked));
    }
}

#[test]
fn pictures_of_trained_scenes_are_the_same_to_70_db() {
    let Some((full, is_card)) = backend() else {
        return;
    };
    let halves = full.clone().with_half_scene(true);
    let Some(cameras) = held_out() else { return };
    for (name, mut scene) in models_of_held_out() {
        let mut views = cameras.clone();
        if !is_card {
            views = vec![cut_out(&cameras[1], 96, 64)];
            scene = in_reach(&scene, &views[0]);
        }
        let (mut whole, mut rounded) = (
            full.renderer(&scene).unwrap(),
            halves.renderer(&scene).unwrap(),
        );
        let options = RenderOptions::default();
        let mut worst = f64::INFINITY;
        for camera in &views {
            let want = whole.render(camera, &options).unwrap().image;
            let got = rounded.render(camera, &options).unwrap().image;
            worst = worst.min(psnr_between(&got, &want));
        }
        eprintln!(
            "{name}: {worst:.1} dB at worst of {} views, {} Gaussians",
            views.len(),
            scene.len()
        );
        assert!(worst >= MIN, "{name}: {worst:.1} dB");
        assert!(worst.is_finite(), "{name}: nothing was rounded");
    }
}

#[test]
fn a_row_takes_96_bytes_less() {
    let Some(device) = Watched::new() else { return };
    let scene = random_scene(5, 1000, 3);
    let bytes = |half_scene: bool| {
        let backend = device.backend().with_half_scene(half_scene);
        let before = device.watch().bytes;
        let renderer = backend.renderer(&scene).unwrap();
        let taken = device.watch().bytes - before;
        drop(renderer);
        taken
    };
    let (full, half) = (bytes(false), bytes(true));
    assert_eq!(full - half, 96 * scene.len());
    assert!((140..150).contains(&(half / scene.len())), "{half}");
}

#[test]
fn gradients_are_refused_and_huge_coefficients_are_not() {
    let Some(device) = Watched::new() else { return };
    let backend = device.backend().with_half_scene(true);
    let mut scene = random_scene(6, 50, 1);
    scene.sh[0] = [1e6, -1e6, 3e38];
    let camera = odd_camera(33, 20, 0.2);
    let mut renderer = backend.renderer(&scene).unwrap();
    let options = RenderOptions::default();
    let image = renderer.render(&camera, &options).unwrap().image;
    assert!(image.data.as_flattened().iter().all(|v| v.is_finite()));
    let refused = |error: BackendError| {
        matches!(
            error,
            BackendError::Unsupported {
                depends_on: [Choice::HalfScene],
                ..
            }
        )
    };
    assert!(refused(
        renderer
            .gradients(&camera, &options, &image.clone().into())
            .unwrap_err()
    ));
    assert!(refused(
        renderer
            .stage_times(&camera, &options, Timed::TrainingStages)
            .unwrap_err()
    ));
    renderer
        .stage_times(&camera, &options, Timed::Stages)
        .unwrap();
}
