//! What Adam is told in a step. Of one frame: the sums of each splat, from which `ops/adam/adam.cu`
//! computes the opacity's gradient and the others, and uses them at once. Of several: the gradients
//! that they added up.

use super::CudaLearner;
use crate::device::error::device_error;
use crate::ops::adam::rates::{Rates, scaled};
use crate::ops::adam::{self, AdamParams};
use crate::ops::camera::KernelCamera;
use crate::ops::columns::kernels::LearnedColumn;
use crate::ops::scene::SceneAddresses;
use splatcore_core::BackendError;
use splatcore_core::backend::StepPlan;

impl CudaLearner {
    /// From the sums of every splat, or the gradients that several frames added up, to the
    /// parameters of this rank's Gaussians.
    pub(super) fn adam(
        &mut self,
        scene: SceneAddresses,
        camera: &KernelCamera,
        plan: &StepPlan,
    ) -> Result<(), BackendError> {
        let [kernel] = self.adam.1[..] else {
            return Err(device_error(
                "the program of adam has other kernels than asked for".into(),
            ));
        };
        let rates = Rates::new(plan);
        let (of, [splats, splat_of, sums]) = self.rows_of_frame(0);
        let group = |k: usize| {
            let group = &self.state.groups[k];
            [
                group.parameters.address(),
                group.first.address(),
                group.second.address(),
            ]
        };
        let [gradients, sh_gradients] = self.batch.addresses();
        let [means, means_1, means_2] = group(0);
        let [log_scales, log_scales_1, log_scales_2] = group(1);
        let [rotations, rotations_1, rotations_2] = group(2);
        let [opacities, opacities_1, opacities_2] = group(3);
        let [sh, sh_1, sh_2] = group(4);
        let params = AdamParams {
            means,
            means_1,
            means_2,
            log_scales,
            log_scales_1,
            log_scales_2,
            rotations,
            rotations_1,
            rotations_2,
            opacity_logits: opacities,
            opacity_logits_1: opacities_1,
            opacity_logits_2: opacities_2,
            sh,
            sh_1,
            sh_2,
            gradient_sum: self.state.gradient_sum.address(),
            seen: self.state.seen.address(),
            splat_of,
            splats,
            sums,
            shape: scene.shape,
            columns: LearnedColumn::all(&self.state.columns, plan, |rate| scaled(plan, rate)),
            gaussians: scene.count_at,
            camera: *camera,
            rates,
            counters: self.passes.work.counters(),
            gradients,
            sh_gradients,
            share: 1.0 / plan.views.len() as f32,
            blocks: of.blocks,
            lens: self.passes.work.kernel_lens(),
        };
        adam::launch(self.passes.queue(), kernel, of.count, &params)
    }
}
