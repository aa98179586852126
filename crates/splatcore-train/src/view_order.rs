//! In which order the photos are shown.

use splatcore_core::random::Rng;

/// Random permutations of the views, one after the other: every view is seen once before any is
/// seen again (INRIA's viewpoint stack).
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

    /// The next `count` views; none if there are none. Two rounds may meet in them.
    pub fn next_views(&mut self, count: u32) -> Option<Vec<usize>> {
        (0..count).map(|_| self.next_view()).collect()
    }

    /// A view that was given and not used comes next, before those that were never given. One of a
    /// round that is over comes in this round anyway.
    pub fn put_back(&mut self, view: usize) {
        let given = &self.order[..self.used.min(self.order.len())];
        if let Some(at) = given.iter().rposition(|&one| one as usize == view) {
            self.order[at..self.used].rotate_left(1);
            self.used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_once_before_any_twice_and_each_round_differs() {
        let mut order = ViewOrder::new((0..20).collect(), 3);
        let mut round = || {
            (0..20)
                .filter_map(|_| order.next_view())
                .collect::<Vec<_>>()
        };
        let (first, second) = (round(), round());
        assert_ne!(first, second);
        for mut round in [first, second] {
            round.sort_unstable();
            assert_eq!(round, (0..20).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_was_put_back_comes_next_and_nothing_is_lost() {
        let mut order = ViewOrder::new((0..20).collect(), 3);
        let first: Vec<_> = (0..8).filter_map(|_| order.next_view()).collect();
        for place in [7, 2] {
            order.put_back(first[place]);
        }
        // Both are still to come: once more is once too often.
        order.put_back(first[7]);
        let rest: Vec<_> = (0..14).filter_map(|_| order.next_view()).collect();
        assert_eq!(rest[..2], [first[2], first[7]]);
        let mut round = [&first[..], &rest[2..]].concat();
        round.sort_unstable();
        assert_eq!(round, (0..20).collect::<Vec<_>>());

        // The last of a round, and the first of the next.
        for _ in 0..2 {
            let view = order.next_view().unwrap();
            order.put_back(view);
            assert_eq!(order.next_view(), Some(view));
        }
    }

    #[test]
    fn batches_go_through_the_rounds() {
        let mut one = ViewOrder::new((0..10).collect(), 3);
        let mut four = one.clone();
        let singly: Vec<_> = (0..20).filter_map(|_| one.next_view()).collect();
        let batches: Vec<_> = (0..5).filter_map(|_| four.next_views(4)).collect();
        assert_eq!(batches.concat(), singly);
        assert_eq!(ViewOrder::new(vec![], 0).next_views(2), None);
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let round = |seed| {
            let mut order = ViewOrder::new((0..20).collect(), seed);
            (0..40)
                .filter_map(|_| order.next_view())
                .collect::<Vec<_>>()
        };
        assert_eq!(round(1), round(1));
        assert_ne!(round(1), round(2));
        assert_eq!(ViewOrder::new(vec![], 0).next_view(), None);
    }
}
