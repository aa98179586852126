//! `intersect`: the tiles' lists of splats in depth order. Which tiles a splat touches is
//! [`crate::footprint`]'s.
//!
//! Splats come in depth order, and a stable counting sort by tile keeps that order in every list.
//! The order is cut into a fixed number of parts, one histogram each, so the result does not depend
//! on the number of threads.

use crate::footprint::touched;
use crate::project::Splat;
use crate::shared::Disjoint;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::pipeline::Intersect;

/// Parts that the depth order is cut into.
const PARTS: usize = 16;

/// One (tile, splat) pair: the splat's position in the array of splats.
pub type Pair = u32;

/// The tiles' lists.
#[derive(Default)]
pub struct Lists {
    /// All pairs, tile by tile (row by row from the top left), front to back inside a tile.
    pub pairs: Vec<Pair>,
    /// Tile `t` owns `pairs[tile_start[t]..tile_start[t + 1]]`.
    pub tile_start: Vec<u32>,
    /// The numbers of each splat's pairs, splat after splat, in the order of the tiles.
    pub pairs_of_splats: Vec<u32>,
    /// Where a splat's numbers start in `pairs_of_splats`, and how many there are, by position in
    /// the array of splats; stale for splats that are not visible.
    pub slots: Vec<[u32; 2]>,
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    /// Tiles of the part's splats, one after another.
    tiles: Vec<u32>,
    /// How many of them each splat has.
    counts: Vec<u32>,
    histogram: Vec<u32>,
    first_slot: u32,
}

/// More pairs than 32 bits can number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPairs(pub u64);

impl Lists {
    /// Fills the lists from splats in depth order.
    pub fn fill(
        &mut self,
        level: Level,
        method: Intersect,
        splats: &[Splat],
        order: &[u32],
        tiles: [usize; 2],
    ) -> Result<(), TooManyPairs> {
        let tile_count = tiles[0] * tiles[1];
        self.parts.resize_with(PARTS, Part::default);
        let part_len = order.len().div_ceil(PARTS).max(1);
        self.parts.par_iter_mut().enumerate().for_each(|(p, part)| {
            part.tiles.clear();
            part.counts.clear();
            part.histogram.clear();
            part.histogram.resize(tile_count, 0);
            let from = (p * part_len).min(order.len());
            let own = &order[from..(from + part_len).min(order.len())];
            touched(
                level,
                method,
                splats,
                own,
                tiles,
                &mut part.tiles,
                &mut part.counts,
            );
            for &tile in &part.tiles {
                part.histogram[tile as usize] += 1;
            }
        });

        let total: u64 = self.parts.iter().map(|part| part.tiles.len() as u64).sum();
        if total >= u32::MAX as u64 {
            return Err(TooManyPairs(total));
        }
        let mut slot = 0;
        for part in &mut self.parts {
            part.first_slot = slot;
            slot += part.tiles.len() as u32;
        }
        self.tile_start.clear();
        let mut next = 0;
        for tile in 0..tile_count {
            self.tile_start.push(next);
            for part in &mut self.parts {
                next += std::mem::replace(&mut part.histogram[tile], next);
            }
        }
        self.tile_start.push(next);

        self.pairs.resize(total as usize, 0);
        self.pairs_of_splats.resize(total as usize, 0);
        self.slots.resize(splats.len(), [0; 2]);
        let pairs = Disjoint::new(&mut self.pairs);
        let pairs_of_splats = Disjoint::new(&mut self.pairs_of_splats);
        let slots = Disjoint::new(&mut self.slots);
        self.parts.par_iter_mut().enumerate().for_each(|(p, part)| {
            let from = (p * part_len).min(order.len());
            let (mut slot, mut at) = (part.first_slot, 0);
            for (&position, &count) in order[from..].iter().zip(&part.counts) {
                // SAFETY: every position occurs once in the order.
                unsafe { slots.get(position as usize, 1)[0] = [slot, count] };
                for &tile in &part.tiles[at..at + count as usize] {
                    let next = &mut part.histogram[tile as usize];
                    // SAFETY: the histograms' prefix sums give each pair of each part a place of
                    // its own, and slots are counted through.
                    unsafe {
                        pairs.get(*next as usize, 1)[0] = position;
                        pairs_of_splats.get(slot as usize, 1)[0] = *next;
                    }
                    *next += 1;
                    slot += 1;
                }
                at += count as usize;
            }
        });
        Ok(())
    }

    /// The pairs of a tile.
    pub fn of_tile(&self, tile: usize) -> &[Pair] {
        &self.pairs[self.tile_start[tile] as usize..self.tile_start[tile + 1] as usize]
    }
}
