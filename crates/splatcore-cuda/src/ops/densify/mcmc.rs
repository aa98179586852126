//! MCMC (Kheradmand et al. 2024): the dead move onto the living, then the set grows. By how many
//! the host knows; how many are dead stays on the device.

use super::actions::DEAD;
use super::densifier::{Densify, Work};
use super::params::{
    McmcDrawParams, McmcMarkDeadParams, McmcShareParams, WeightScanParams, WeightSumsParams,
};
use super::pool::Lent;
use super::reserve::{check_rows, reserve};
use super::totals::{self, Numbers};
use super::within::Within;
use crate::ops::state::{LOG_SCALES, OPACITIES, State};
use splatcore_core::backend::Refine;
use splatcore_core::{BackendError, Region};

/// Lanes of the random numbers; splits and noise have 0 to 3.
const LANE_RELOCATE: u64 = 4;
const LANE_ADD: u64 = 5;

/// What drawing needs.
struct Draw<'a> {
    /// Sums of the weights up to and with each Gaussian, u64.
    cumulative: Lent<'a>,
    sums: Lent<'a>,
    /// Indices of those drawn, u32.
    drawn: Lent<'a>,
    /// How often each Gaussian was drawn, u32.
    copies: Lent<'a>,
}

impl Densify {
    pub(super) fn mcmc(
        &self,
        state: &mut State,
        refine: &Refine,
        numbers: Numbers,
    ) -> Result<(), BackendError> {
        let &Refine::Mcmc {
            min_opacity,
            growth,
            max_gaussians,
            region,
            seed,
            step,
        } = refine
        else {
            return Ok(());
        };
        let n = state.count;
        let target = ((n as f64 * (1.0 + growth as f64)) as usize).min(max_gaussians);
        let added = target.saturating_sub(n);
        check_rows(n + added)?;

        // All memory before the first change, so that a failure leaves the state as it was.
        let work = self.work(n, numbers)?;
        let dead = self.indices(n)?;
        let draw = Draw {
            cumulative: self
                .pool
                .take("weights of a refinement", n * size_of::<u64>())?,
            sums: self.sums(n)?,
            drawn: self.indices(n.max(added))?,
            copies: self.indices(n)?,
        };
        let scratch = self.scratch_of_divided(state, n + added)?;
        let scratch = scratch.as_ref();
        reserve(&self.device, state, n + added, max_gaussians.max(n))?;

        let (logits, count) = (state.groups[OPACITIES].parameters.address(), n as u32);
        let actions = work.actions.address();
        self.each(
            self.kernels.mcmc_mark_dead,
            n,
            &McmcMarkDeadParams {
                opacity_logits: logits,
                n: count,
                min_opacity,
                actions,
            },
        )?;
        let dead_sums = self.count(&work, DEAD, n, totals::LISTED)?;
        self.list(&work, (DEAD, totals::LISTED), n, &dead_sums, &dead)?;

        let random = (seed, step as u64, LANE_RELOCATE);
        self.weigh(state, &work, &draw, (actions, region))?;
        let listed = (numbers.at(totals::LISTED), 0);
        self.draw(state, &work, &draw, listed, random, totals::MOVED)?;
        let moved = numbers.at(totals::MOVED);
        self.share(state, &draw, min_opacity, moved, n)?;
        self.overwrite(state, &draw.drawn, &dead, (moved, n), scratch)?;

        if added > 0 {
            let random = (seed, step as u64, LANE_ADD);
            self.weigh(state, &work, &draw, (0, region))?;
            self.draw(state, &work, &draw, (0, added), random, totals::ADDED)?;
            let drawn = numbers.at(totals::ADDED);
            self.share(state, &draw, min_opacity, drawn, added)?;
            self.append(state, (&draw.drawn, 1), (n, 0), (drawn, added), scratch)?;
            self.clear_new_moments(state, n, drawn, added)?;
        }
        state.count = n + added;
        Ok(())
    }

    /// Opacities as cumulative weights, without those marked dead in `actions` (0: with all) and
    /// those out of the region.
    fn weigh(
        &self,
        state: &State,
        work: &Work<'_>,
        draw: &Draw<'_>,
        (actions, region): (u64, Option<Region>),
    ) -> Result<(), BackendError> {
        let n = state.count;
        let (logits, count) = (state.groups[OPACITIES].parameters.address(), n as u32);
        let (sums, cumulative) = (draw.sums.address(), draw.cumulative.address());
        let within = Within::new(state, region);
        self.each(
            self.kernels.weight_sums,
            n,
            &WeightSumsParams {
                opacity_logits: logits,
                actions,
                within,
                n: count,
                sums,
            },
        )?;
        self.scan(&draw.sums, n, work.numbers.at(totals::WEIGHT))?;
        self.each(
            self.kernels.weight_scan,
            n,
            &WeightScanParams {
                opacity_logits: logits,
                actions,
                within,
                n: count,
                sums,
                cumulative,
            },
        )
    }

    /// Draws as many as the u64 at `wanted` says, or `at_most` if that is 0; how many goes to the
    /// total `moved`.
    fn draw(
        &self,
        state: &State,
        work: &Work<'_>,
        draw: &Draw<'_>,
        (wanted, at_most): (u64, usize),
        (seed, step, lane): (u64, u64, u64),
        moved: usize,
    ) -> Result<(), BackendError> {
        let n = state.count;
        draw.copies.fill(0, n * size_of::<u32>())?;
        let (cumulative, count) = (draw.cumulative.address(), n as u32);
        let number = |place: usize| work.numbers.at(place);
        let (total, all) = (number(totals::WEIGHT), number(totals::ALL));
        let (drawn, copies, moved) = (draw.drawn.address(), draw.copies.address(), number(moved));
        let (threads, at_most) = (if wanted == 0 { at_most } else { n }, at_most as u32);
        self.each(
            self.kernels.mcmc_draw,
            threads,
            &McmcDrawParams {
                cumulative,
                n: count,
                total,
                all,
                wanted,
                at_most,
                seed,
                step,
                lane,
                drawn,
                copies,
                moved,
            },
        )
    }

    /// Gives those drawn, as many as the u64 at `wanted` says, at most `most`, the opacity and
    /// scale they share with their copies, and clears their moments.
    fn share(
        &self,
        state: &mut State,
        draw: &Draw<'_>,
        min_opacity: f32,
        wanted: u64,
        most: usize,
    ) -> Result<(), BackendError> {
        let n = state.count;
        let (logits, scales) = (
            state.groups[OPACITIES].parameters.address(),
            state.groups[LOG_SCALES].parameters.address(),
        );
        let (count, copies) = (n as u32, draw.copies.address());
        self.each(
            self.kernels.mcmc_share,
            n,
            &McmcShareParams {
                opacity_logits: logits,
                log_scales: scales,
                n: count,
                copies,
                min_opacity,
            },
        )?;
        self.clear_moments(state, &draw.drawn, wanted, most)
    }
}
