//! Adam's decays, and how steps without a first moment begin.
//!
//! Where moments are cleared, the second is too small for a while: of n gradients g it is
//! `(1 - 0.999^n) g^2`, and `g` over its root is 31 in the first step. The first moment, which is
//! cleared with it, is too small as well, `(1 - 0.9^n) g`, so that Adam's first step is 3.2 and its
//! tenth 6.5. Without a first moment the rates take that factor.

use super::Schedule;
use crate::config::Moments;
use splatcore_core::backend::{BETAS, LearningRates};

/// Steps after which a first moment would hold 99 % of its gradients.
const STEPS: u32 = 44;

impl Schedule {
    /// Decays of the first and the second moment of Adam.
    pub(super) fn betas(&self) -> [f64; 2] {
        let [first, second] = BETAS.map(|beta| beta.powf(self.batch_power()));
        match self.config.compute.moments {
            Moments::Second | Moments::Small => [0.0, second],
            Moments::Full | Moments::Compact => [first, second],
        }
    }

    /// The rates of step `step`, less while moments fill again that a step before has cleared. If
    /// there are first moments, as they are.
    pub(super) fn slowed(&self, rates: LearningRates, step: u32) -> LearningRates {
        let since = match self.config.compute.moments {
            Moments::Second | Moments::Small => {
                (1..=STEPS.min(step)).find(|n| self.clears_moments(step - n))
            }
            Moments::Full | Moments::Compact => None,
        };
        let Some(since) = since else { return rates };
        let share = 1.0 - BETAS[0].powf(self.batch_power() * f64::from(since));
        let slower = |rate: f32| (f64::from(rate) * share) as f32;
        LearningRates {
            means: slower(rates.means),
            log_scales: slower(rates.log_scales),
            rotations: slower(rates.rotations),
            opacity_logits: slower(rates.opacity_logits),
            sh_base: slower(rates.sh_base),
            sh_rest: slower(rates.sh_rest),
        }
    }

    /// Whether moments of some Gaussians are cleared behind step `step`; step 0 is the start, which
    /// Adam's bias correction makes up for.
    fn clears_moments(&self, step: u32) -> bool {
        match step {
            0 => !self.config.bias_correction,
            _ => self.rounds(step).next().is_some(),
        }
    }
}
