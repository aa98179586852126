//! (Strip, Gaussian) pairs, counted on scenes of which the numbers are known.

use super::case::plain_camera;
use super::outcome::{Outcome, ensure, said};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, RenderOptions, StripCounts};
use splatcore_core::gaussians::logit;
use splatcore_core::pipeline::{Intersect, Pipeline};

/// Gaussians that each cover the whole image evenly.
const COVERS: u64 = 300;
/// Tiles of 40x24 pixels, and strips of 16x2 pixels that are inside; each tile has eight.
const TILES: u64 = 6;
const STRIPS_INSIDE: u64 = 3 * 8 + 3 * 4;
const BATCH: u64 = 256;

/// Of `scalar` a backend counts what strips walk and add to, or says that it does not count.
pub fn strips_are_counted(backend: &dyn Backend) -> Outcome {
    // Of alpha 0.8 the sixth fragment would leave less than 1e-4 of the light, so that the pixels
    // stop within the first batch; of alpha 0.01 they never do.
    for (alpha, blended, visited) in [(0.8, 5, BATCH), (0.01, COVERS, COVERS)] {
        let mut renderer = backend.renderer(&covering(alpha)).map_err(said)?;
        for intersect in [Intersect::Aabb, Intersect::Exact] {
            let options = RenderOptions {
                pipeline: Pipeline {
                    intersect,
                    ..Pipeline::VANILLA
                },
                ..RenderOptions::default()
            };
            let counts = renderer.counts(&plain_camera(40, 24), &options);
            let found = counts.map_err(said)?.strips;
            let wanted = StripCounts {
                visited: visited * 8 * TILES,
                blended: blended * STRIPS_INSIDE,
            };
            ensure(found.is_none_or(|found| found == wanted), || {
                format!("{intersect}, alpha {alpha}: {found:?}, not {wanted:?}")
            })?;
        }
    }
    Ok(())
}

/// One behind the other, so large that alpha is the same all over the image.
fn covering(alpha: f64) -> Gaussians {
    let mut scene = Gaussians::zeros(COVERS as usize, 0);
    for i in 0..scene.len() {
        scene.means[i] = [0.0, 0.0, 0.001 * i as f32];
        scene.log_scales[i] = [4.0, 4.0, -4.0];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = logit(alpha as f32);
    }
    scene
}
