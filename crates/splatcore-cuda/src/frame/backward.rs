//! The backward pass of a frame: gradients of every slot from the gradient of the image.

use super::forward::wrong_program;
use super::{BUCKET, Frame, PROJECT_BLOCK, SUM_BYTES, SceneAddresses};
use crate::camera::KernelCamera;
use crate::launch::arguments;
use crate::programs;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Pipeline};

/// Slots of a block of `sum_pairs`.
const SUM_SLOTS: usize = 32;

impl Frame {
    /// How gradients are summed.
    pub(super) fn backward_method(&self, pipeline: Pipeline) -> Backward {
        if self.deterministic && !programs::has_pair_rows(pipeline.backward) {
            Backward::Subtile
        } else {
            pipeline.backward
        }
    }

    /// From `image_gradient` to the gradients of every slot. The last forward was for `Purpose::Training`.
    ///
    /// # Errors
    /// If memory is short, a kernel does not compile or the device fails.
    pub fn backward(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let in_use = options.sh_degree.min(scene.sh_degree);
        let method = self.backward_method(options.pipeline);
        let pair_rows = programs::has_pair_rows(method);
        let program = programs::blend_backward(method);
        let &[blend_backward] = &self.kernels_of(&program)?[..] else {
            return Err(wrong_program());
        };
        if !pair_rows {
            self.sums.fill(0, SUM_BYTES * scene.count)?;
        }
        let (pairs, pair_slots) = self.pairs(true);
        let (grid, block) = match method {
            Backward::GaussianParallel => (self.buckets(view), BUCKET),
            _ => (view.tile_count(), 256),
        };
        self.queue.launch(
            blend_backward,
            grid as u32,
            block as u32,
            &mut arguments![
                self.splats.address(),
                pairs,
                pair_slots,
                self.cleared_at(self.layout.ranges),
                *view,
                self.counters.address(),
                self.image.address(),
                self.image_gradient.address(),
                self.sums.address(),
                // Read only by `gaussian-parallel`.
                self.cleared_at(self.layout.bucket_tiles),
                self.checkpoints.address(),
                self.stops.address()
            ],
        )?;
        self.queue.mark("blend_backward")?;
        let mut slot_sums = self.sums.address();
        if pair_rows {
            slot_sums = self.slot_sums.address();
            let &[sum_pairs, sum_long_pairs] = &self.kernels_of(&programs::sum_pairs())?[..] else {
                return Err(wrong_program());
            };
            self.queue.launch(
                sum_pairs,
                scene.count.div_ceil(SUM_SLOTS) as u32,
                256,
                &mut arguments![
                    self.slots[self.order].address(),
                    self.first_pairs.address(),
                    self.pair_counts.address(),
                    self.sums.address(),
                    self.counters.address(),
                    slot_sums
                ],
            )?;
            self.queue.launch(
                sum_long_pairs,
                self.long_blocks(scene.count),
                256,
                &mut arguments![
                    self.long_slots.address(),
                    self.first_pairs.address(),
                    self.pair_counts.address(),
                    self.sums.address(),
                    self.counters.address(),
                    slot_sums
                ],
            )?;
            self.queue.mark("sum_pairs")?;
        }
        let program = programs::project_backward(in_use, scene.sh_degree);
        let &[project_backward] = &self.kernels_of(&program)?[..] else {
            return Err(wrong_program());
        };
        self.queue.launch(
            project_backward,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &mut arguments![
                scene.arrays[0],
                scene.arrays[1],
                scene.arrays[2],
                scene.arrays[3],
                scene.arrays[4],
                *view,
                self.splats.address(),
                slot_sums,
                self.counters.address(),
                self.gradients.address()
            ],
        )?;
        self.queue.mark("project_backward")
    }
}
