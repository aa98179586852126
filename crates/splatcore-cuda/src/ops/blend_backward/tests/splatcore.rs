//! Corner cases of the backward method `splatcore`, whose quotients and halves must stay finite.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::CudaBackend;
use crate::device::Device;
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
