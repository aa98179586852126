//! Panoramas are put together without a seam.

use splatcore_core::backend::{Backend, RenderOptions, Rendered};
use splatcore_core::{Camera, Gaussians, panorama};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::random_scene;

const SIZE: [u32; 2] = [160, 80];

/// Of Gaussians all around the camera, some of them at the poles.
fn scene() -> Gaussians {
    let mut scene = random_scene(71, 400, 1);
    // Of 2 degrees and less, most of them.
    for scales in &mut scene.log_scales {
        *scales = scales.map(|s| (s - 0.7).min(-2.5));
    }
    for (i, mean) in scene.means.iter_mut().enumerate() {
        let away = 2.0 / mean.iter().map(|v| v * v).sum::<f32>().sqrt().max(0.1);
        *mean = mean.map(|v| v * away);
        if i % 40 == 0 {
            *mean = [0.02, if i % 80 == 0 { -2.0 } else { 2.0 }, 0.03];
        }
    }
    scene
}

/// Seen by a camera that is turned to the right by so many quarters.
fn seen(scene: &Gaussians, quarters: usize) -> Rendered {
    let (sin, cos) = (quarters as f64 * std::f64::consts::FRAC_PI_2).sin_cos();
    let camera = Camera::look_at([0.0; 3], [sin, 0.0, cos], [0.0, -1.0, 0.0], 1.0, 8, 8);
    let camera = panorama::whole(&camera, SIZE[0], SIZE[1]);
    let mut renderer = CpuBackend::new(None).renderer(scene).unwrap();
    let options = RenderOptions {
        inverse_depth: true,
        ..RenderOptions::default()
    };
    panorama::render(&mut *renderer, &camera, &options).unwrap()
}

/// A turned camera sees the same, elsewhere: where one has the edge of its image, or the border
/// between two parts, the others have the middle of a part.
#[test]
fn what_a_panorama_shows_does_not_depend_on_where_its_seam_is() {
    let scene = scene();
    let first = seen(&scene, 0);
    let bright = first.image.data.iter().filter(|p| p[0] > 0.1).count();
    assert!(bright > first.image.data.len() / 10, "shows too little");
    let (width, height) = (SIZE[0] as usize, SIZE[1] as usize);
    let cap = (SIZE[1] as f64 / 6.0).round() as usize;
    for quarters in 1..4 {
        let turned = seen(&scene, quarters);
        let shift = quarters * width / 4;
        let [mut middle, mut caps] = [0.0f32; 2];
        for row in 0..height {
            for column in 0..width {
                let here = row * width + column;
                let there = row * width + (column + shift) % width;
                let [a, b] = [turned.image.data[here], first.image.data[there]];
                let colours = (0..3).map(|k| (a[k] - b[k]).abs());
                let depth = |of: &Rendered, at: usize| of.inverse_depth.as_ref().unwrap()[at];
                let depths = (depth(&turned, here) - depth(&first, there)).abs();
                let off = colours.fold(depths, f32::max);
                match row < cap || row >= height - cap {
                    true => caps = caps.max(off),
                    false => middle = middle.max(off),
                }
            }
        }
        assert!(middle < 1e-3, "turned by {quarters} quarters: {middle}");
        assert!(
            caps < 2e-3,
            "turned by {quarters} quarters: {caps} in a cap"
        );
    }
}
