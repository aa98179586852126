//! Pruning as floaters or by a column that learns: mark, read how many stay, compact.

use super::actions::KEPT;
use super::densifier::Densify;
use super::params::PruneMarkParams;
use super::rows::Compacted;
use super::totals::{self, Numbers};
use crate::device::Buffer;
use crate::ops::state::State;
use splatcore_core::BackendError;
use splatcore_core::backend::Refine;

impl Densify {
    pub(super) fn prune(
        &self,
        state: &mut State,
        refine: &Refine,
        verdicts: Option<&Buffer>,
        (numbers, counters): (Numbers, u64),
    ) -> Result<(), BackendError> {
        let (values, min) = match (refine, verdicts) {
            (Refine::PruneFloaters { .. }, Some(verdicts)) => (verdicts.address(), 0.0),
            (&Refine::PruneByColumn(column), _) => {
                let (rows, learns) = (&state.columns[column], &column.entry().learns);
                match learns.as_ref().filter(|_| rows.exists) {
                    Some(learns) => (rows.address(), learns.min),
                    None => return Ok(()),
                }
            }
            _ => return Ok(()),
        };
        let n = state.count;
        let work = self.work(n, numbers)?;
        let (count, actions) = (n as u32, work.actions.address());
        self.each(
            self.kernels.prune_mark,
            n,
            &PruneMarkParams {
                values,
                n: count,
                min,
                actions,
            },
        )?;
        let sums = self.count(&work, KEPT, n, totals::KEPT)?;
        let kept = self.ring.read_one(numbers)?[totals::KEPT] as usize;
        // All memory before the first change, so that a failure leaves the state as it was.
        let (list, scratch) = (self.indices(kept)?, self.scratch(n)?);
        self.decide_sizes(&work, n, counters)?;
        if kept < n {
            self.list(&work, (KEPT, totals::KEPT), n, &sums, &list)?;
            let compacted = Compacted {
                kept: &list,
                listed: numbers.at(totals::KEPT),
                rest: kept,
                rows: numbers.at(totals::COMPACTED),
                most: kept,
            };
            self.compact(state, &compacted, &scratch)?;
            self.compact_statistics(state, &compacted, &scratch)?;
            state.count = kept;
        }
        Ok(())
    }
}
