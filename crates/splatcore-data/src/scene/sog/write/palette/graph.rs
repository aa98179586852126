//! For each entry of a palette, the entries nearest to it.

use super::tree::Tree;
use super::vectors::{Vectors, distance};
use rayon::prelude::*;

/// Neighbours of an entry.
const NEIGHBOURS: usize = 20;
/// Leaves of the subtrees among which neighbours are searched.
const CELL: usize = 128;
/// The nearest such subtrees are searched.
const CELLS: usize = 4;

/// Entries whose neighbours a search sees at least.
const BEAM: usize = 5;
/// Slots that remember which entries a search has met.
const SLOTS: usize = 512;

/// `[entries][width]` neighbours, the nearest first.
pub struct Graph {
    width: usize,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph of a palette whose entries are the leaves of a tree, or have moved little.
    pub fn of(entries: &Vectors, tree: &Tree) -> Self {
        let cells = tree.cells(CELL);
        let mut centres = entries.zeros_like(cells.len());
        for (i, cell) in cells.iter().enumerate() {
            let share = 1.0 / cell.len() as f32;
            for entry in cell.clone() {
                for (to, v) in centres.row_mut(i).iter_mut().zip(entries.row(entry)) {
                    *to += share * v;
                }
            }
        }
        let width = NEIGHBOURS.min(entries.len().saturating_sub(1));
        let mut neighbours = vec![0; entries.len() * width];
        if width > 0 {
            neighbours
                .par_chunks_mut(width)
                .enumerate()
                .for_each(|(entry, to)| {
                    let row = entries.row(entry);
                    let mut near: Vec<(f32, usize)> = (0..cells.len())
                        .map(|cell| (distance(row, centres.row(cell)), cell))
                        .collect();
                    keep_least(&mut near, CELLS);
                    let mut found: Vec<(f32, usize)> = near
                        .iter()
                        .flat_map(|&(_, cell)| cells[cell].clone())
                        .filter(|&other| other != entry)
                        .map(|other| (distance(row, entries.row(other)), other))
                        .collect();
                    keep_least(&mut found, width);
                    for (k, to) in to.iter_mut().enumerate() {
                        // Fewer were searched only if cells are tiny; then the last one repeats.
                        let at = found.get(k).or(found.last());
                        *to = at.map_or(entry, |&(_, other)| other) as u32;
                    }
                });
        }
        Self { width, neighbours }
    }

    /// The nearest entry that a walk over neighbours finds from `start`, and the square of its
    /// distance.
    pub fn nearest(&self, entries: &Vectors, vector: &[f32], start: u32) -> (u32, f32) {
        let mut best = (start, distance(vector, entries.row(start as usize)));
        loop {
            let at = best.0 as usize;
            for &other in &self.neighbours[at * self.width..(at + 1) * self.width] {
                let d = distance(vector, entries.row(other as usize));
                if d < best.1 {
                    best = (other, d);
                }
            }
            // Each step is strictly nearer, so this ends.
            if best.0 as usize == at {
                return best;
            }
        }
    }
}

/// What a search holds, kept to be allocated once.
#[derive(Default)]
pub struct Search {
    /// The nearest entries so far, nearest first, and whether their neighbours were seen.
    beam: Vec<(f32, u32, bool)>,
    /// Entries met, each in the slot of its lowest bits; a later one takes the place of another.
    seen: Vec<u32>,
}

impl Search {
    /// The nearest entry that is found from those that the tree leads to, by seeing the neighbours
    /// of the [`BEAM`] nearest, again and again until all of them are seen.
    pub fn nearest(
        &mut self,
        graph: &Graph,
        tree: &Tree,
        entries: &Vectors,
        vector: &[f32],
    ) -> u32 {
        self.beam.clear();
        self.seen.clear();
        self.seen.resize(SLOTS, u32::MAX);
        tree.descend(vector, |start| self.meet(start, entries, vector));
        while let Some(next) = self.beam.iter().position(|(.., expanded)| !expanded) {
            self.beam[next].2 = true;
            let at = self.beam[next].1 as usize;
            for &other in &graph.neighbours[at * graph.width..(at + 1) * graph.width] {
                self.meet(other, entries, vector);
            }
        }
        self.beam[0].1
    }

    fn meet(&mut self, entry: u32, entries: &Vectors, vector: &[f32]) {
        let slot = &mut self.seen[entry as usize % SLOTS];
        // One that lost its slot may be met again, but not come into the beam again.
        if *slot == entry || self.beam.iter().any(|(_, other, _)| *other == entry) {
            return;
        }
        *slot = entry;
        let d = distance(vector, entries.row(entry as usize));
        let place = self.beam.partition_point(|(far, ..)| *far <= d);
        if place < BEAM {
            self.beam.insert(place, (d, entry, false));
            self.beam.truncate(BEAM);
        }
    }
}

/// The least pairs, in order.
fn keep_least(pairs: &mut Vec<(f32, usize)>, most: usize) {
    let order = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if pairs.len() > most {
        pairs.select_nth_unstable_by(most, order);
        pairs.truncate(most);
    }
    pairs.sort_unstable_by(order);
}
