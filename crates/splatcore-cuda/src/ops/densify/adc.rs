//! Adaptive density control (Kerbl et al. 2023, section 5.2): decide, make room, append, compact.

use super::actions::{CLONED, KEPT, SPLIT};
use super::densifier::{Densify, Waits, Work};
use super::kernels::SPLIT_INTO;
use super::params::{AdcDecideParams, SplitChildrenParams};
use super::pool::Lent;
use super::reserve::{check_rows, is_plenty, reserve};
use super::rows::{Compacted, Scratch};
use super::totals::{self, Numbers};
use super::within::Within;
use crate::device::Buffer;
use crate::ops::state::{LOG_SCALES, MEANS, OPACITIES, ROTATIONS, State};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, budget_room};

/// INRIA's split divides the scales by this.
const SPLIT_SHRINK: f32 = 0.8 * SPLIT_INTO as f32;

/// How many there may be at most.
struct Sizes {
    kept: usize,
    clones: usize,
    parents: usize,
    /// Of clones and children.
    appended: usize,
    /// Gaussians afterwards.
    after: usize,
    /// Whether all stay.
    all_stay: bool,
}

/// The first halves of a round's lists ([`Densify::count`]).
struct Counted<'a> {
    kept: Lent<'a>,
    clones: Lent<'a>,
    parents: Lent<'a>,
}

/// Room for a round's lists, and to compact.
struct Lists<'a> {
    clones: Lent<'a>,
    parents: Lent<'a>,
    /// The list of those kept, and scratch; none if all stay.
    compaction: Option<(Lent<'a>, Scratch<'a>)>,
    /// For what ranks divide.
    scratch: Option<Scratch<'a>>,
}

impl Densify {
    pub(super) fn adc(
        &self,
        state: &mut State,
        refine: &Refine,
        (numbers, counters): (Numbers, u64),
        waits: Waits,
    ) -> Result<(), BackendError> {
        let &Refine::Adc {
            gradient_threshold,
            max_gaussians,
            budget,
            region,
            seed,
            step,
            ..
        } = refine
        else {
            return Ok(());
        };
        let n = state.count;
        let work = self.work(n, numbers)?;
        let within = Within::new(state, region);
        let room = match budget {
            None => max_gaussians.saturating_sub(n),
            Some(share) => budget_room(share, n, max_gaussians),
        };
        match budget {
            None => self.choose(state, &work, gradient_threshold, within, room)?,
            Some(_) => {
                self.draw_by_gradient(state, &work, (seed, step.into()), within, room)?;
            }
        }
        self.decide(state, refine, &work)?;
        let counted = Counted {
            kept: self.count(&work, KEPT, n, totals::KEPT)?,
            clones: self.count(&work, CLONED, n, totals::CLONES)?,
            parents: self.count(&work, SPLIT, n, totals::PARENTS)?,
        };
        let sizes = match waits {
            Waits::Never => self.most(n, room),
            Waits::ForSizes => self.sizes(n, numbers)?,
        };
        // Appended first, compacted then: the room is needed for a moment even where many go.
        let rows = n + sizes.appended;
        check_rows(rows)?;

        // All memory before the first change, so that a failure leaves the state as it was.
        let lists = self.lists(state, &sizes, rows)?;
        // Where memory is short, what goes again needs no room for more.
        let after = sizes.after;
        let limit = match is_plenty(&self.device, state.bytes_of(2 * rows)) {
            true => max_gaussians.max(after),
            false => (after + after / 10).min(max_gaussians).max(after),
        };
        reserve(&self.device, state, rows, limit)?;

        self.decide_sizes(&work, rows, counters)?;
        self.grow(state, refine, &work, &counted, &lists, &sizes)?;
        if let Some((list, scratch)) = &lists.compaction {
            self.list(&work, (KEPT, totals::KEPT), n, &counted.kept, list)?;
            let compacted = Compacted {
                kept: list,
                listed: numbers.at(totals::KEPT),
                rest: n,
                rows: numbers.at(totals::COMPACTED),
                most: after,
            };
            self.compact(state, &compacted, scratch)?;
        }
        state.count = after;
        Ok(())
    }

    /// Decides for each Gaussian whether it stays, is cloned or is split.
    fn decide(&self, state: &State, refine: &Refine, work: &Work<'_>) -> Result<(), BackendError> {
        let &Refine::Adc {
            split_scale,
            min_opacity,
            max_scale,
            ..
        } = refine
        else {
            return Ok(());
        };
        self.each(
            self.kernels.adc_decide,
            state.count,
            &AdcDecideParams {
                log_scales: state.groups[LOG_SCALES].parameters.address(),
                opacity_logits: state.groups[OPACITIES].parameters.address(),
                n: state.count as u32,
                split_scale,
                min_opacity,
                max_scale: max_scale.unwrap_or(f32::INFINITY),
                log_shrink: SPLIT_SHRINK.ln(),
                actions: work.actions.address(),
                totals: work.numbers.address(),
            },
        )
    }

    fn lists(&self, state: &State, sizes: &Sizes, rows: usize) -> Result<Lists<'_>, BackendError> {
        Ok(Lists {
            clones: self.indices(sizes.clones)?,
            parents: self.indices(sizes.parents)?,
            compaction: match sizes.all_stay {
                true => None,
                false => Some((self.indices(sizes.kept)?, self.scratch(rows)?)),
            },
            scratch: self.scratch_of_divided(state, rows)?,
        })
    }

    /// Appends clones, and behind them the children of those that are split.
    fn grow(
        &self,
        state: &mut State,
        refine: &Refine,
        work: &Work<'_>,
        counted: &Counted<'_>,
        lists: &Lists<'_>,
        sizes: &Sizes,
    ) -> Result<(), BackendError> {
        let (n, numbers) = (state.count, work.numbers);
        let (clone_list, parent_list) = (&lists.clones, &lists.parents);
        self.list(
            work,
            (CLONED, totals::CLONES),
            n,
            &counted.clones,
            clone_list,
        )?;
        self.list(
            work,
            (SPLIT, totals::PARENTS),
            n,
            &counted.parents,
            parent_list,
        )?;
        let (clones, children) = (numbers.at(totals::CLONES), numbers.at(totals::CHILDREN));
        let scratch = lists.scratch.as_ref();
        let wanted = (clones, sizes.clones);
        self.append(state, (clone_list, 1), (n, 0), wanted, scratch)?;
        let most_children = SPLIT_INTO as usize * sizes.parents;
        self.append(
            state,
            (parent_list, SPLIT_INTO),
            (n, clones),
            (children, most_children),
            scratch,
        )?;
        self.clear_new_moments(state, n, numbers.at(totals::APPENDED), sizes.appended)?;
        match most_children {
            0 => Ok(()),
            most => self.split_children(state, refine, numbers, parent_list, most),
        }
    }

    /// Turns the copies of those that are split into their children, at most `most`.
    fn split_children(
        &self,
        state: &State,
        refine: &Refine,
        numbers: Numbers,
        parents: &Buffer,
        most: usize,
    ) -> Result<(), BackendError> {
        let &Refine::Adc { seed, step, .. } = refine else {
            return Ok(());
        };
        let address = |group: usize| state.groups[group].parameters.address();
        self.each(
            self.kernels.split_children,
            most,
            &SplitChildrenParams {
                means: address(MEANS),
                log_scales: address(LOG_SCALES),
                rotations: address(ROTATIONS),
                parents: parents.address(),
                totals: numbers.address(),
                log_shrink: SPLIT_SHRINK.ln(),
                seed,
                step: step as u64,
            },
        )
    }

    /// What the numbers say. Waits for the device.
    fn sizes(&self, n: usize, numbers: Numbers) -> Result<Sizes, BackendError> {
        let numbers = self.ring.read_one(numbers)?;
        let number = |place: usize| numbers[place] as usize;
        let (kept, clones, parents) = (
            number(totals::KEPT),
            number(totals::CLONES),
            number(totals::PARENTS),
        );
        let appended = clones + SPLIT_INTO as usize * parents;
        Ok(Sizes {
            kept,
            clones,
            parents,
            appended,
            after: kept + appended,
            all_stay: kept == n,
        })
    }

    /// What there is room for, if there is room for `room` Gaussians more: each that grows makes
    /// one of them, and needs two rows for a moment if it is split.
    fn most(&self, n: usize, room: usize) -> Sizes {
        let room = room.min(n);
        let appended = self.growth_of(n).min(SPLIT_INTO as usize * room);
        Sizes {
            kept: n,
            clones: appended.min(room),
            parents: (appended / SPLIT_INTO as usize).min(room),
            appended,
            after: n + appended.min(room),
            all_stay: false,
        }
    }
}
