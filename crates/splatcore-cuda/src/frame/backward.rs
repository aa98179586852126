//! The backward pass of a frame: gradients of every splat from the gradient of the image.

use super::forward::wrong_program;
use super::kernels::Op;
use super::{BUCKET, Frame, PROJECT_BLOCK, SUM_BYTES};
use crate::ops::blend_backward;
use crate::ops::blend_backward::{BlendBackwardParams, SumLongPairsParams, SumPairsParams};
use crate::ops::camera::KernelCamera;
use crate::ops::project_backward::ProjectBackwardParams;
use crate::ops::scene::SceneAddresses;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Pipeline};

/// PairSplats of a block of `sum_pairs`.
const SUM_SPLATS: usize = 32;

impl Frame {
    /// How gradients are summed.
    pub(super) fn backward_method(&self, pipeline: Pipeline) -> Backward {
        if self.deterministic && !blend_backward::has_pair_rows(pipeline.backward) {
            Backward::Subtile
        } else {
            pipeline.backward
        }
    }

    /// From `image_gradient` to the gradients of every splat. The last forward was for
    /// `Purpose::Training`, with the same options.
    ///
    /// # Errors
    /// If memory is short, a kernel does not compile or the device fails.
    pub fn backward(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let splat_sums = self.backward_to_splats(scene, view, options)?;
        let &[project_backward] = self.kernels_of(Op::ProjectBackward) else {
            return Err(wrong_program());
        };
        self.queue.launch(
            project_backward,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &ProjectBackwardParams {
                means: scene.arrays[0],
                log_scales: scene.arrays[1],
                rotations: scene.arrays[2],
                opacity_logits: scene.arrays[3],
                sh: scene.arrays[4],
                camera: *view,
                splats: self.splats.address(),
                sums: splat_sums,
                counters: self.counters.address(),
                gradients: self.gradients.address(),
                smoothing: scene.smoothing,
            },
        )?;
        self.queue.mark("project_backward")
    }

    /// The first half of [`Frame::backward`]: the sums of every splat, a row of 12 floats. Returns
    /// their address.
    ///
    /// # Errors
    /// As [`Frame::backward`].
    pub fn backward_to_splats(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<u64, BackendError> {
        let method = self.backward_method(options.pipeline);
        let pair_rows = blend_backward::has_pair_rows(method);
        let &[blend_backward] = self.kernels_of(Op::BlendBackward) else {
            return Err(wrong_program());
        };
        if !pair_rows {
            self.sums.fill(0, SUM_BYTES * scene.count)?;
        }
        let (pairs, pair_splats) = self.pairs(true);
        let (grid, block) = match method {
            Backward::GaussianParallel => (self.buckets(view), BUCKET),
            _ => (view.tile_count(), 256),
        };
        self.queue.launch(
            blend_backward,
            grid as u32,
            block as u32,
            &BlendBackwardParams {
                splats: self.splats.address(),
                pairs,
                pair_splats,
                ranges: self.cleared_at(self.layout.ranges),
                camera: *view,
                counters: self.counters.address(),
                image: self.image.address(),
                gradient: self.image_gradient.address(),
                sums: self.sums.address(),
                pair_sums: self.sums.address(),
                bucket_tiles: self.cleared_at(self.layout.bucket_tiles),
                checkpoints: self.checkpoints.address(),
                stops: self.stops.address(),
            },
        )?;
        self.queue.mark("blend_backward")?;
        let mut splat_sums = self.sums.address();
        if pair_rows {
            splat_sums = self.splat_sums.address();
            let &[sum_pairs, sum_long_pairs] = self.kernels_of(Op::SumPairs) else {
                return Err(wrong_program());
            };
            self.queue.launch(
                sum_pairs,
                scene.count.div_ceil(SUM_SPLATS) as u32,
                256,
                &SumPairsParams {
                    order: self.splat_order[self.order].address(),
                    first_pairs: self.first_pairs.address(),
                    tile_counts: self.pair_counts.address(),
                    pair_sums: self.sums.address(),
                    splats: self.splats.address(),
                    counters: self.counters.address(),
                    sums: splat_sums,
                },
            )?;
            self.queue.launch(
                sum_long_pairs,
                self.long_blocks(scene.count),
                256,
                &SumLongPairsParams {
                    long_splats: self.long_splats.address(),
                    first_pairs: self.first_pairs.address(),
                    tile_counts: self.pair_counts.address(),
                    pair_sums: self.sums.address(),
                    splats: self.splats.address(),
                    counters: self.counters.address(),
                    sums: splat_sums,
                },
            )?;
            self.queue.mark("sum_pairs")?;
        }
        Ok(splat_sums)
    }
}
