//! Opacity reset: caps every opacity and clears its moments.

use super::*;
use crate::device::params::{Address, kernel_params};
use crate::ops::state::LOG_SCALES;
use splatcore_core::gaussians::logit;

kernel_params! {
    /// Parameters of `cap_opacity` (reset_opacity.cuh).
    pub struct CapOpacityParams {
        logits: Address,
        all: Address,
        ceiling: f32,
        log_scales: Address,
        smoothing: Address,
    }
}

impl Densify {
    pub(super) fn reset_opacity(
        &self,
        state: &State,
        ceiling: f32,
        numbers: Numbers,
    ) -> Result<(), BackendError> {
        let group = &state.groups[OPACITIES];
        let (logits, all, ceiling) = (
            group.parameters.address(),
            numbers.at(totals::ALL),
            logit(ceiling),
        );
        let scales = state.groups[LOG_SCALES].parameters.address();
        let smoothing = state.smoothing_address();
        self.each(
            self.kernels.cap_opacity,
            state.count,
            &CapOpacityParams {
                logits,
                all,
                ceiling,
                log_scales: scales,
                smoothing,
            },
        )?;
        let [_, first, second] = group.row_bytes();
        for (moments, row_bytes) in [(&group.first, first), (&group.second, second)] {
            self.clear(moments, row_bytes, 0, all, state.count)?;
        }
        Ok(())
    }
}
