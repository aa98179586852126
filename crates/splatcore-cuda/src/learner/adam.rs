//! What Adam is told in a step, and which of its kernels runs.

use super::CudaLearner;
use crate::device::Program;
use crate::device::buffer::device_error;
use crate::ops::adam::AdamParams;
use crate::ops::adam::moments::Moments;
use crate::ops::adam::rates::Rates;
use crate::ops::camera::KernelCamera;
use crate::ops::scene::SceneAddresses;
use crate::ops::state::State;
use crate::ops::{adam, project};
use splatcore_core::BackendError;
use splatcore_core::backend::{Statistic, StepPlan};

/// Gaussians of a block of `adam`.
const ADAM_BLOCK: u32 = 128;

/// Everything that decides which kernels Adam's are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct AdamKind {
    in_use: u8,
    stored: u8,
    moments: Moments,
    sparse: bool,
    absolute: bool,
    antialias: bool,
    smoothing: bool,
}

impl AdamKind {
    /// For a step of such a state.
    pub(super) fn new(plan: &StepPlan, state: &State) -> Self {
        Self {
            in_use: plan.render.sh_degree.min(state.sh_degree),
            stored: state.sh_degree,
            moments: state.moments,
            sparse: plan.sparse_adam,
            absolute: plan.statistics == Some(Statistic::Absolute),
            antialias: plan.render.antialias,
            smoothing: state.smoothing_address() != 0,
        }
    }

    /// The same with this degree of the harmonics in use.
    pub(super) fn with_degree(self, in_use: u8) -> Self {
        Self { in_use, ..self }
    }

    /// Its kernels.
    pub(super) fn program(self) -> Program {
        let plain = adam::program(
            self.in_use,
            self.stored,
            self.moments,
            self.sparse,
            self.absolute,
        );
        project::filtered(plain, self.antialias, self.smoothing)
    }
}

impl CudaLearner {
    /// From the sums of every splat to the parameters.
    pub(super) fn adam(
        &mut self,
        scene: SceneAddresses,
        camera: &KernelCamera,
        sums: u64,
        plan: &StepPlan,
    ) -> Result<(), BackendError> {
        let [adam] = self.adam.1[..] else {
            return Err(device_error(
                "the program of adam has other kernels than asked for".into(),
            ));
        };
        let rates = Rates::new(plan);
        let count = self.state.count as u32;
        let (splat_of, splats) = self.frame.splat_addresses();
        let group = |k: usize| {
            let group = &self.state.groups[k];
            [
                group.parameters.address(),
                group.first.address(),
                group.second.address(),
            ]
        };
        let [means, means_1, means_2] = group(0);
        let [log_scales, log_scales_1, log_scales_2] = group(1);
        let [rotations, rotations_1, rotations_2] = group(2);
        let [opacities, opacities_1, opacities_2] = group(3);
        let [sh, sh_1, sh_2] = group(4);
        self.frame.queue.launch(
            adam,
            count.div_ceil(ADAM_BLOCK),
            ADAM_BLOCK,
            &AdamParams {
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
                smoothing: scene.smoothing,
                gaussians: scene.count_at,
                camera: *camera,
                rates,
                counters: self.frame.counters_address(),
            },
        )
    }
}
