//! Opacity reset: caps every opacity and clears its moments. Fading: lowers every opacity by a
//! factor and clears all moments.

use super::arrays::of_group;
use super::densifier::Densify;
use super::params::{CapOpacityParams, FadeOpacityParams};
use super::totals::{self, Numbers};
use crate::ops::columns::kernels::ShapeColumns;
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
        self.each(
            self.kernels.cap_opacity,
            state.count,
            &CapOpacityParams {
                logits,
                all,
                ceiling,
                log_scales: scales,
                shape: ShapeColumns::of(&state.columns),
            },
        )?;
        for (_, moments) in of_group(group).filter(|&(array, _)| array > 0) {
            self.clear(moments, state.blocks(true), 0, (all, state.count))?;
        }
        Ok(())
    }

    pub(super) fn fade_opacity(
        &self,
        state: &mut State,
        (factor, floor): (f32, f32),
        numbers: Numbers,
    ) -> Result<(), BackendError> {
        let (logits, all) = (
            state.groups[OPACITIES].parameters.address(),
            numbers.at(totals::ALL),
        );
        self.each(
            self.kernels.fade_opacity,
            state.count,
            &FadeOpacityParams {
                logits,
                all,
                factor,
                floor,
            },
        )?;
        let most = state.count;
        self.clear_new_moments(state, 0, all, most)
    }
}
