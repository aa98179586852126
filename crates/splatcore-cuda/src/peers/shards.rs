//! Which rank has which Gaussians.

use std::ops::Range;

/// Rows of a shard begin at multiples of this: no two ranks share a block of threads or a line of
/// memory.
const ROWS: usize = 128;

/// The Gaussians of each rank: neighbours in the state's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shards {
    rows: usize,
    gaussians: usize,
}

impl Shards {
    /// So many Gaussians over so many ranks. The last ranks may have fewer than others, or none.
    pub fn new(gaussians: usize, ranks: usize) -> Self {
        let rows = gaussians.div_ceil(ranks).next_multiple_of(ROWS);
        Self { rows, gaussians }
    }

    /// A rank's rows.
    pub fn of(&self, rank: usize) -> Range<usize> {
        let at = |k: usize| (k * self.rows).min(self.gaussians);
        at(rank)..at(rank + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gaussian_has_one_rank() {
        for (gaussians, ranks) in [(0, 3), (1, 4), (129, 2), (1000, 7), (128, 1), (4096, 4)] {
            let shards = Shards::new(gaussians, ranks);
            let mut next = 0;
            for rank in 0..ranks {
                let rows = shards.of(rank);
                assert!(rows.start == next && rows.start.is_multiple_of(ROWS) || rows.is_empty());
                next = next.max(rows.end);
            }
            assert_eq!(next, gaussians);
        }
        assert_eq!(Shards::new(300, 2).of(1), 256..300);
    }
}
