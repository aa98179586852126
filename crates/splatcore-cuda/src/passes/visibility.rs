//! How much of each Gaussian a view shows: the lists of the plain blend, walked once more.

use super::both::Passes;
use crate::device::Buffer;
use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::ops::scene::SceneAddresses;
use crate::ops::score::visibility::{self, UNITS, VisibilityParams};
use splatcore_core::backend::{RenderOptions, Visibility};
use splatcore_core::pipeline::Blend;
use splatcore_core::{BackendError, Camera};

impl Passes {
    /// Sums over the fragments of each Gaussian, in the order of the device's rows.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn visibility(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        let mut options = options.clone();
        options.pipeline.blend = Blend::Scalar;
        // Counting a frame leaves the lists of tiles that this blend walks.
        let (view, _) = self.until_it_fits(|passes| passes.count(scene, camera, &options))?;
        let program = visibility::program();
        let [kernel] = self.work.kernels.get(&program).map_err(failed)?[..] else {
            return Err(wrong_program(program.name()));
        };
        let count = scene.count;
        let bytes = 3 * count * size_of::<u64>();
        let sums = Buffer::new(&self.queue().device, "fragments of the Gaussians", bytes)?;
        sums.fill(0, bytes)?;
        let lists = self.sorted.lists(&self.work, view.tile_count(), false);
        let params = VisibilityParams {
            splats: self.work.splats(),
            pairs: lists.pairs,
            ranges: lists.ranges,
            camera: view,
            counters: self.work.counters(),
            gaussians: count as u32,
            sums: sums.address(),
        };
        visibility::launch(self.queue(), kernel, lists.count, &params)?;
        let sums: Vec<u64> = sums.to_vec(3 * count)?;
        let (weights, rest) = sums.split_at(count);
        let (transmittances, fragments) = rest.split_at(count);
        let of_units = |sums: &[u64]| sums.iter().map(|&sum| sum as f64 / UNITS).collect();
        Ok(Visibility {
            weights: of_units(weights),
            transmittances: of_units(transmittances),
            fragments: fragments.to_vec(),
        })
    }
}
