//! Sums over the fragments of each Gaussian ([`splatcore_core::backend::Visibility`]), from the
//! fragments themselves.

use super::blend::{ALPHA_WINDOW, CutOffs, alpha, walk};
use super::lists::Lists;
use super::scene::Scene;
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::{ALPHA_MIN, TILE};
use splatcore_core::{Camera, Gaussians};

/// A sum with what roundings could make of it: pixels in which a comparison is in doubt may or may
/// not have a fragment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Between {
    /// Over the pixels without doubt.
    pub least: f64,
    /// With all that the others could add.
    pub most: f64,
}

/// The sums of a Gaussian: of alpha T, of T, and the number of fragments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TwinVisibility {
    /// Sum of alpha T.
    pub weight: Between,
    /// Sum of T.
    pub transmittance: Between,
    /// Number of fragments.
    pub fragments: Between,
}

impl Between {
    fn add_sure(&mut self, value: f64) {
        self.least += value;
        self.most += value;
    }
}

/// Sums of one view, `[n]`.
pub fn visibility(
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
) -> Vec<TwinVisibility> {
    let lists = Lists::new(&Scene::from(scene), camera, options, CutOffs::Reference);
    let (splats, tiles) = (&lists.splats, &lists.tiles);
    let cap = options.semantics.alpha_max as f64;
    let mut sums = vec![TwinVisibility::default(); scene.len()];
    for y in 0..camera.height as usize {
        for x in 0..camera.width as usize {
            let pixel = walk(x, y, splats, tiles, options, CutOffs::Reference);
            if !pixel.doubt.any {
                for f in &pixel.fragments {
                    let sum = &mut sums[splats[f.splat].index];
                    sum.weight.add_sure(f.alpha * f.transmittance);
                    sum.transmittance.add_sure(f.transmittance);
                    sum.fragments.add_sure(1.0);
                }
                continue;
            }
            let tile = (y / TILE) * tiles.columns + x / TILE;
            let centre = [x as f64 + 0.5, y as f64 + 0.5];
            for &k in tiles.lists[tile].iter().chain(&tiles.doubtful[tile]) {
                let (_, alpha) = alpha(&splats[k], centre);
                if alpha >= ALPHA_MIN * (1.0 - ALPHA_WINDOW) {
                    let sum = &mut sums[splats[k].index];
                    sum.weight.most += alpha.min(cap);
                    sum.transmittance.most += 1.0;
                    sum.fragments.most += 1.0;
                }
            }
        }
    }
    sums
}
