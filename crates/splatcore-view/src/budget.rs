//! How much of a run's time viewing may take.

use std::time::{Duration, Instant};

/// Bounds the share of time that viewing takes from a run.
#[derive(Debug)]
pub struct Budget {
    share: f64,
    next: Instant,
}

impl Budget {
    /// `share` is above 0 and at most 1.
    pub fn new(share: f64) -> Self {
        Self {
            share,
            next: Instant::now(),
        }
    }

    pub(crate) fn allows(&self) -> bool {
        Instant::now() >= self.next
    }

    /// After time spent, as much time passes as makes it the share.
    pub(crate) fn spend(&mut self, spent: Duration) {
        self.next = Instant::now() + spent.mul_f64(1.0 / self.share - 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_a_share_of_time() {
        let mut budget = Budget::new(0.25);
        assert!(budget.allows());
        budget.spend(Duration::from_secs(10));
        let wait = budget.next - Instant::now();
        assert!(wait > Duration::from_secs(29) && wait <= Duration::from_secs(30));
        assert!(!budget.allows());
        let mut all = Budget::new(1.0);
        all.spend(Duration::from_secs(10));
        assert!(all.allows());
    }
}
