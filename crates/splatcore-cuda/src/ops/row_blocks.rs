//! Rows of the state that a rank has: blocks that the ranks take in turns.

use crate::device::params::shared_struct;

shared_struct! {
    /// `RowBlocks` of ops/shared/row_blocks.cuh.
    #[derive(PartialEq, Eq)]
    pub struct RowBlocks as "RowBlocks" {
        /// log2 of the rows of a block.
        bits: u32,
        rank: u32,
        ranks: u32,
        /// 1: arrays that ranks divide have a rank's rows alone, one behind the other.
        divided: u32,
    }
}

/// The rows of a rank, and how many they are.
#[derive(Clone, Copy, Debug)]
pub struct OwnRows {
    /// Which.
    pub blocks: RowBlocks,
    /// How many.
    pub count: usize,
}

impl OwnRows {
    /// All of so many rows.
    pub fn all(count: usize) -> Self {
        let blocks = RowBlocks {
            bits: u32::BITS - 1,
            rank: 0,
            ranks: 1,
            divided: 0,
        };
        Self { blocks, count }
    }
}

impl RowBlocks {
    /// Of one of so many ranks; `block` is a power of two.
    pub fn new(block: usize, (rank, ranks): (usize, usize), divided: bool) -> Self {
        Self {
            bits: block.ilog2(),
            rank: rank as u32,
            ranks: ranks as u32,
            divided: divided as u32,
        }
    }

    /// Which rank.
    pub fn rank(self) -> usize {
        self.rank as usize
    }

    /// How many ranks.
    pub fn ranks(self) -> usize {
        self.ranks as usize
    }

    /// The row of the state that is a rank's row `own`: `row_of` of the header.
    #[cfg(test)]
    pub fn row(self, own: usize) -> usize {
        let block = (own >> self.bits) * (self.ranks as usize - 1) + self.rank as usize;
        own + (block << self.bits)
    }
}
