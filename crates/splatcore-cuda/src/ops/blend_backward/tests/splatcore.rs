//! Corner cases of the backward method `splatcore`, whose quotients and halves must stay finite.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::CudaBackend;
use crate::device::Device;
use crate::ops::constants::PART;
use crate::tests::support::device::device;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Gaussians, Image, Pipeline};
use splatcore_reference::conformance::scenes;
use std::sync::Arc;

/// Gaussians one behind the other, each so large that its alpha is its opacity everywhere.
fn stack(opacities: &[f32]) -> Gaussians {
    let mut scene = Gaussians::zeros(opacities.len(), 0);
    for (i, &opacity) in opacities.iter().enumerate() {
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.log_scales[i] = [7.0; 3];
        scene.opacity_logits[i] = (opacity / (1.0 - opacity)).ln();
        scene.means[i] = [0.0, 0.0, 2.0 + 0.01 * i as f32];
        scene.sh[i] = [0.2 * i as f32 - 0.5, 0.4, 0.7 - 0.1 * i as f32];
    }
    scene
}

/// Of each Gaussian, for an image gradient of 1 in all channels.
fn gradients(
    device: &Arc<dyn Device>,
    scene: &Gaussians,
    pipeline: Pipeline,
    background: f32,
) -> Gaussians {
    let camera = scenes::plain_camera(16, 16);
    let options = RenderOptions {
        pipeline,
        background: [background; 3],
        ..RenderOptions::default()
    };
    let mut renderer = CudaBackend::on(device.clone(), false)
        .renderer(scene)
        .unwrap();
    let ones = Image::filled(16, 16, [1.0; 3]);
    renderer
        .gradients(&camera, &options, &ones.clone().into())
        .unwrap()
}

/// Numbers, and none of them more than twice the largest that f32 finds. (Where so little light is
/// left, halves cannot do better: the weights of what is in front are off by as much.)
fn check(device: &Arc<dyn Device>, opacities: &[f32], background: f32) {
    let scene = stack(opacities);
    let [ours, f32s] = [Pipeline::AUTO, Pipeline::MEASURED]
        .map(|pipeline| gradients(device, &scene, pipeline, background));
    let groups = |g: &Gaussians| {
        let mut means = g.means.as_flattened().to_vec();
        means.extend(g.log_scales.as_flattened());
        [
            means,
            g.opacity_logits.clone(),
            g.sh.as_flattened().to_vec(),
        ]
    };
    for (ours, f32s) in groups(&ours).iter().zip(&groups(&f32s)) {
        let most = f32s.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        assert!(
            ours.iter().all(|v| v.abs() <= 2.0 * most),
            "{opacities:?} on {background}: {ours:?}, in f32 {f32s:?}"
        );
    }
}

/// A faint fragment or two, then two of which each leaves a fiftieth: halves of their weights add
/// up to exactly 1, where 1.2e-4 to 4e-4 should be left to divide by. The first takes the way that
/// looks at every fragment's transmittance, since pixels stop behind it.
#[test]
fn weights_that_add_up_to_everything() {
    let Some(device) = device() else { return };
    for opacities in [
        vec![0.020004272, 0.984375, 0.9897461, 0.5, 0.3, 0.2, 0.1],
        vec![0.03973, 0.02007, 0.9814, 0.9766, 0.1, 0.05],
        vec![0.1642, 0.0597, 0.986, 0.981],
        vec![0.0443, 0.1367, 0.9883, 0.9873, 0.4],
    ] {
        for background in [0.0, 1.0] {
            check(&device, &opacities, background);
        }
    }
}

/// Up to a hundredth of the light is left where a pixel stops. Divided by nothing it would be no
/// finite half.
#[test]
fn light_behind_the_last_fragment() {
    let Some(device) = device() else { return };
    // In the batch that stops, and in one behind it.
    for behind in [5, 40] {
        let mut opacities = vec![0.35, 0.985, 0.9902];
        opacities.resize(3 + behind, 0.5);
        check(&device, &opacities, 1.0);
    }
}

/// A list of two parts and a bit, each a block's: gradients as in f32, pixels that stop early, in
/// the middle or at the end of one among them.
#[test]
fn parts_of_a_long_list() {
    let Some(device) = device() else { return };
    let count = 2 * PART + 37;
    for stop in [3, PART, PART + 100, count] {
        // Not all rounded alike.
        let faint = |i: usize| 0.0042 + 2e-5 * (i * 37 % 100) as f32;
        let mut opacities: Vec<f32> = (0..count).map(faint).collect();
        if stop < count {
            opacities[stop - 3..stop].fill(0.98);
        }
        let mut scene = stack(&opacities);
        for (i, sh) in scene.sh.iter_mut().enumerate() {
            *sh = [0.3 * (i % 7) as f32 - 1.0, 0.4, 0.7 - 0.2 * (i % 5) as f32];
        }
        let [ours, f32s] = [Pipeline::AUTO, Pipeline::MEASURED]
            .map(|pipeline| gradients(&device, &scene, pipeline, 0.5));
        for rows in parts(count) {
            let norm = |a: &[f32], b: &[f32]| {
                let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
                squares.sum::<f64>().sqrt()
            };
            let of = |g: &Gaussians| {
                let mut all = g.opacity_logits[rows.clone()].to_vec();
                all.extend(g.sh[rows.clone()].as_flattened());
                all
            };
            let (ours, f32s) = (of(&ours), of(&f32s));
            let (off, all) = (norm(&ours, &f32s), norm(&f32s, &vec![0.0; f32s.len()]));
            assert!(off <= 5e-3 * all, "stop {stop}, {rows:?}: {off} of {all}");
            assert_eq!(rows.start >= stop, all == 0.0, "stop {stop}, {rows:?}");
        }
    }
}

/// The rows of each part of a list.
fn parts(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count)
        .step_by(PART)
        .map(move |first| first..(first + PART).min(count))
}
