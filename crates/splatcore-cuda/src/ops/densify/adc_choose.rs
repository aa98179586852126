//! Adaptive density control, first part: which Gaussians grow.

use super::actions::EQUAL;
use super::densifier::{Densify, Work};
use super::kernels::DIGIT_BITS;
use super::params::{
    AdcAdmitParams, AdcChooseParams, DrawKeysParams, SelectDigitParams, SelectHistogramParams,
};
use super::pool::Lent;
use super::totals;
use super::within::Within;
use crate::device::params::Address;
use crate::ops::state::State;
use splatcore_core::BackendError;

/// Who may grow: those whose mean gradient is at least `threshold`, and who are `within`.
#[derive(Clone, Copy)]
struct Candidates {
    gradient_sum: Address,
    seen: Address,
    n: u32,
    threshold: f32,
    within: Within,
}

impl Densify {
    /// Marks who grows: those at the threshold and `within`, or if they are more than `room`, the
    /// largest gradients, ties by index.
    pub(super) fn choose(
        &self,
        state: &State,
        work: &Work<'_>,
        threshold: f32,
        within: Within,
        room: usize,
    ) -> Result<(), BackendError> {
        let candidates = Candidates {
            gradient_sum: state.gradient_sum.address(),
            seen: state.seen.address(),
            n: state.count as u32,
            threshold,
            within,
        };
        self.choose_among(candidates, work, room)
    }

    /// Marks who grows: of those `within`, `room` Gaussians, drawn without replacement in
    /// proportion to the sum of their gradients.
    pub(super) fn draw_by_gradient(
        &self,
        state: &State,
        work: &Work<'_>,
        (seed, step): (u64, u64),
        within: Within,
        room: usize,
    ) -> Result<(), BackendError> {
        let n = state.count;
        let (keys, ones) = (self.indices(n)?, self.indices(n)?);
        let candidates = Candidates {
            gradient_sum: keys.address(),
            seen: ones.address(),
            n: n as u32,
            threshold: f32::MIN_POSITIVE,
            within,
        };
        self.each(
            self.kernels.draw_keys,
            n,
            &DrawKeysParams {
                gradient_sum: state.gradient_sum.address(),
                n: candidates.n,
                seed,
                step,
                keys: candidates.gradient_sum,
                ones: candidates.seen,
            },
        )?;
        self.choose_among(candidates, work, room)
    }

    /// Marks the candidates, or if they are more than `room`, the largest, ties by index.
    fn choose_among(
        &self,
        mut candidates: Candidates,
        work: &Work<'_>,
        room: usize,
    ) -> Result<(), BackendError> {
        let n = candidates.n as usize;
        if room == 0 {
            // Nothing is at least "not a number".
            candidates.threshold = f32::NAN;
        }
        let limited = room > 0 && room < n;
        let selection = match limited {
            true => Some(self.select_largest(candidates, room)?),
            false => None,
        };
        let selected = selection.as_ref().map_or(0, |buffer| buffer.address());
        self.mark_chosen(candidates, selected, work)?;
        match limited {
            true => self.admit_equals(work, selected, n),
            false => Ok(()),
        }
    }

    /// Finds the smallest gradient that a limit of `room` Gaussians admits, a digit at a time.
    fn select_largest(
        &self,
        candidates: Candidates,
        room: usize,
    ) -> Result<Lent<'_>, BackendError> {
        // prefix, remaining, all, padding; then the histogram.
        let bytes = (4 + (1 << DIGIT_BITS)) * size_of::<u32>();
        let buffer = self.pool.take("selection of a refinement", bytes)?;
        buffer.fill(0, bytes)?;
        let room = room as u32;
        let selection = buffer.address();
        let histogram = selection + 16;
        let Candidates {
            gradient_sum,
            seen,
            n,
            threshold,
            within,
        } = candidates;
        for shift in (0..u32::BITS).step_by(DIGIT_BITS as usize).rev() {
            self.each(
                self.kernels.select_histogram,
                n as usize,
                &SelectHistogramParams {
                    gradient_sum,
                    seen,
                    n,
                    threshold,
                    within,
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
        Ok(buffer)
    }

    /// Marks the candidates, or with a `selection` (not 0) those above its limit and, apart, those
    /// that equal it.
    fn mark_chosen(
        &self,
        candidates: Candidates,
        selection: Address,
        work: &Work<'_>,
    ) -> Result<(), BackendError> {
        let Candidates {
            gradient_sum,
            seen,
            n,
            threshold,
            within,
        } = candidates;
        self.each(
            self.kernels.adc_choose,
            n as usize,
            &AdcChooseParams {
                gradient_sum,
                seen,
                n,
                threshold,
                within,
                selection,
                actions: work.actions.address(),
            },
        )
    }

    /// Of those that equal the limit, the first that there is room for grow.
    fn admit_equals(
        &self,
        work: &Work<'_>,
        selection: Address,
        n: usize,
    ) -> Result<(), BackendError> {
        let block_sums = self.count(work, EQUAL, n, totals::LISTED)?;
        let equals = self.indices(n)?;
        self.list(work, (EQUAL, totals::LISTED), n, &block_sums, &equals)?;
        self.each(
            self.kernels.adc_admit,
            n,
            &AdcAdmitParams {
                equals: equals.address(),
                count: work.numbers.at(totals::LISTED),
                selection,
                actions: work.actions.address(),
            },
        )
    }
}
