//! When columns are computed, and when Gaussians are removed that they say are drawn no more.

use super::Schedule;
use splatcore_core::backend::Refine;
use splatcore_core::columns::Column;

/// Steps between two computations of a column.
pub(super) const COMPUTE_EVERY: u32 = 100;

/// Steps between two removals of Gaussians that a column says are drawn no more, as of masked ones
/// in Compact-3DGS' code.
const PRUNE_EVERY: u32 = 1000;

impl Schedule {
    /// From the end of densification on every [`PRUNE_EVERY`] steps, and after the last:
    /// Gaussians that are drawn no more take memory and time. Before, rounds of adc remove them.
    pub(super) fn pruning_by_columns(&self, step: u32) -> impl Iterator<Item = Refine> {
        let c = &self.config;
        let due = step >= c.densify.until && step.is_multiple_of(PRUNE_EVERY);
        let due = due || step == c.iterations;
        let learned = Column::ALL.into_iter().filter(|&k| c.columns.learns(k));
        learned.filter(move |_| due).map(Refine::PruneByColumn)
    }

    /// Columns that are computed follow the means: before the first step (as step 0), and every
    /// [`COMPUTE_EVERY`] steps, last of all that happens then, but for so many steps at the end, in
    /// which parameters can come to rest in them. As in Mip-Splatting's code.
    pub(super) fn computed_columns(&self, step: u32) -> impl Iterator<Item = Refine> {
        let c = &self.config;
        let due = step.is_multiple_of(COMPUTE_EVERY)
            && (step == 0 || step + COMPUTE_EVERY <= c.iterations);
        let computed = Column::ALL
            .into_iter()
            .filter(move |&k| due && c.columns.computes(k));
        computed.map(Refine::ComputeColumn)
    }

    /// What precedes the first step.
    pub fn preparations(&self) -> impl Iterator<Item = Refine> {
        self.computed_columns(0)
    }
}
