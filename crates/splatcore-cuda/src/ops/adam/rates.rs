//! What Adam is told in a step.

use crate::device::Program;
use crate::device::params::shared_struct;
use crate::ops::constants::float;
use splatcore_core::backend::{BETAS, StepPlan};

/// Keeps the quotient of the moments finite.
const EPSILON: f64 = 1e-15;

/// Adam's constants as kernels have them, with the decays of steps of one view.
pub fn constants() -> [(&'static str, String); 3] {
    let [first, second] = BETAS;
    [
        float("BETA1", first),
        float("BETA2", second),
        float("EPSILON", EPSILON),
    ]
}

/// The program with these decays of the moments.
pub fn with_betas(program: Program, betas: [f64; 2]) -> Program {
    let [first, second] = [float("BETA1", betas[0]), float("BETA2", betas[1])];
    program.with(first.0, first.1).with(second.0, second.1)
}

shared_struct! {
    /// `Rates` of ops/adam/adam.cu.
    pub struct Rates as "Rates" {
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
        statistics: u32,
        step: u32,
        seed: u64,
    }
}

/// Of Adam's bias corrections.
fn exponent(plan: &StepPlan) -> f64 {
    plan.step.max(1) as f64
}

/// A rate with Adam's first bias correction in it.
pub fn scaled(plan: &StepPlan, rate: f32) -> f32 {
    let first = match plan.bias_correction {
        true => 1.0 / (1.0 - plan.betas[0].powf(exponent(plan))),
        false => 1.0,
    };
    (rate as f64 * first) as f32
}

impl Rates {
    /// What a step of training says, with the bias corrections of Adam in it.
    pub fn new(plan: &StepPlan) -> Self {
        let scale = |rate| scaled(plan, rate);
        let rates = &plan.rates;
        let second = 1.0 / (1.0 - plan.betas[1].powf(exponent(plan))).sqrt();
        Self {
            means: scale(rates.means),
            log_scales: scale(rates.log_scales),
            rotations: scale(rates.rotations),
            opacity_logits: scale(rates.opacity_logits),
            sh_base: scale(rates.sh_base),
            sh_rest: scale(rates.sh_rest),
            second_correction: if plan.bias_correction {
                second as f32
            } else {
                1.0
            },
            opacity_regulariser: plan.opacity_regulariser,
            scale_regulariser: plan.scale_regulariser,
            noise: plan.noise.unwrap_or(0.0),
            statistics: plan.statistics.is_some().into(),
            step: plan.step,
            seed: plan.seed,
        }
    }
}
