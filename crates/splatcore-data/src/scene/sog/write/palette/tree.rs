//! A binary tree over vectors, whose best leaves make the first palette.
//!
//! Every node is split in two across its direction of largest variance, where the square error
//! falls most (as in Wu & Zhang 1991, principal-component quantisation), down to single vectors.
//! From the root, the node whose split helps most is opened next, until there are as many leaves as
//! the palette has entries. So entries go where the error is, and equal vectors share one.

use super::vectors::{Sample, Vectors, distance, dot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Vectors from which a node's direction is found.
const DIRECTION_SAMPLE: usize = 512;
/// Steps of the power iteration for it.
const DIRECTION_STEPS: usize = 4;
/// Vectors up to which a node's best split is searched; larger ones are split at their mean.
const SEARCHED: usize = 4096;
/// Vectors from which both halves go to different threads.
const PARALLEL: usize = 2048;
/// Below this depth nodes are halved, so that no input makes the tree deep.
const DEEPEST: usize = 64;

/// Planes that a search looks behind.
const CROSSED: usize = 4;

/// A node over consecutive vectors of an order.
struct Built {
    count: usize,
    error: f32,
    split: Option<Box<Split>>,
}

/// How a node is split: vectors whose dot product with the direction is below the threshold go to
/// the first half.
struct Split {
    direction: Vec<f32>,
    threshold: f32,
    halves: [Built; 2],
}

/// The opened part of the tree. Leaves are entries of the palette, numbered from the left.
pub struct Tree {
    /// Children come after their parent.
    inner: Vec<Inner>,
    /// A row for each inner node.
    directions: Vectors,
    leaves: usize,
}

struct Inner {
    threshold: f32,
    halves: [Half; 2],
}

#[derive(Clone, Copy)]
enum Half {
    Inner(u32),
    Leaf(u32),
}

impl Tree {
    /// The tree with at most `entries` leaves, and the leaf of each vector. There must be vectors.
    pub fn build(sample: &Sample, entries: usize) -> (Self, Vec<u32>) {
        let vectors = &sample.vectors;
        let mut order: Vec<u32> = (0..vectors.len() as u32).collect();
        let root = split(sample, &mut order, 0);
        let opened = opened(&root, entries);
        let mut tree = Self {
            inner: Vec::new(),
            directions: vectors.zeros_like(0),
            leaves: 0,
        };
        let mut labels = vec![0; vectors.len()];
        let mut rest = &order[..];
        tree.take(&root, &opened, &mut rest, &mut labels);
        (tree, labels)
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// Copies a node's opened part, and labels its vectors, which come first in `order`.
    fn take(
        &mut self,
        node: &Built,
        opened: &Opened,
        order: &mut &[u32],
        labels: &mut [u32],
    ) -> Half {
        match &node.split {
            Some(split) if opened.contains(&std::ptr::from_ref(node)) => {
                let at = self.inner.len();
                self.inner.push(Inner {
                    threshold: split.threshold,
                    halves: [Half::Leaf(0); 2],
                });
                self.directions.push(&split.direction);
                for (side, half) in split.halves.iter().enumerate() {
                    self.inner[at].halves[side] = self.take(half, opened, order, labels);
                }
                Half::Inner(at as u32)
            }
            _ => {
                let leaf = self.leaves as u32;
                self.leaves += 1;
                let (own, rest) = order.split_at(node.count);
                own.iter().for_each(|&i| labels[i as usize] = leaf);
                *order = rest;
                Half::Leaf(leaf)
            }
        }
    }

    /// Calls `each` with the leaf on whose side of all planes a vector lies, and with the leaves
    /// that it would have beyond each of the [`CROSSED`] nearest planes on the way there.
    pub fn descend(&self, vector: &[f32], mut each: impl FnMut(u32)) {
        let mut near = [(f32::INFINITY, Half::Leaf(0)); CROSSED];
        each(self.leaf(vector, self.root(), |distance, beyond| {
            let place = near.partition_point(|(other, _)| *other <= distance);
            if place < CROSSED {
                near[place..].rotate_right(1);
                near[place] = (distance, beyond);
            }
        }));
        for (_, beyond) in near.iter().filter(|(distance, _)| distance.is_finite()) {
            each(self.leaf(vector, *beyond, |_, _| ()));
        }
    }

    fn root(&self) -> Half {
        if self.inner.is_empty() {
            Half::Leaf(0)
        } else {
            Half::Inner(0)
        }
    }

    /// Goes down from a node; `passed` is told how far each plane is and what lies beyond it.
    fn leaf(&self, vector: &[f32], from: Half, mut passed: impl FnMut(f32, Half)) -> u32 {
        let mut half = from;
        loop {
            let at = match half {
                Half::Leaf(leaf) => return leaf,
                Half::Inner(at) => at as usize,
            };
            let node = &self.inner[at];
            let above = dot(self.directions.row(at), vector) - node.threshold;
            let [low, high] = node.halves;
            let (own, beyond) = if above >= 0.0 {
                (high, low)
            } else {
                (low, high)
            };
            passed(above.abs(), beyond);
            half = own;
        }
    }

    /// Ranges of leaves, each the largest subtrees with at most `most` leaves, from the left.
    pub fn cells(&self, most: usize) -> Vec<std::ops::Range<usize>> {
        let mut sizes = vec![0; self.inner.len()];
        let size = |half: Half, sizes: &[usize]| match half {
            Half::Leaf(_) => 1,
            Half::Inner(child) => sizes[child as usize],
        };
        for at in (0..self.inner.len()).rev() {
            sizes[at] = self.inner[at]
                .halves
                .map(|half| size(half, &sizes))
                .iter()
                .sum();
        }
        let mut cells = Vec::new();
        let mut start = 0;
        let mut stack = vec![self.root()];
        while let Some(half) = stack.pop() {
            match half {
                Half::Inner(child) if sizes[child as usize] > most => {
                    let [left, right] = self.inner[child as usize].halves;
                    stack.extend([right, left]);
                }
                _ => {
                    let end = start + size(half, &sizes);
                    cells.push(start..end);
                    start = end;
                }
            }
        }
        cells
    }
}

type Opened = std::collections::HashSet<*const Built>;

/// The nodes that are opened to have so many leaves, those with the largest gain first.
fn opened(root: &Built, entries: usize) -> Opened {
    // Gains are no NaN and not negative: their bits have their order.
    let gain = |node: &Built| {
        let [low, high] = &node.split.as_ref()?.halves;
        Some((node.error - low.error - high.error).max(0.0).to_bits())
    };
    let mut opened = Opened::new();
    let mut heap = BinaryHeap::new();
    let mut queue = vec![(root, 0usize)];
    loop {
        for (node, start) in queue.drain(..) {
            if let Some(gain) = gain(node) {
                heap.push((gain, Reverse(start), ByAddress(node)));
            }
        }
        if opened.len() + 1 >= entries {
            return opened;
        }
        let Some((_, Reverse(start), ByAddress(node))) = heap.pop() else {
            return opened;
        };
        opened.insert(std::ptr::from_ref(node));
        if let Some(split) = &node.split {
            let [low, high] = &split.halves;
            queue.push((low, start));
            queue.push((high, start + low.count));
        }
    }
}

/// A node in the heap; start and gain tell nodes apart where it matters, since of two nodes with
/// one start the smaller one comes into the heap after the larger one has left it.
struct ByAddress<'a>(&'a Built);

impl PartialEq for ByAddress<'_> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ByAddress<'_> {}

impl PartialOrd for ByAddress<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByAddress<'_> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// Builds the node of the vectors in `order`, and brings them into the order of its leaves.
fn split(sample: &Sample, order: &mut [u32], depth: usize) -> Built {
    let count = order.len();
    let centre = mean(sample, order);
    let row = |i: u32| sample.vectors.row(i as usize);
    let weight = |i: u32| f64::from(sample.weights[i as usize]);
    let error: f64 = order
        .iter()
        .map(|&i| weight(i) * f64::from(distance(row(i), &centre)))
        .sum();
    let leaf = Built {
        count,
        error: error as f32,
        split: None,
    };
    if count < 2 || error <= 0.0 {
        return leaf;
    }
    let Some(direction) = direction(sample, order, &centre) else {
        return leaf;
    };
    let mut projected: Vec<(f32, u32)> = order
        .iter()
        .map(|&i| (dot(&direction, row(i)), i))
        .collect();
    let (half, threshold) = if depth < DEEPEST && count > SEARCHED {
        let threshold = dot(&direction, &centre);
        let (mut low, high): (Vec<_>, Vec<_>) = projected.iter().partition(|p| p.0 < threshold);
        let half = low.len();
        low.extend(high);
        projected = low;
        (half, threshold)
    } else {
        projected.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let half = if depth < DEEPEST {
            best_split(&projected, weight)
        } else {
            count / 2
        };
        (half, projected[half].0)
    };
    if half == 0 || half == count {
        return leaf;
    }
    for (to, (_, from)) in order.iter_mut().zip(projected) {
        *to = from;
    }
    let (low, high) = order.split_at_mut(half);
    let halves = if count >= PARALLEL {
        rayon::join(
            || split(sample, low, depth + 1),
            || split(sample, high, depth + 1),
        )
    } else {
        (
            split(sample, low, depth + 1),
            split(sample, high, depth + 1),
        )
    };
    Built {
        split: Some(Box::new(Split {
            direction,
            threshold,
            halves: halves.into(),
        })),
        ..leaf
    }
}

fn mean(sample: &Sample, which: &[u32]) -> Vec<f32> {
    let stride = sample.vectors.stride();
    let (mut sums, mut total) = (vec![0.0f64; stride], 0.0f64);
    // Short f32 sums, added up as f64.
    for block in which.chunks(64) {
        let mut short = vec![0.0f32; stride];
        for &i in block {
            let weight = sample.weights[i as usize];
            total += f64::from(weight);
            for (sum, v) in short.iter_mut().zip(sample.vectors.row(i as usize)) {
                *sum += weight * v;
            }
        }
        for (sum, v) in sums.iter_mut().zip(short) {
            *sum += f64::from(v);
        }
    }
    sums.iter().map(|sum| (sum / total) as f32).collect()
}

/// The unit vector along which the vectors vary most, near enough; none if they do not vary.
fn direction(sample: &Sample, which: &[u32], centre: &[f32]) -> Option<Vec<f32>> {
    let step = which.len().div_ceil(DIRECTION_SAMPLE);
    let vectors = &sample.vectors;
    let far = which
        .iter()
        .step_by(step)
        .map(|&i| (distance(vectors.row(i as usize), centre), i))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?
        .1;
    let from = |row: &[f32]| -> Vec<f32> { row.iter().zip(centre).map(|(v, c)| v - c).collect() };
    let mut along = normalised(from(vectors.row(far as usize)))?;
    if which.len() == 2 {
        return Some(along);
    }
    for _ in 0..DIRECTION_STEPS {
        let offset = dot(&along, centre);
        let mut next = vec![0.0f32; along.len()];
        for &i in which.iter().step_by(step) {
            let row = vectors.row(i as usize);
            let projection = sample.weights[i as usize] * (dot(&along, row) - offset);
            for k in 0..next.len() {
                next[k] += projection * (row[k] - centre[k]);
            }
        }
        match normalised(next) {
            Some(next) => along = next,
            None => break,
        }
    }
    Some(along)
}

fn normalised(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = dot(&vector, &vector).sqrt();
    if !(length > 0.0 && length.is_finite()) {
        return None;
    }
    vector.iter_mut().for_each(|v| *v /= length);
    Some(vector)
}

/// Where to cut sorted projections so that the weighted square error along them falls most.
fn best_split(projected: &[(f32, u32)], weight: impl Fn(u32) -> f64) -> usize {
    let (mut total, mut sum) = (0.0, 0.0);
    for &(at, i) in projected {
        total += weight(i);
        sum += weight(i) * f64::from(at);
    }
    let centre = sum / total;
    let (mut low, mut below, mut best) = (0.0, 0.0, (f64::NEG_INFINITY, 0));
    for cut in 1..projected.len() {
        let (at, i) = projected[cut - 1];
        low += weight(i);
        below += weight(i) * (f64::from(at) - centre);
        if projected[cut].0 == at {
            continue;
        }
        // What lies above the cut has the opposite sum.
        let gain = below * below * (1.0 / low + 1.0 / (total - low));
        if gain > best.0 {
            best = (gain, cut);
        }
    }
    best.1
}
