//! In which order the photos are shown.

use splatcore_core::random::Rng;

/// Random permutations of the views, one after the other: every view is seen once before any is seen again
/// (INRIA's viewpoint stack).
#[derive(Clone, Debug, PartialEq)]
pub struct ViewOrder {
    /// The permutation at hand, indices into the views.
    pub order: Vec<u32>,
    /// How many of it have been used.
    pub used: usize,
    /// Makes the next permutation.
    pub rng: Rng,
}

impl ViewOrder {
    /// Starts with the given views (indices); at least one.
    pub fn new(views: Vec<u32>, seed: u64) -> Self {
        Self {
            used: views.len(),
            order: views,
            rng: Rng::new(seed, 1),
        }
    }

    /// The next view, or `None` if there are none.
    pub fn next_view(&mut self) -> Option<usize> {
        if self.used >= self.order.len() {
            self.rng.shuffle(&mut self.order);
            self.used = 0;
        }
        let view = self.order.get(self.used).map(|&view| view as usize);
        self.used += 1;
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_once_before_any_twice_and_each_round_differs() {
        let mut order = ViewOrder::new((0..20).collect(), 3);
        let mut round = || (0..20).filter_map(|_| order.next_view()).collect::<Vec<_>>();
        let (first, second) = (round(), round());
        assert_ne!(first, second);
        for mut round in [first, second] {
            round.sort_unstable();
            assert_eq!(round, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let round = |seed| {
            let mut order = ViewOrder::new((0..20).collect(), seed);
            (0..40).filter_map(|_| order.next_view()).collect::<Vec<_>>()
        };
        assert_eq!(round(1), round(1));
        assert_ne!(round(1), round(2));
        assert_eq!(ViewOrder::new(vec![], 0).next_view(), None);
    }
}
