//! Gaussians keep their learned masks through every refinement, and what is new has its origin's.

use super::super::outcome::{Outcome, ensure, gather};
use super::{both_strategies, ensure_much_changed, families, refined, state};
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::columns::learned_masks::{MIN, is_on};
use splatcore_core::columns::{Column, Columns, OFF_OPACITY_LOGIT};

/// A state in which every Gaussian has another mask and other moments of it; every seventh is
/// masked, with the opacity that a step gives it.
fn masked(seed: u64, count: usize) -> LearnerState {
    let mask = |i: usize| if i % 7 == 3 { MIN - 1.0 } else { MIN };
    let mut columns = Columns::default();
    columns.set_arrays(
        Column::Mask,
        vec![
            (0..count).map(|i| mask(i) + 1e-3 * i as f32).collect(),
            (0..count).map(|i| 1e-3 + 0.01 * i as f32).collect(),
            (0..count).map(|i| 2e-3 + 0.01 * i as f32).collect(),
        ],
    );
    let mut state = LearnerState {
        columns,
        ..state(seed, count)
    };
    for i in 0..count {
        if !is_on(state.columns.values(Column::Mask)[i]) {
            state.gaussians.opacity_logits[i] = OFF_OPACITY_LOGIT;
        }
    }
    state
}

/// After clones, splits, pruning, relocation and growth; adc removes all that are masked, however
/// low its threshold, and no other.
pub fn masks_stay_with_their_gaussians(backend: &dyn Backend) -> Outcome {
    gather(both_strategies(1e-9).map(|refine| {
        let before = masked(66, 200);
        let (report, after) = refined(backend, &before, &refine)?;
        let prunes = matches!(refine, Refine::Adc { .. });
        ensure_much_changed(&report)?;
        let n = after.gaussians.len();
        let masks = after.columns.arrays(Column::Mask);
        ensure(
            masks.len() == 3 && after.columns.misshapen(n).is_none(),
            || format!("not a mask for each of {n} Gaussians"),
        )?;
        let families = families(&before.gaussians, &after.gaussians)?;
        let row = |state: &LearnerState, i: usize| {
            let masks = state.columns.arrays(Column::Mask);
            [0, 1, 2].map(|k| masks[k][i])
        };
        let mut new = 0;
        for (i, family) in families.iter().enumerate() {
            let [logit, first, second] = row(&before, i);
            ensure(!prunes || family.is_empty() != is_on(logit), || {
                format!("Gaussian {i} with mask logit {logit} became {family:?}")
            })?;
            for &j in family {
                // Those of sources of copies are cleared, too.
                let moments_of = |state: &LearnerState, k: usize| {
                    let g = [&state.first, &state.second];
                    g.map(|g| g.opacity_logits[k])
                };
                let kept = moments_of(&before, i) == moments_of(&after, j);
                let want = match kept {
                    true => [logit, first, second],
                    false => [logit, 0.0, 0.0],
                };
                new += usize::from(!kept);
                ensure(row(&after, j) == want, || {
                    format!(
                        "a Gaussian that came from {i} has mask {:?}, {want:?} is right",
                        row(&after, j)
                    )
                })?;
            }
        }
        ensure(new > 10, || format!("tests too little: {new} are new"))
    }))
}
