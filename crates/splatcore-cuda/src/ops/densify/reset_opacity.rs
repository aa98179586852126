//! Opacity reset: caps every opacity and clears its moments.

use super::densifier::Densify;
use super::params::CapOpacityParams;
use super::totals::{self, Numbers};
use crate::ops::state::{LOG_SCALES, OPACITIES, State};
use splatcore_core::BackendError;
use splatcore_core::gaussians::logit;

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
