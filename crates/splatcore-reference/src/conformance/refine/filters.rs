//! Gaussians keep their 3D filters through every refinement, and what is new has its origin's.

use super::super::outcome::{Outcome, ensure, gather};
use super::{both_strategies, ensure_much_changed, families, refined, state};
use crate::twin::project::sigmoid;
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::columns::Column;
use splatcore_core::columns::smoothing::fuse;

/// A state in which every Gaussian has another filter.
fn filtered(seed: u64, count: usize) -> LearnerState {
    let mut state = state(seed, count);
    let filters = (0..count).map(|i| -1.0 - 0.01 * i as f32).collect();
    state.columns.set(Column::Filter, filters);
    state
}

/// After clones, splits, pruning, relocation and growth.
pub fn filters_stay_with_their_gaussians(backend: &dyn Backend) -> Outcome {
    gather(both_strategies(0.1).map(|refine| {
        let before = filtered(64, 200);
        let (report, after) = refined(backend, &before, &refine)?;
        ensure_much_changed(&report)?;
        let [old, new] = [&before, &after].map(|state| state.columns.values(Column::Filter));
        ensure(new.len() == after.gaussians.len(), || {
            format!(
                "{} filters of {} Gaussians",
                new.len(),
                after.gaussians.len()
            )
        })?;
        for (i, family) in families(&before.gaussians, &after.gaussians)?
            .iter()
            .enumerate()
        {
            ensure(family.iter().all(|&j| new[j] == old[i]), || {
                format!("a Gaussian that came from {i} has another filter")
            })?;
        }
        Ok(())
    }))
}

/// It is the filtered opacity that a reset caps: below what is drawn, nothing would ever come back.
pub fn opacity_reset_caps_filtered_opacities(backend: &dyn Backend) -> Outcome {
    let before = filtered(65, 150);
    let (_, after) = refined(backend, &before, &Refine::ResetOpacity { ceiling: 0.01 })?;
    let seen = |state: &LearnerState| {
        fuse(
            state.gaussians.clone(),
            state.columns.values(Column::Filter),
        )
    };
    let (old, new) = (seen(&before), seen(&after));
    let mut capped = [0; 2];
    for i in 0..150 {
        let opacity = |logit: f32| sigmoid(logit as f64);
        let (was, is) = (
            opacity(old.opacity_logits[i]),
            opacity(new.opacity_logits[i]),
        );
        let stays = was <= 0.01;
        ensure((is - was.min(0.01)).abs() < 1e-6, || {
            format!("the filtered opacity of Gaussian {i} went from {was} to {is}")
        })?;
        let own = [&before, &after].map(|state| state.gaussians.opacity_logits[i]);
        ensure(!stays || own[0] == own[1], || {
            format!("the faint Gaussian {i} went from {} to {}", own[0], own[1])
        })?;
        capped[stays as usize] += 1;
    }
    ensure(capped.iter().all(|&count| count > 10), || {
        format!("tests too little: {capped:?}")
    })
}
