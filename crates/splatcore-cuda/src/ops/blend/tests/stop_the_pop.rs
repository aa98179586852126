//! Blend method `stop-the-pop`: lists longer than its windows, and what it is for: a camera that
//! turns about its eye sees nothing pop.

use crate::CudaBackend;
use crate::tests::support::device::card_or_emulator;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::gaussians::logit;
use splatcore_core::pipeline::{Blend, Intersect};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Pipeline};
use splatcore_reference::conformance::compare;
use splatcore_reference::conformance::scenes::random_scene;
use splatcore_reference::twin;

fn options(blend: Blend) -> RenderOptions {
    RenderOptions {
        pipeline: Pipeline {
            intersect: Intersect::TileCull,
            blend,
            backward: blend.backward(),
        },
        background: [0.3, 0.6, 0.1],
        ..RenderOptions::default()
    }
}

/// Gaussians of any shape, faint enough that a pixel sees hundreds.
fn crowd(count: usize, seed: u64) -> Gaussians {
    let mut rng = Rng::new(seed, 96);
    let mut scene = random_scene(seed, count, 0);
    for i in 0..count {
        scene.means[i] = [0.3 * rng.normal(), 0.3 * rng.normal(), rng.normal()];
        scene.log_scales[i] = [0; 3].map(|_| -1.5 + 0.7 * rng.normal());
        scene.opacity_logits[i] = -3.0 + 0.5 * rng.normal();
    }
    scene
}

/// Against the twin's windows, where those of the tile, of sub-tiles, of quads and of pixels all
/// overflow.
#[test]
fn windows_are_those_of_the_twin() {
    let Some((device, _)) = card_or_emulator() else {
        return;
    };
    let backend = CudaBackend::on(device, true);
    let camera = Camera::look_at([0.2, 0.1, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 0.17, 17, 6);
    let options = options(Blend::StopThePop);
    for count in [30, 700] {
        let scene = crowd(count, count as u64);
        let twin = twin::render(&scene, &camera, &options);
        let rendered = backend
            .renderer(&scene)
            .and_then(|mut renderer| renderer.render(&camera, &options))
            .unwrap();
        let tolerance = 2e-5;
        compare::frames(&format!("{count} Gaussians"), &twin, &rendered, tolerance).unwrap();
        let doubtful = twin.doubts.iter().filter(|d| d.colour > tolerance);
        let share = doubtful.count() as f64 / twin.doubts.len() as f64;
        assert!(
            share < 0.5,
            "{count} Gaussians: {share} of the pixels in doubt"
        );
    }
}

/// A camera at the origin that looks so far to the right (radians), and that sees the direction
/// (x, y, 1) exactly at the centre of a pixel.
fn turned(angle: f64, direction: [f64; 2], pixel: [usize; 2]) -> Camera {
    let ahead = [angle.sin(), 0.0, angle.cos()];
    let mut camera = Camera::look_at([0.0; 3], ahead, [0.0, -1.0, 0.0], 0.05, 32, 32);
    let [x, y, z] = camera.to_view([direction[0], direction[1], 1.0]);
    camera.cx = pixel[0] as f64 + 0.5 - camera.fx * x / z;
    camera.cy = pixel[1] as f64 + 0.5 - camera.fy * y / z;
    camera
}

/// Largest change of a colour channel, from one step of a turn to the next, of what the ray in this
/// direction sees. It falls on another pixel of a tile in each step.
fn largest_jump(
    backend: &CudaBackend,
    scene: &Gaussians,
    direction: [f64; 2],
    blend: Blend,
) -> f32 {
    let mut renderer = backend.renderer(scene).unwrap();
    let mut last: Option<[f32; 3]> = None;
    let mut jump = 0.0f32;
    for step in 0..16 {
        let pixel = [3 + 5 * step % 17, 2 + 7 * step % 19];
        let camera = turned(0.004 * (step as f64 - 7.5), direction, pixel);
        let image = renderer.render(&camera, &options(blend)).unwrap().image;
        let seen = image.data[pixel[1] * 32 + pixel[0]];
        if let Some(last) = last {
            let changes = seen.iter().zip(last).map(|(a, b)| (a - b).abs());
            jump = changes.fold(jump, f32::max);
        }
        last = Some(seen);
    }
    jump
}

/// A red Gaussian on the right and a green one on the left of where the camera looks, both wider
/// than the image. Which mean is nearer in z changes as the camera turns; along a ray nothing does.
fn pair(scales: [[f32; 3]; 2], ahead: f32) -> Gaussians {
    let mut scene = random_scene(1, 2, 0);
    scene.means = vec![[0.4, 0.0, 5.0 + ahead], [-0.4, 0.0, 5.0 - ahead]];
    scene.log_scales = scales.map(|of_one| of_one.map(f32::ln)).to_vec();
    scene.rotations = vec![[0.9, 0.1, 0.3, 0.1], [0.8, -0.2, 0.1, 0.4]];
    scene.opacity_logits = vec![logit(0.8); 2];
    scene.sh = vec![[1.5, -1.0, -1.0], [-1.0, 1.5, -1.0]];
    scene
}

/// `scalar` jumps when two Gaussians change places, `stop-the-pop` does not.
#[test]
fn nothing_pops_while_the_camera_turns() {
    let Some((device, _)) = card_or_emulator() else {
        return;
    };
    let backend = CudaBackend::on(device, true);
    let pairs = [
        pair([[0.5; 3]; 2], 0.005),
        pair([[0.5, 0.3, 0.1], [0.1, 0.6, 0.4]], -0.01),
        pair([[0.6, 0.5, 0.02], [0.5, 0.6, 0.03]], 0.01),
    ];
    for (i, scene) in pairs.iter().enumerate() {
        for direction in [[0.0, 0.0], [0.013, -0.008]] {
            let jump = |blend| largest_jump(&backend, scene, direction, blend);
            let (sorted, scalar) = (jump(Blend::StopThePop), jump(Blend::Scalar));
            eprintln!("pair {i}, {direction:?}: {sorted} with stop-the-pop, {scalar} with scalar");
            assert!(sorted < 0.005, "pair {i}, {direction:?}: {sorted}");
            assert!(scalar > 0.05, "pair {i}, {direction:?}: scalar {scalar}");
        }
    }
}
