//! What moves the end of a run: its account of time, its held-out photos.

use crate::budget::{Account, Spending};
use crate::clock::Now;
use crate::config::ResolvedConfig;
use splatcore_core::View;
use splatcore_core::backend::{RenderOptions, Renderer};
use std::sync::Arc;

/// Seconds that work after the last step will take, found by trying a part of it: with the scene as
/// it is, and so many Gaussians in the end.
pub type Afterwards = Box<dyn FnMut(&mut dyn Renderer, &RenderOptions, usize) -> f64 + Send>;

/// What moves the end of a run.
pub(super) struct Ends {
    /// Of a run with a budget.
    pub(super) account: Option<Account>,
    /// What a run without one spent, when it had one, and where quality was reached.
    pub(super) spending: Spending,
    pub(super) afterwards: Option<Afterwards>,
    pub(super) asked: usize,
    /// Steps of the plan that was told last.
    pub(super) told: Option<u32>,
    pub(super) held_out: Arc<Vec<View>>,
    pub(super) checks: Checks,
}

/// What looking at the quality took, in seconds, and showed, in dB.
#[derive(Default)]
pub(super) struct Checks {
    pub(super) all: f64,
    pub(super) last: f64,
    /// By how much all views are better than the few.
    pub(super) offset: Option<f64>,
}

impl Ends {
    pub(super) fn new(
        config: &ResolvedConfig,
        now: &Now,
        spending: Spending,
        photos: usize,
    ) -> Self {
        Self {
            account: Account::open(config, Arc::clone(now), spending.seconds, photos),
            spending,
            afterwards: None,
            asked: 0,
            told: None,
            held_out: Arc::default(),
            checks: Checks::default(),
        }
    }

    /// Steps begin.
    pub(super) fn begin(&mut self) {
        if let Some(account) = &mut self.account {
            account.begin();
        }
    }

    /// Time passed that does not count.
    pub(super) fn give(&mut self, seconds: f64) {
        if let Some(account) = &mut self.account {
            account.add(-seconds);
        }
    }

    pub(super) fn note_measuring(&mut self, seconds: f64) {
        if let Some(account) = &mut self.account {
            account.note_measuring(seconds);
        }
    }

    pub(super) fn note_pruning(&mut self) {
        if let Some(account) = &mut self.account {
            account.note_pruning();
        }
    }

    /// Seconds that are left for training; none without a budget, or once the end is near anyway.
    pub(super) fn seconds_left(&self) -> Option<f64> {
        let account = self.account.as_ref()?;
        self.spending
            .reached
            .is_none()
            .then(|| account.left().max(0.0))
    }
}
