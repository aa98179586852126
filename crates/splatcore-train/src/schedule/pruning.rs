//! When Gaussians are removed that the views have no use for.

use super::Schedule;
use super::course::LAST_PRUNING;
use splatcore_core::backend::Refine;

impl Schedule {
    /// Whether step `step` has a round of the pruning that looks at the views.
    fn prunes(&self, step: u32) -> bool {
        let c = &self.config;
        // What goes shortly before the end is not made up for; where the end moves, it may be near.
        let early = self
            .course
            .as_ref()
            .is_none_or(|course| course.share(step) <= LAST_PRUNING);
        step.is_multiple_of(c.prune.every) && step > c.densify.from && step < c.iterations && early
    }

    /// Rounds of that pruning after step `step`.
    pub(crate) fn prunings_left(&self, step: u32) -> u32 {
        let prune = &self.config.prune;
        let asked = prune.floaters.is_some_and(|share| share > 0.0);
        let all = self.config.iterations / prune.every;
        let rounds = (step / prune.every + 1)..=all;
        match asked {
            true => rounds.filter(|i| self.prunes(i * prune.every)).count() as u32,
            false => 0,
        }
    }

    pub(super) fn floaters(&self, step: u32) -> Option<Refine> {
        let share = self.config.prune.floaters? as f32;
        (share > 0.0 && self.prunes(step)).then(|| Refine::PruneFloaters {
            render: self.render(step),
            depth_share: share,
        })
    }
}
