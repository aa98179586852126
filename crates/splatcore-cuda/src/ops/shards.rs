//! Which rank has which Gaussians: blocks of neighbours, which the ranks take in turns
//! (block-cyclic). So each rank has its share of what any photo sees, whatever the order of the
//! scene.

use crate::ops::row_blocks::{OwnRows, RowBlocks};
use std::ops::Range;

/// Rows of a block, powers of two. No two ranks share a block of threads or a line of memory.
const MIN_BLOCK: usize = 128;
const MAX_BLOCK: usize = 4096;
/// Blocks of each rank, or half as many up to there, until blocks are as large as they may be.
const BLOCKS: usize = 16;

/// The Gaussians of each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards {
    gaussians: usize,
    ranks: usize,
    /// Rows.
    block: usize,
    /// Arrays that ranks divide have the own rows alone.
    divided: bool,
}

impl Shards {
    /// So many Gaussians over so many ranks. Some ranks may have fewer than others, or none.
    pub fn new(gaussians: usize, ranks: usize) -> Self {
        let block = (gaussians / (BLOCKS * ranks)).next_power_of_two();
        Self {
            gaussians,
            ranks,
            block: block.clamp(MIN_BLOCK, MAX_BLOCK),
            divided: false,
        }
    }

    /// Of a state whose larger arrays are divided by blocks of so many rows.
    pub fn divided(gaussians: usize, ranks: usize, block: usize) -> Self {
        Self {
            gaussians,
            ranks,
            block,
            divided: true,
        }
    }

    /// A rank's rows as kernels take them.
    pub fn of(&self, rank: usize) -> OwnRows {
        OwnRows {
            blocks: RowBlocks::new(self.block, (rank, self.ranks), self.divided),
            count: self.rows(rank),
        }
    }

    /// The parts of a range of rows that a rank has: where they are in the state, in order.
    pub fn within(self, rank: usize, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let turn = self.block * self.ranks;
        let turns = rows.start / turn..rows.end.div_ceil(turn);
        let parts = turns.map(move |number| {
            let block = self.block(rank, number);
            block.start.max(rows.start)..block.end.min(rows.end)
        });
        parts.filter(|part| !part.is_empty())
    }

    /// The rows of a rank's block of this number, among its own; none behind the last.
    pub fn block(&self, rank: usize, number: usize) -> Range<usize> {
        let start = (number * self.ranks + rank) * self.block;
        start.min(self.gaussians)..(start + self.block).min(self.gaussians)
    }

    /// How many blocks a rank has.
    pub fn blocks(&self, rank: usize) -> usize {
        let all = self.gaussians.div_ceil(self.block);
        (all + self.ranks - 1).saturating_sub(rank) / self.ranks
    }

    /// How many rows a rank has.
    pub fn rows(&self, rank: usize) -> usize {
        let blocks = self.blocks(rank);
        match blocks.checked_sub(1) {
            Some(last) => last * self.block + self.block(rank, last).len(),
            None => 0,
        }
    }

    /// Rows of a block that is not the last.
    pub fn block_rows(&self) -> usize {
        self.block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gaussian_has_one_rank() {
        for (gaussians, ranks) in [(0, 3), (1, 4), (129, 2), (1000, 7), (128, 1), (200_000, 4)] {
            let shards = Shards::new(gaussians, ranks);
            let mut owners = vec![None; gaussians];
            for rank in 0..ranks {
                let mut own = 0;
                let whole = shards.within(rank, 0..gaussians);
                let blocks = (0..shards.blocks(rank)).map(|number| shards.block(rank, number));
                assert!(whole.eq(blocks));
                for number in 0..shards.blocks(rank) {
                    for row in shards.block(rank, number) {
                        assert_eq!(owners[row].replace(rank), None);
                        assert_eq!(shards.of(rank).blocks.row(own), row);
                        own += 1;
                    }
                }
                assert_eq!(own, shards.rows(rank));
                assert!(shards.block(rank, shards.blocks(rank)).is_empty());
                assert!(
                    shards.of(rank).blocks.row(own) >= gaussians,
                    "{own} of {rank}"
                );
            }
            assert!(owners.iter().all(Option::is_some));
        }
    }

    #[test]
    fn parts_of_a_range() {
        let shards = Shards::divided(1000, 2, 128);
        let parts = |rank| shards.within(rank, 200..700).collect::<Vec<_>>();
        assert_eq!(parts(0), [256..384, 512..640]);
        assert_eq!(parts(1), [200..256, 384..512, 640..700]);
        assert_eq!(shards.within(0, 130..250).count(), 0);
    }

    #[test]
    fn neighbours_stay_together() {
        assert_eq!(Shards::new(1_000_000, 2).block(1, 0), 4096..8192);
        assert_eq!(Shards::new(600, 3).block(1, 1), 512..600);
    }
}
