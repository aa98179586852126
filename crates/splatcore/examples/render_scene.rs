//! Loads a scene file, renders one view of an orbit around it, writes a PNG.
//!
//! ```sh
//! cargo run --release --example render_scene -- SCENE.ply view.png
//! ```
//!
//! Without arguments it makes a scene of its own, a ring of Gaussians, in a temporary folder.

use splatcore::core::backend::RenderOptions;
use splatcore::core::gaussians::{logit, sigmoid};
use splatcore::core::{Backend, Camera, Gaussians, sh};
use splatcore::cpu::CpuBackend;
use splatcore::data::{file, scene};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = std::env::temp_dir().join("splatcore-render-scene");
    let path = match arguments.next() {
        Some(path) => path,
        None => {
            let path = folder.join("ring.ply");
            scene::write_ply(&path, &ring(), false)?;
            path
        }
    };
    let picture = arguments.next().unwrap_or(folder.join("view.png"));

    // Any format that splatcore knows; unsound Gaussians are left out.
    let file = scene::read(&path)?;
    let camera = orbit(&file.gaussians, 30.0, 20.0);
    let options = RenderOptions {
        background: [1.0; 3],
        antialias: file.antialiased,
        ..RenderOptions::default()
    };
    // A renderer holds the uploaded scene and renders as many cameras as are wanted. With a card:
    // `splatcore::cuda::CudaBackend` in place of `CpuBackend`.
    let mut renderer = CpuBackend::new(None).renderer(&file.gaussians)?;
    let image = renderer.render(&camera, &options)?.image;
    file::write_png(&picture, &image)?;

    let covered = image.data.iter().filter(|pixel| **pixel != [1.0; 3]);
    println!(
        "{} Gaussians cover {} of {}x{} pixels: {}",
        file.gaussians.len(),
        covered.count(),
        image.width,
        image.height,
        picture.display()
    );
    Ok(())
}

/// A camera on a circle around the scene, which looks at its centre; angles in degrees. Scenes made
/// from photos mostly have y pointing down, so up is -y.
fn orbit(scene: &Gaussians, azimuth: f64, elevation: f64) -> Camera {
    let visible = |i: &usize| sigmoid(scene.opacity_logits[*i]) > 0.1;
    let count = (0..scene.len()).filter(visible).count().max(1) as f64;
    let mut centre = [0.0; 3];
    for i in (0..scene.len()).filter(visible) {
        for k in 0..3 {
            centre[k] += f64::from(scene.means[i][k]) / count;
        }
    }
    // Root of the mean squared distance from the centre.
    let squared = |i: usize| -> f64 {
        let offset = |k: usize| f64::from(scene.means[i][k]) - centre[k];
        (0..3).map(|k| offset(k).powi(2)).sum()
    };
    let radius = ((0..scene.len()).filter(visible).map(squared).sum::<f64>() / count).sqrt();

    let (azimuth, elevation) = (azimuth.to_radians(), elevation.to_radians());
    let direction = [
        azimuth.sin() * elevation.cos(),
        -elevation.sin(),
        azimuth.cos() * elevation.cos(),
    ];
    let eye = std::array::from_fn(|k| centre[k] + 4.0 * radius.max(1e-3) * direction[k]);
    Camera::look_at(eye, centre, [0.0, -1.0, 0.0], 0.8, 320, 240)
}

/// 500 Gaussians on a ring in the plane y = 0, of all hues.
fn ring() -> Gaussians {
    let count = 500;
    let mut scene = Gaussians::zeros(count, 0);
    for i in 0..count {
        let turn = i as f32 / count as f32;
        let (sin, cos) = (turn * std::f32::consts::TAU).sin_cos();
        scene.means[i] = [2.0 * cos, 0.3 * (7.0 * turn).sin(), 2.0 * sin];
        // Standard deviations 0.15, 0.05 and 0.15; scales are kept as logarithms.
        scene.log_scales[i] = [0.15f32.ln(), 0.05f32.ln(), 0.15f32.ln()];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0]; // w, x, y, z
        scene.opacity_logits[i] = logit(0.7);
        let hue = |shift: f32| 0.5 + 0.5 * ((turn + shift) * std::f32::consts::TAU).cos();
        scene.sh[i] = [0.0, 1.0 / 3.0, 2.0 / 3.0].map(|shift| sh::from_colour(hue(shift)));
    }
    scene
}
