//! Another program's images as test vectors: brush's reference renders, made with gsplat.
//!
//! They differ from the reference semantics in two constants: near plane 0.01 and alpha capped at
//! 0.999.
#![allow(clippy::unwrap_used)] // helpers of tests

use safetensors::SafeTensors;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Pipeline;
use splatcore_core::semantics::Semantics;
use splatcore_core::{Camera, Gaussians};
use std::path::PathBuf;

/// Both sides are f32 or better on values up to a few units; measured 1.3e-6 for f64 against
/// gsplat's f32.
pub const TOLERANCE: f64 = 5e-6;

/// A scene, and how the other program shows it to [`camera`].
pub struct Reference {
    pub name: &'static str,
    pub scene: Gaussians,
    /// r, g, b, alpha.
    pub image: Vec<[f64; 4]>,
}

/// None where the files are not there.
pub fn references() -> Vec<Reference> {
    let root = std::env::var_os("SPLATCORE_DATA")
        .map_or_else(|| PathBuf::from("../../../shared/data"), PathBuf::from);
    let folder = root.join("formats/brush_reference");
    if !folder.is_dir() {
        eprintln!("skipped: {} not found", folder.display());
        return Vec::new();
    }
    ["tiny_case", "basic_case"]
        .map(|name| {
            let bytes = std::fs::read(folder.join(format!("{name}.safetensors"))).unwrap();
            let tensors = SafeTensors::deserialize(&bytes).unwrap();
            let rows = |key: &str| -> Vec<f32> {
                let data = tensors.tensor(key).unwrap().data().to_vec();
                data.chunks_exact(4)
                    .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                    .collect()
            };
            fn grouped<const N: usize>(values: Vec<f32>) -> Vec<[f32; N]> {
                values.as_chunks::<N>().0.to_vec()
            }
            let image: Vec<[f32; 4]> = grouped(rows("out_img"));
            Reference {
                name,
                scene: Gaussians {
                    means: grouped(rows("means")),
                    log_scales: grouped(rows("scales")),
                    rotations: grouped(rows("quats")),
                    opacity_logits: rows("opacities"),
                    sh: grouped(rows("coeffs")),
                    sh_degree: 3,
                },
                image: image.iter().map(|p| p.map(f64::from)).collect(),
            }
        })
        .into()
}

/// What every image was made with.
pub fn camera() -> Camera {
    Camera {
        translation: [-0.123, -0.456, 8.0],
        ..Camera::pinhole(123, 82, 61.5)
    }
}

/// The other program's constants.
pub fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        semantics: Semantics {
            near_plane: 0.01,
            alpha_max: 0.999,
        },
        ..RenderOptions::default()
    }
}

/// Of any channel. The pixels are as many as the image has.
pub fn largest_difference(reference: &Reference, pixels: impl Iterator<Item = [f64; 4]>) -> f64 {
    let mut count = 0;
    let largest = pixels
        .zip(&reference.image)
        .inspect(|_| count += 1)
        .flat_map(|(a, b)| (0..4).map(move |c| (a[c] - b[c]).abs()))
        .fold(0.0, f64::max);
    assert_eq!(count, 123 * 82);
    let brightest = reference
        .image
        .as_flattened()
        .iter()
        .fold(0.0f64, |a, &b| a.max(b));
    assert!(
        brightest > 0.5,
        "{}: the reference image is black",
        reference.name
    );
    largest
}
