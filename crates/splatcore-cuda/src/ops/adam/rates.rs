//! What Adam is told in a step.

use crate::device::Layout;
use crate::device::params::layout;
use crate::ops::constants::float;
use bytemuck::{Pod, Zeroable};
use splatcore_core::backend::StepPlan;

/// Decay of the first moment.
pub const BETA1: f64 = 0.9;
/// Decay of the second moment.
pub const BETA2: f64 = 0.999;
/// Keeps the quotient of the moments finite.
const EPSILON: f64 = 1e-15;

/// Adam's constants as kernels have them.
pub fn constants() -> [(&'static str, String); 3] {
    [
        float("BETA1", BETA1),
        float("BETA2", BETA2),
        float("EPSILON", EPSILON),
    ]
}

/// `Rates` of ops/adam/adam.cu.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Rates {
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
    mask_rate: f32,
    mask_weight: f32,
    sh_keep: f32,
    padding: u32,
    statistics: u32,
    step: u32,
    seed: u64,
}

impl Rates {
    /// As CUDA must have it.
    pub(crate) const LAYOUT: &'static Layout = layout!(
        Self as "Rates";
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
        mask_rate: f32,
        mask_weight: f32,
        sh_keep: f32,
        padding: u32,
        statistics: u32,
        step: u32,
        seed: u64,
    );

    /// What a step of training says, with the bias corrections of Adam in it.
    pub fn new(plan: &StepPlan) -> Self {
        let t = plan.step.max(1) as f64;
        let [first, second] = match plan.bias_correction {
            true => [
                1.0 / (1.0 - BETA1.powf(t)),
                1.0 / (1.0 - BETA2.powf(t)).sqrt(),
            ],
            false => [1.0, 1.0],
        };
        let scale = |rate: f32| (rate as f64 * first) as f32;
        let rates = &plan.rates;
        Self {
            means: scale(rates.means),
            log_scales: scale(rates.log_scales),
            rotations: scale(rates.rotations),
            opacity_logits: scale(rates.opacity_logits),
            sh_base: scale(rates.sh_base),
            sh_rest: scale(rates.sh_rest),
            second_correction: second as f32,
            opacity_regulariser: plan.opacity_regulariser,
            scale_regulariser: plan.scale_regulariser,
            noise: plan.noise.unwrap_or(0.0),
            mask_rate: scale(plan.masks.map_or(0.0, |masks| masks.rate)),
            mask_weight: plan.masks.map_or(0.0, |masks| masks.weight),
            sh_keep: (1.0 - rates.sh_rest as f64 * plan.sh_regulariser as f64) as f32,
            padding: 0,
            statistics: plan.statistics.is_some().into(),
            step: plan.step,
            seed: plan.seed,
        }
    }
}
