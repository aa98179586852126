//! `intersect`: which tiles a splat touches, and the tiles' lists in depth order.
//!
//! `aabb` takes INRIA's 3-sigma square. `exact` takes the ellipse alpha = 1/255 against each tile's rectangle of
//! pixel centres (FlashGS; Speedy-Splat's AccuTile walk): per row of tiles the ellipse covers one exact interval.
//!
//! Splats come in depth order, and a stable counting sort by tile keeps that order in every list. The order is cut
//! into a fixed number of parts, one histogram each, so the result does not depend on the number of threads.

use crate::ellipse::Ellipse;
use crate::project::{Splat, square_tiles};
use crate::shared::Disjoint;
use crate::simd::{Lanes, Level, dispatch, load_all};
use rayon::prelude::*;
use splatcore_core::pipeline::Intersect;
use splatcore_core::semantics::TILE;

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
    /// Where a splat's numbers start in `pairs_of_splats`, and how many there are, by position in the array of splats;
    /// stale for splats that are not visible.
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
                    // SAFETY: the histograms' prefix sums give each pair of each part a place of its own, and slots are
                    // counted through.
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

dispatch! {
    /// Appends the numbers of the tiles that each splat of `order` touches to `out`, and how many there are to `counts`.
    pub fn touched / kernel (
        method: Intersect, splats: &[Splat], order: &[u32], tiles: [usize; 2], out: &mut Vec<u32>, counts: &mut Vec<u32>
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    method: Intersect,
    splats: &[Splat],
    order: &[u32],
    tiles: [usize; 2],
    out: &mut Vec<u32>,
    counts: &mut Vec<u32>,
) {
    for group in order.chunks(L::WIDTH) {
        let ellipses = match method {
            Intersect::Aabb => [[0.0; 16]; 5],
            Intersect::Exact => ellipses::<L>(splats, group),
        };
        for (lane, &position) in group.iter().enumerate() {
            let splat = &splats[position as usize];
            let before = out.len();
            match method {
                Intersect::Aabb => {
                    let [x0, y0, x1, y1] = square_tiles(splat.mean, splat.radius, tiles);
                    rectangle([x0, x1], [y0, y1], tiles, out);
                }
                Intersect::Exact => {
                    let mut fields = [L::splat(0.0); 5];
                    for k in 0..5 {
                        fields[k] = L::splat(ellipses[k][lane]);
                    }
                    exact::<L>(splat, &Ellipse::from_fields(fields), tiles, out);
                }
            }
            counts.push((out.len() - before) as u32);
        }
    }
}

/// The ellipses of up to `WIDTH` splats, one a lane, as arrays of their fields.
#[inline(always)]
fn ellipses<L: Lanes>(splats: &[Splat], group: &[u32]) -> [[f32; 16]; 5] {
    let mut power = [[-1.0f32; 16]; 4];
    for (lane, &position) in group.iter().enumerate() {
        let splat = &splats[position as usize];
        power[0][lane] = splat.power[0];
        power[1][lane] = splat.power[1];
        power[2][lane] = splat.power[2];
        power[3][lane] = splat.log2_opacity;
    }
    let [a, b, c, l] = load_all::<L, 4>(&power);
    let fields = Ellipse::new(a, b, c, l).fields();
    let mut out = [[0.0f32; 16]; 5];
    for k in 0..5 {
        fields[k].store(&mut out[k]);
    }
    out
}

fn rectangle([x0, x1]: [usize; 2], [y0, y1]: [usize; 2], tiles: [usize; 2], out: &mut Vec<u32>) {
    for y in y0..y1 {
        out.extend((x0..x1).map(|x| (y * tiles[0] + x) as u32));
    }
}

/// Rows of tiles are lanes.
#[inline(always)]
fn exact<L: Lanes>(splat: &Splat, ellipse: &Ellipse<L>, tiles: [usize; 2], out: &mut Vec<u32>) {
    let columns = span(
        splat.mean[0] - splat.extent[0],
        splat.mean[0] + splat.extent[0],
        tiles[0],
    );
    let rows = span(
        splat.mean[1] - splat.extent[1],
        splat.mean[1] + splat.extent[1],
        tiles[1],
    );
    let ([x0, x1], [y0, y1]) = (columns, rows);
    if x1 <= x0 || y1 <= y0 {
        return;
    }
    if x1 - x0 == 1 || y1 - y0 == 1 {
        // The ellipse is connected and reaches both ends, so it touches every tile between.
        rectangle(columns, rows, tiles, out);
        return;
    }
    let offsets: [f32; 16] = std::array::from_fn(|lane| (lane * TILE) as f32);
    let mut y = y0;
    while y < y1 {
        let low = L::load(&offsets) + L::splat((y * TILE) as f32 + 0.5 - splat.mean[1]);
        let (left, right) = ellipse.interval(low, low + L::splat((TILE - 1) as f32));
        let mut ends = [[0.0f32; 16]; 2];
        left.store(&mut ends[0]);
        right.store(&mut ends[1]);
        for lane in 0..(y1 - y).min(L::WIDTH) {
            if ends[0][lane] <= ends[1][lane] {
                let [x0, x1] = span(
                    splat.mean[0] + ends[0][lane],
                    splat.mean[0] + ends[1][lane],
                    tiles[0],
                );
                out.extend((x0..x1).map(|x| ((y + lane) * tiles[0] + x) as u32));
            }
        }
        y += L::WIDTH;
    }
}

/// The tiles whose pixel centres can lie in `[low, high]`: first and one past the last.
fn span(low: f32, high: f32, tiles: usize) -> [usize; 2] {
    let side = TILE as f32;
    let first = ((low - (side - 0.5)) / side).ceil().max(0.0) as usize;
    let last = ((high - 0.5) / side).floor();
    let end = if last < 0.0 {
        0
    } else {
        (last as usize).saturating_add(1).min(tiles)
    };
    [first.min(end), end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_counts_pixel_centres() {
        assert_eq!(span(0.0, 15.6, 4), [0, 1]);
        assert_eq!(
            span(15.4, 16.4, 4),
            [0, 1],
            "the centre at 15.5 is in tile 0, that at 16.5 is not reached"
        );
        assert_eq!(span(15.4, 16.5, 4), [0, 2]);
        assert_eq!(span(15.6, 16.4, 4), [1, 1], "no centre between");
        assert_eq!(span(-100.0, 1e9, 4), [0, 4]);
        assert_eq!(span(-100.0, -5.0, 4), [0, 0]);
        assert_eq!(span(100.0, 105.0, 4)[0], span(100.0, 105.0, 4)[1]);
    }
}
