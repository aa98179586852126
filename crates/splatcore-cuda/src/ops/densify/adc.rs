//! Adaptive density control (Kerbl et al. 2023, section 5.2): decide, make room, append, compact.

use super::*;
use crate::device::params::{Address, kernel_params};
use crate::ops::state::{LOG_SCALES, MEANS, ROTATIONS};

kernel_params! {
    /// Parameters of `adc_decide` (densify.cu).
    pub struct AdcDecideParams {
        log_scales: Address,
        opacity_logits: Address,
        n: u32,
        split_scale: f32,
        min_opacity: f32,
        max_scale: f32,
        log_shrink: f32,
        actions: Address,
        totals: Address,
    }

    /// Parameters of `split_children` (densify.cu).
    pub struct SplitChildrenParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        parents: Address,
        totals: Address,
        log_shrink: f32,
        seed: u64,
        step: u64,
    }

    /// Parameters of `select_histogram` (densify.cu).
    pub struct SelectHistogramParams {
        gradient_sum: Address,
        seen: Address,
        n: u32,
        threshold: f32,
        bad: Address,
        min_bad: f32,
        shift: u32,
        selection: Address,
        histogram: Address,
    }

    /// Parameters of `select_digit` (densify.cu).
    pub struct SelectDigitParams {
        shift: u32,
        room: u32,
        selection: Address,
        histogram: Address,
    }

    /// Parameters of `adc_choose` (densify.cu).
    pub struct AdcChooseParams {
        gradient_sum: Address,
        seen: Address,
        n: u32,
        threshold: f32,
        bad: Address,
        min_bad: f32,
        selection: Address,
        actions: Address,
    }

    /// Parameters of `adc_admit` (densify.cu).
    pub struct AdcAdmitParams {
        equals: Address,
        count: Address,
        selection: Address,
        actions: Address,
    }
}

/// INRIA's split replaces a Gaussian by this many, their scales divided by 0.8 times as much.
const SPLIT_INTO: u32 = 2;
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

impl Densify {
    pub(super) fn adc(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
        (numbers, counters): (Numbers, u64),
        waits: Waits,
    ) -> Result<(), BackendError> {
        let &Refine::Adc {
            gradient_threshold,
            split_scale,
            min_opacity,
            max_scale,
            max_gaussians,
            ref consistency,
            seed,
            step,
        } = refine
        else {
            return Ok(());
        };
        let n = state.count;
        let work = self.work(n, numbers)?;
        // Whose bad pixels count, and how many are enough; no address: nobody asks.
        let agreement = match (consistency, scores) {
            (Some(consistency), Some(scores)) => (
                scores.bad.address(),
                consistency.min_bad * scores.views as f32,
            ),
            _ => (0, 0.0),
        };
        let room = max_gaussians.saturating_sub(n);
        self.choose(state, &work, gradient_threshold, agreement, room)?;
        let log_shrink = SPLIT_SHRINK.ln();
        {
            let (scales, logits) = (
                state.groups[LOG_SCALES].parameters.address(),
                state.groups[OPACITIES].parameters.address(),
            );
            let (count, max_scale) = (n as u32, max_scale.unwrap_or(f32::INFINITY));
            let (actions, totals) = (work.actions.address(), numbers.address());
            self.each(
                self.kernels.adc_decide,
                n,
                &AdcDecideParams {
                    log_scales: scales,
                    opacity_logits: logits,
                    n: count,
                    split_scale,
                    min_opacity,
                    max_scale,
                    log_shrink,
                    actions,
                    totals,
                },
            )?;
        }
        let kept_sums = self.count(&work, KEPT, n, totals::KEPT)?;
        let clone_sums = self.count(&work, CLONED, n, totals::CLONES)?;
        let parent_sums = self.count(&work, SPLIT, n, totals::PARENTS)?;
        let sizes = match waits {
            Waits::Never => self.most(n, room),
            Waits::ForSizes => self.sizes(n, numbers)?,
        };
        // Appended first, compacted then: the room is needed for a moment even where many go.
        let rows = n + sizes.appended;
        check_rows(rows)?;

        // All memory before the first change, so that a failure leaves the state as it was.
        let clone_list = self.indices(sizes.clones)?;
        let parent_list = self.indices(sizes.parents)?;
        let compaction = match sizes.all_stay {
            true => None,
            false => Some((self.indices(sizes.kept)?, self.scratch(rows)?)),
        };
        // Where memory is short, what goes again needs no room for more.
        let after = sizes.after;
        let limit = match rows::is_plenty(&self.device, state.bytes_of(2 * rows)) {
            true => max_gaussians.max(after),
            false => (after + after / 10).min(max_gaussians).max(after),
        };
        reserve(&self.device, state, rows, limit)?;

        self.decide_sizes(&work, rows, counters)?;
        self.list(&work, (CLONED, totals::CLONES), n, &clone_sums, &clone_list)?;
        self.list(
            &work,
            (SPLIT, totals::PARENTS),
            n,
            &parent_sums,
            &parent_list,
        )?;
        let (clones, children) = (numbers.at(totals::CLONES), numbers.at(totals::CHILDREN));
        self.append(state, (&clone_list, 1), (n, 0), (clones, sizes.clones))?;
        let most_children = SPLIT_INTO as usize * sizes.parents;
        self.append(
            state,
            (&parent_list, SPLIT_INTO),
            (n, clones),
            (children, most_children),
        )?;
        self.clear_new_moments(state, n, numbers.at(totals::APPENDED), sizes.appended)?;
        if most_children > 0 {
            let address = |group: usize| state.groups[group].parameters.address();
            let (means, scales, rotations) =
                (address(MEANS), address(LOG_SCALES), address(ROTATIONS));
            let (list, numbers, step) = (parent_list.address(), numbers.address(), step as u64);
            self.each(
                self.kernels.split_children,
                most_children,
                &SplitChildrenParams {
                    means,
                    log_scales: scales,
                    rotations,
                    parents: list,
                    totals: numbers,
                    log_shrink,
                    seed,
                    step,
                },
            )?;
        }
        if let Some((list, scratch)) = compaction {
            self.list(&work, (KEPT, totals::KEPT), n, &kept_sums, &list)?;
            let compacted = Compacted {
                kept: &list,
                listed: numbers.at(totals::KEPT),
                rest: n,
                rows: numbers.at(totals::COMPACTED),
                most: after,
            };
            self.compact(state, &compacted, &scratch)?;
        }
        state.count = after;
        Ok(())
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

    /// Marks who grows: those at the threshold on whom the views agree, or if they are more than
    /// `room`, the largest gradients, ties by index.
    fn choose(
        &self,
        state: &State,
        work: &Work<'_>,
        threshold: f32,
        (bad, min_bad): (u64, f32),
        room: usize,
    ) -> Result<(), BackendError> {
        let n = state.count;
        // Nothing is at least "not a number".
        let threshold = if room == 0 { f32::NAN } else { threshold };
        let (sums, seen) = (state.gradient_sum.address(), state.seen.address());
        let (count, actions) = (n as u32, work.actions.address());
        let limited = room > 0 && room < n;
        let mut selected = None;
        let mut selection = 0u64;
        if limited {
            // prefix, remaining, all; then the histogram.
            let bytes = (4 + 256) * size_of::<u32>();
            let buffer = self.pool.take("selection of a refinement", bytes)?;
            buffer.fill(0, bytes)?;
            let room = room as u32;
            selection = buffer.address();
            let histogram = selection + 16;
            for shift in [24u32, 16, 8, 0] {
                self.each(
                    self.kernels.select_histogram,
                    n,
                    &SelectHistogramParams {
                        gradient_sum: sums,
                        seen,
                        n: count,
                        threshold,
                        bad,
                        min_bad,
                        shift,
                        selection,
                        histogram,
                    },
                )?;
                self.one(
                    self.kernels.select_digit,
                    1,
                    &SelectDigitParams {
                        shift,
                        room,
                        selection,
                        histogram,
                    },
                )?;
            }
            selected = Some(buffer);
        }
        self.each(
            self.kernels.adc_choose,
            n,
            &AdcChooseParams {
                gradient_sum: sums,
                seen,
                n: count,
                threshold,
                bad,
                min_bad,
                selection,
                actions,
            },
        )?;
        if selected.is_some() {
            let block_sums = self.count(work, EQUAL, n, totals::LISTED)?;
            let equals = self.indices(n)?;
            self.list(work, (EQUAL, totals::LISTED), n, &block_sums, &equals)?;
            let (list, listed) = (equals.address(), work.numbers.at(totals::LISTED));
            self.each(
                self.kernels.adc_admit,
                n,
                &AdcAdmitParams {
                    equals: list,
                    count: listed,
                    selection,
                    actions,
                },
            )?;
        }
        Ok(())
    }
}
