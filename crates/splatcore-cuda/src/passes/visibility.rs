//! How much of each Gaussian a view shows, and how many each tile takes: the lists of the plain
//! blend, walked once more or measured.

use super::both::Passes;
use super::tile_lists::TileLists;
use crate::device::Buffer;
use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::ops::camera::KernelCamera;
use crate::ops::scene::SceneAddresses;
use crate::ops::visibility::{self, UNITS, VisibilityParams};
use splatcore_core::backend::{RenderOptions, TileCounts, Visibility};
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
        let (view, lists) = self.plain_lists(scene, camera, options)?;
        let program = visibility::program();
        let [kernel] = self.work.kernels.get(&program).map_err(failed)?[..] else {
            return Err(wrong_program(program.name()));
        };
        let count = scene.count;
        let bytes = 3 * count * size_of::<u64>();
        let sums = Buffer::new(&self.queue().device, "fragments of the Gaussians", bytes)?;
        sums.fill(0, bytes)?;
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

    /// Lengths of the tiles' lists.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn tile_counts(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        let (view, lists) = self.plain_lists(scene, camera, options)?;
        let mut ranges = vec![[0u32; 2]; lists.count];
        self.work.read_scratch(lists.ranges, &mut ranges)?;
        // `list_range` of ops/shared/splat.cuh: an empty list is zeroes.
        let length = |&[start, end]: &[u32; 2]| if end > 0 { end - !start } else { 0 };
        Ok(TileCounts {
            tiles: [view.tiles_x, view.tiles_y].map(|tiles| tiles as usize),
            counts: ranges.iter().map(length).collect(),
        })
    }

    /// The lists of tiles that the plain blend walks, complete.
    fn plain_lists(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(KernelCamera, TileLists), BackendError> {
        let mut options = options.clone();
        options.pipeline.blend = Blend::Scalar;
        // Counting a frame leaves them.
        let (view, _) = self.until_it_fits(|passes| passes.count(scene, camera, &options))?;
        let lists = self.sorted.lists(&self.work, view.tile_count(), false);
        Ok((view, lists))
    }
}
