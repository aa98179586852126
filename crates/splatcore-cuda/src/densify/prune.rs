//! Pruning by scores or as floaters: mark, read how many stay, compact.

use super::*;

impl Densify {
    pub(super) fn prune(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
    ) -> Result<RefineReport, BackendError> {
        let (min_importance, max_bad_share) = match *refine {
            Refine::Prune {
                min_importance,
                max_bad_share,
                ..
            } => (min_importance, max_bad_share),
            // Verdicts in place of the largest weights, and none of the other scores.
            Refine::PruneFloaters { .. } => (0.0, 1.0),
            _ => return Ok(RefineReport::default()),
        };
        let Some(scores) = scores else {
            return Ok(RefineReport::default());
        };
        let n = state.count;
        let work = Work::new(&self.pool, n)?;
        let (bad, weight, largest) = (
            scores.bad.address(),
            scores.weight.address(),
            scores.largest.address(),
        );
        let (count, actions) = (n as u32, work.actions.address());
        // SAFETY: the arguments of prune_mark; there is a score for each Gaussian.
        unsafe {
            self.each(
                self.kernels.prune_mark,
                n,
                &mut arguments![
                    bad,
                    weight,
                    largest,
                    count,
                    min_importance,
                    max_bad_share,
                    actions
                ],
            )
        }?;
        let sums = self.count(&work, KEPT, n, TOTAL_KEPT)?;
        let totals: Vec<u64> = work.totals.to_vec(TOTALS)?;
        let kept = totals[TOTAL_KEPT] as usize;
        if kept < n {
            // All memory before the first change, so that a failure leaves the state as it was.
            let (list, scratch) = (self.indices(kept)?, self.scratch(n)?);
            self.list(&work, KEPT, n, &sums, &list)?;
            self.compact(state, &list, kept, kept, kept, &scratch)?;
            self.compact_statistics(state, &list, kept, &scratch)?;
            state.count = kept;
        }
        Ok(RefineReport {
            pruned: n - kept,
            ..RefineReport::default()
        })
    }
}
