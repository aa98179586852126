//! Adaptive density control (Kerbl et al. 2023, section 5.2): decide, read the sizes, append, compact.

use super::*;
use crate::state::{LOG_SCALES, MEANS, ROTATIONS};

/// INRIA's split replaces a Gaussian by this many, their scales divided by 0.8 times as much.
const SPLIT_INTO: u32 = 2;
const SPLIT_SHRINK: f32 = 0.8 * SPLIT_INTO as f32;

impl Densify {
    pub(super) fn adc(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
    ) -> Result<RefineReport, BackendError> {
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
            return Ok(RefineReport::default());
        };
        let n = state.count;
        let work = Work::new(&self.pool, n)?;
        // Whose bad pixels count, and how many are enough; no address: nobody asks.
        let agreement = match (consistency, scores) {
            (Some(consistency), Some(scores)) => {
                (scores.bad.address(), consistency.min_bad * scores.views as f32)
            }
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
            let (actions, totals) = (work.actions.address(), work.totals.address());
            // SAFETY: the arguments of adc_decide.
            unsafe {
                self.each(
                    self.kernels.adc_decide,
                    n,
                    &mut arguments![
                        scales,
                        logits,
                        count,
                        split_scale,
                        min_opacity,
                        max_scale,
                        log_shrink,
                        actions,
                        totals
                    ],
                )
            }?;
        }
        let kept_sums = self.count(&work, KEPT, n, TOTAL_KEPT)?;
        let clone_sums = self.count(&work, CLONED, n, TOTAL_CLONES)?;
        let parent_sums = self.count(&work, SPLIT, n, TOTAL_PARENTS)?;
        let totals: Vec<u64> = work.totals.to_vec(TOTALS)?;
        let total = |place: usize| totals[place] as usize;
        let (kept, clones, parents) = (total(TOTAL_KEPT), total(TOTAL_CLONES), total(TOTAL_PARENTS));
        let children = SPLIT_INTO as usize * parents;
        let after = kept + clones + children;
        // Appended first, compacted then: the room is needed for a moment even where many go.
        let rows = n + clones + children;
        check_rows(rows)?;

        // All memory before the first change, so that a failure leaves the state as it was.
        let clone_list = self.indices(clones)?;
        let parent_list = self.indices(parents)?;
        let compaction = match kept {
            _ if kept == n => None,
            _ => Some((self.indices(kept)?, self.scratch(rows)?)),
        };
        // Where memory is short, what goes again needs no room for more.
        let limit = match rows::is_plenty(&self.device, state.bytes_of(2 * rows)) {
            true => max_gaussians.max(after),
            false => (after + after / 10).min(max_gaussians).max(after),
        };
        reserve(&self.device, state, rows, limit)?;

        self.list(&work, CLONED, n, &clone_sums, &clone_list)?;
        self.list(&work, SPLIT, n, &parent_sums, &parent_list)?;
        self.append(state, &clone_list, 1, n, clones)?;
        self.append(state, &parent_list, SPLIT_INTO, n + clones, children)?;
        if children > 0 {
            let address = |group: usize| state.groups[group].parameters.address();
            let (means, scales, rotations) = (address(MEANS), address(LOG_SCALES), address(ROTATIONS));
            let (list, count, base) = (parent_list.address(), children as u32, (n + clones) as u32);
            let step = step as u64;
            // SAFETY: the arguments of split_children; the rows were appended above.
            unsafe {
                self.each(
                    self.kernels.split_children,
                    children,
                    &mut arguments![
                        means, scales, rotations, list, count, base, log_shrink, seed, step
                    ],
                )
            }?;
        }
        if let Some((list, scratch)) = compaction {
            self.list(&work, KEPT, n, &kept_sums, &list)?;
            self.compact(state, &list, kept, n, after, &scratch)?;
        }
        state.count = after;
        self.clear_statistics(state)?;
        let (cloned, split) = (total(TOTAL_CLONED), total(TOTAL_SPLIT));
        Ok(RefineReport {
            cloned,
            split,
            pruned: n + cloned + (SPLIT_INTO as usize - 1) * split - after,
            ..RefineReport::default()
        })
    }

    /// Marks who grows: those at the threshold on whom the views agree, or if they are more than `room`, the largest
    /// gradients, ties by index.
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
                // SAFETY: the arguments of select_histogram and select_digit.
                unsafe {
                    self.each(
                        self.kernels.select_histogram,
                        n,
                        &mut arguments![
                            sums, seen, count, threshold, bad, min_bad, shift, selection, histogram
                        ],
                    )?;
                    self.one(
                        self.kernels.select_digit,
                        1,
                        &mut arguments![shift, room, selection, histogram],
                    )?;
                }
            }
            selected = Some(buffer);
        }
        // SAFETY: the arguments of adc_choose.
        unsafe {
            self.each(
                self.kernels.adc_choose,
                n,
                &mut arguments![sums, seen, count, threshold, bad, min_bad, selection, actions],
            )
        }?;
        if selected.is_some() {
            let block_sums = self.count(work, EQUAL, n, TOTAL_LISTED)?;
            let equals = self.indices(n)?;
            self.list(work, EQUAL, n, &block_sums, &equals)?;
            let (list, listed) = (equals.address(), work.total(TOTAL_LISTED));
            // SAFETY: the arguments of adc_admit.
            unsafe {
                self.each(
                    self.kernels.adc_admit,
                    n,
                    &mut arguments![list, listed, selection, actions],
                )
            }?;
        }
        Ok(())
    }
}
