//! Every way to bring gradients together against the f64 twin, with the method that the pipeline
//! names.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::CudaBackend;
use crate::ops::blend;
use crate::tests::support::device::{device, emulator};
use splatcore_core::Pipeline;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::pipeline::{Backward, Blend, Intersect, Training};
use splatcore_core::{BackendError, Camera, Gaussians, Image, random::Rng};
use splatcore_reference::conformance::{gradients, scenes};

/// The blends that leave behind what every backward pass but ours wants.
const FORWARDS: [Blend; 2] = [Blend::Scalar, Blend::Subtile];
/// Lists of a square, of a slanted box and of an ellipse: a method sees no more of an intersect
/// than its lists.
const LISTS: [Intersect; 3] = [Intersect::Aabb, Intersect::Obb, Intersect::Exact];

/// A method behind every forward pass.
fn everywhere(backward: Backward) -> Vec<Pipeline> {
    let behind = |intersect| {
        FORWARDS.map(|blend| Pipeline {
            intersect,
            blend,
            backward,
        })
    };
    LISTS.into_iter().flat_map(behind).collect()
}

/// A blend leaves checkpoints if its kernel has the switch.
#[test]
fn the_forward_passes_of_the_methods() {
    let leaves = |blend: &&Blend| blend.method().training == Training::Checkpointed;
    let found: Vec<Blend> = Blend::ALL.iter().filter(leaves).copied().collect();
    assert_eq!(found, FORWARDS);
    for blend in found {
        assert_ne!(
            blend::blend(blend, false, true),
            blend::blend(blend, false, false)
        );
    }
}

/// Nothing is trained by another method than the one that was named.
#[test]
fn what_is_not_trained_as_named_is_refused() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, false);
    let camera = scenes::odd_camera(20, 20, 0.3);
    for name in [
        "exact+seele",
        "exact+tensor-gs-4x4",
        "exact+scalar+splatcore",
    ] {
        let options = RenderOptions {
            pipeline: name.parse().unwrap(),
            ..RenderOptions::default()
        };
        let mut renderer = backend.renderer(&Gaussians::zeros(3, 0)).unwrap();
        let refused = renderer.gradients(&camera, &options, &noise(&camera).into());
        assert!(
            matches!(refused, Err(BackendError::Unsupported { .. })),
            "{name}"
        );
    }
}

fn match_the_twin(pipelines: &[Pipeline]) {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, false);
    if let Err(failures) = gradients::pipelines_match_the_twin(&backend, pipelines) {
        panic!("{failures}");
    }
}

#[test]
fn methods_match_the_twin_behind_the_same_forward_pass() {
    let variants = Pipeline::backward_variants();
    assert!(
        variants
            .iter()
            .any(|p| p.backward == Backward::WarpReduceSkip)
    );
    match_the_twin(&variants);
}

#[test]
fn gaussian_parallel_matches_the_twin_behind_every_forward_pass() {
    match_the_twin(&everywhere(Backward::GaussianParallel));
}

#[test]
fn methods_in_f32_match_the_twin_behind_sub_tiles() {
    let behind = |backward| Pipeline {
        backward,
        ..Pipeline::MEASURED
    };
    match_the_twin(
        &[
            Backward::Atomic,
            Backward::WarpReduceSkip,
            Backward::Subtile,
        ]
        .map(behind),
    );
}

/// Gradients on the emulator, its threads from the first to the last or the other way round.
fn emulated(
    scene: &Gaussians,
    pipeline: Pipeline,
    deterministic: bool,
    reversed: bool,
) -> Option<Gaussians> {
    let device = emulator()?;
    device.set_backward(reversed);
    let backend = CudaBackend::on(device, deterministic);
    let camera = scenes::odd_camera(70, 50, 0.3);
    let options = RenderOptions {
        pipeline,
        ..RenderOptions::default()
    };
    let mut renderer = backend.renderer(scene).unwrap();
    Some(
        renderer
            .gradients(&camera, &options, &noise(&camera).into())
            .unwrap(),
    )
}

/// Where threads take turns no addition is lost.
#[test]
fn plain_additions_are_those_of_atomic() {
    let scene = scenes::random_scene(9, 900, 1);
    let run = |backward| {
        let pipeline = Pipeline {
            backward,
            ..Pipeline::MEASURED
        };
        emulated(&scene, pipeline, false, false)
    };
    let Some(plain) = run(Backward::PlainAdd) else {
        return;
    };
    assert!(plain.means.iter().flatten().any(|&v| v != 0.0));
    assert_eq!(Some(plain), run(Backward::Atomic));
}

fn noise(camera: &Camera) -> Image {
    let mut rng = Rng::new(5, 94);
    let mut image = Image::filled(camera.width, camera.height, [0.0; 3]);
    for pixel in &mut image.data {
        *pixel = [0; 3].map(|_| rng.normal());
    }
    image
}

/// Every splat in every tile, 19 buckets each: more pairs than the first guess, so that there is
/// room anew in between.
#[test]
fn gaussian_parallel_finds_room_for_its_buckets() {
    let Some(device) = device() else { return };
    let mut scene = scenes::random_scene(21, 600, 0);
    for i in 0..scene.len() {
        (scene.log_scales[i], scene.opacity_logits[i]) = ([2.0; 3], -4.0);
        scene.means[i][2] = 2.0 + 1e-3 * i as f32;
    }
    let camera = scenes::plain_camera(130, 70);
    let mut renderer = CudaBackend::on(device, false).renderer(&scene).unwrap();
    let [ours, other] = [Backward::GaussianParallel, Backward::Subtile].map(|backward| {
        let options = RenderOptions {
            pipeline: Pipeline {
                backward,
                ..Pipeline::MEASURED
            },
            ..RenderOptions::default()
        };
        let gradients = renderer
            .gradients(&camera, &options, &noise(&camera).into())
            .unwrap();
        let counts = renderer.counts(&camera, &options).unwrap();
        assert_eq!(counts.pairs, 600 * 45);
        gradients.opacity_logits
    });
    let distance = |a: &[f32], b: &[f32]| {
        let squares = a
            .iter()
            .zip(b)
            .map(|(a, b)| (a - b) as f64 * (a - b) as f64);
        squares.sum::<f64>().sqrt()
    };
    let size = distance(&other, &vec![0.0; other.len()]);
    assert!(size > 1e-2, "{size}");
    assert!(
        distance(&ours, &other) <= 1e-4 * size,
        "{} of {size}",
        distance(&ours, &other)
    );
}

#[test]
fn gaussian_parallel_does_not_depend_on_the_order_of_threads() {
    let scene = scenes::random_scene(9, 900, 1);
    for pipeline in everywhere(Backward::GaussianParallel) {
        let run = |deterministic, reversed| emulated(&scene, pipeline, deterministic, reversed);
        let Some(first) = run(false, false) else {
            return;
        };
        assert!(
            first.means.iter().flatten().any(|&v| v != 0.0),
            "{pipeline}"
        );
        assert_eq!(
            Some(&first),
            run(false, true).as_ref(),
            "{pipeline}, other order"
        );
        // Ordered sums need no replacement.
        assert_eq!(
            Some(&first),
            run(true, false).as_ref(),
            "{pipeline}, deterministic"
        );
    }
    // The other method with ordered sums rounds otherwise: the comparison above sees which one ran.
    let [ours, other] = [Backward::GaussianParallel, Backward::Subtile].map(|backward| {
        let pipeline = Pipeline {
            backward,
            ..Pipeline::MEASURED
        };
        emulated(&scene, pipeline, true, false)
    });
    assert_ne!(ours, other);
}
