//! What Adam is told in a step, and which of its kernels runs.

use super::CudaLearner;
use crate::device::Program;
use crate::device::buffer::device_error;
use crate::device::queue::arguments;
use crate::ops::adam::moments::Moments;
use crate::ops::camera::KernelCamera;
use crate::ops::scene::SceneAddresses;
use crate::ops::state::State;
use crate::ops::{adam, project};
use bytemuck::{Pod, Zeroable};
use splatcore_core::BackendError;
use splatcore_core::backend::{Statistic, StepPlan};

/// Decay of the first moment.
const BETA1: f64 = 0.9;
/// Decay of the second moment.
const BETA2: f64 = 0.999;
/// Gaussians of a block of `adam`.
const ADAM_BLOCK: u32 = 128;

/// `Rates` of ops/adam/adam.cu.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Rates {
    means: f32,
    log_scales: f32,
    rotations: f32,
    opacity_logits: f32,
    sh_base: f32,
    sh_rest: f32,
    second_correction: f32,
    opacity_regulariser: f32,
    scale_regulariser: f32,
    noise: f32,
    sh_keep: f32,
    padding: u32,
    statistics: u32,
    step: u32,
    seed: u64,
}

impl Rates {
    fn new(plan: &StepPlan) -> Self {
        let t = plan.step.max(1) as f64;
        let first = 1.0 / (1.0 - BETA1.powf(t));
        let scale = |rate: f32| (rate as f64 * first) as f32;
        let rates = &plan.rates;
        Self {
            means: scale(rates.means),
            log_scales: scale(rates.log_scales),
            rotations: scale(rates.rotations),
            opacity_logits: scale(rates.opacity_logits),
            sh_base: scale(rates.sh_base),
            sh_rest: scale(rates.sh_rest),
            second_correction: (1.0 / (1.0 - BETA2.powf(t)).sqrt()) as f32,
            opacity_regulariser: plan.opacity_regulariser,
            scale_regulariser: plan.scale_regulariser,
            noise: plan.noise.unwrap_or(0.0),
            sh_keep: (1.0 - rates.sh_rest as f64 * plan.sh_regulariser as f64) as f32,
            padding: 0,
            statistics: plan.statistics.is_some().into(),
            step: plan.step,
            seed: plan.seed,
        }
    }
}

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
    /// From the sums of every slot to the parameters.
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
        let (slot_of, splats) = self.frame.splat_addresses();
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
            &mut arguments![
                means,
                means_1,
                means_2,
                log_scales,
                log_scales_1,
                log_scales_2,
                rotations,
                rotations_1,
                rotations_2,
                opacities,
                opacities_1,
                opacities_2,
                sh,
                sh_1,
                sh_2,
                self.state.gradient_sum.address(),
                self.state.seen.address(),
                slot_of,
                splats,
                sums,
                scene.smoothing,
                scene.count_at,
                *camera,
                rates,
                self.frame.counters_address()
            ],
        )
    }
}
