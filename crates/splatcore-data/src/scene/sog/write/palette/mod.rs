//! The palette of spherical harmonics: vector quantisation of up to 45 dimensions into as many as
//! 65,536 entries.
//!
//! Plain Lloyd iterations compare every vector with every entry, which takes hours here. Instead, a
//! tree over a sample makes the first palette and finds for each vector an entry to start from
//! ([`tree`]), and a graph of each entry's nearest entries leads from there to a nearer one
//! ([`graph`]; the idea of Deng & Zhao 2018, fast k-means by k-NN graphs). The result does not
//! depend on the number of threads: every sum is added in the order of the vectors.

mod graph;
mod tree;
mod vectors;

pub use vectors::{Sample, Sums, Vectors};

use graph::Graph;
pub use graph::Search;
use rayon::prelude::*;
use std::collections::HashMap;
use tree::Tree;

/// Vectors that a thread takes at a time.
const CHUNK: usize = 1024;

/// A palette of vectors, and what finds the nearest one.
pub struct Palette {
    entries: Vectors,
    finder: Finder,
}

enum Finder {
    /// Down the tree, and over the graph.
    Walk { tree: Tree, graph: Graph },
    /// Every vector is an entry: its bits tell which.
    Known(HashMap<Vec<u32>, u32>),
}

impl Palette {
    /// A palette of at most so many entries, from a sample of at least one vector. Each iteration
    /// gives the sample's vectors to their nearest entries and moves these to the weighted means.
    pub fn train(sample: &Sample, entries: usize, iterations: u32) -> Self {
        let vectors = &sample.vectors;
        let (tree, mut labels) = Tree::build(sample, entries.max(1));
        let mut entries = vectors.zeros_like(tree.leaves());
        entries.become_means(&summed(&entries, sample, &labels));
        let mut graph = Graph::of(&entries, &tree);
        for round in 0..iterations {
            let found: Vec<(u32, f32)> = labels
                .par_iter()
                .enumerate()
                .with_min_len(CHUNK)
                .map(|(i, &label)| graph.nearest(&entries, vectors.row(i), label))
                .collect();
            if labels.iter().zip(&found).all(|(old, (new, _))| old == new) {
                break;
            }
            labels = found.iter().map(|(label, _)| *label).collect();
            let sums = summed(&entries, sample, &labels);
            entries.become_means(&sums);
            revive(&mut entries, &sums, sample, &found);
            // Entries move less and less; a graph that is a little old still leads to them.
            if round == 0 || round == 2 {
                graph = Graph::of(&entries, &tree);
            }
        }
        Self {
            entries,
            finder: Finder::Walk { tree, graph },
        }
    }

    /// The entries.
    pub fn entries(&self) -> &Vectors {
        &self.entries
    }

    /// The entry that is nearest to a vector, or nearly so.
    pub fn nearest(&self, vector: &[f32], search: &mut Search) -> u32 {
        match &self.finder {
            Finder::Walk { tree, graph } => search.nearest(graph, tree, &self.entries, vector),
            Finder::Known(known) => known[&bits(vector)],
        }
    }

    /// The entries moved to the means of the vectors that were given to them.
    pub fn moved(mut self, sums: &Sums) -> Vectors {
        self.entries.become_means(sums);
        self.entries
    }
}

/// Vectors of which few differ.
pub struct Known {
    entries: Vectors,
    labels: HashMap<Vec<u32>, u32>,
    most: usize,
}

impl Known {
    /// No vector yet; at most `most` may differ.
    pub fn new(dimensions: usize, most: usize) -> Self {
        Self {
            entries: Vectors::zeros(0, dimensions),
            labels: HashMap::new(),
            most,
        }
    }

    /// Takes a vector; `false` if too many differ.
    pub fn add(&mut self, vector: &[f32]) -> bool {
        let next = self.labels.len() as u32;
        if *self.labels.entry(bits(vector)).or_insert(next) == next {
            self.entries.push(vector);
        }
        self.labels.len() <= self.most
    }

    /// The palette with an entry for each, if not too many differ.
    pub fn palette(self) -> Option<Palette> {
        (self.labels.len() <= self.most).then_some(Palette {
            entries: self.entries,
            finder: Finder::Known(self.labels),
        })
    }
}

/// What tells a vector from another; zeros at its end may be padding.
fn bits(vector: &[f32]) -> Vec<u32> {
    let used = vector.iter().rposition(|&v| v != 0.0).map_or(0, |i| i + 1);
    vector[..used].iter().map(|v| v.to_bits()).collect()
}

fn summed(entries: &Vectors, sample: &Sample, labels: &[u32]) -> Sums {
    let mut sums = Sums::new(entries);
    for (i, &label) in labels.iter().enumerate() {
        sums.add(label as usize, sample.vectors.row(i), sample.weights[i]);
    }
    sums
}

/// Puts entries that have lost all their vectors where the error is largest.
fn revive(entries: &mut Vectors, sums: &Sums, sample: &Sample, found: &[(u32, f32)]) {
    let lost: Vec<usize> = (0..entries.len())
        .filter(|&e| sums.weights[e] <= 0.0)
        .collect();
    if lost.is_empty() {
        return;
    }
    let error = |(i, f): (usize, &(u32, f32))| (sample.weights[i] * f.1, i);
    let mut far: Vec<(f32, usize)> = found.iter().enumerate().map(error).collect();
    let most = lost.len().min(far.len());
    let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    far.select_nth_unstable_by(most - 1, order);
    far.truncate(most);
    far.sort_unstable_by(order);
    for (entry, (_, i)) in lost.into_iter().zip(far) {
        entries
            .row_mut(entry)
            .copy_from_slice(sample.vectors.row(i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn even(vectors: &Vectors) -> Sample {
        Sample {
            weights: vec![1.0; vectors.len()],
            vectors: vectors.clone(),
        }
    }

    fn random(count: usize, dimensions: usize, seed: u64) -> Vectors {
        let mut rng = Rng::new(seed, 0);
        let mut vectors = Vectors::zeros(0, dimensions);
        for i in 0..count {
            // Clusters of different widths: every tenth vector is far out.
            let width = if i % 10 == 0 { 3.0 } else { 0.3 };
            let vector: Vec<f32> = (0..dimensions).map(|_| width * rng.normal()).collect();
            vectors.push(&vector);
        }
        vectors
    }

    /// The square error of the nearest of all entries.
    fn error(vectors: &Vectors, entries: &Vectors) -> f64 {
        (0..vectors.len())
            .map(|i| f64::from(exact(vectors.row(i), entries).1))
            .sum()
    }

    fn exact(vector: &[f32], entries: &Vectors) -> (usize, f32) {
        (0..entries.len())
            .map(|e| (e, vectors::distance(vector, entries.row(e))))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap()
    }

    /// Lloyd's algorithm as it is usually written, from a random choice of vectors.
    fn lloyd(sample: &Vectors, count: usize, rounds: usize) -> Vectors {
        let mut rng = Rng::new(9, 0);
        let mut order: Vec<usize> = (0..sample.len()).collect();
        for i in 0..count {
            order.swap(i, i + rng.below(sample.len() - i));
        }
        let mut entries = sample.zeros_like(0);
        order[..count]
            .iter()
            .for_each(|&i| entries.push(sample.row(i)));
        for _ in 0..rounds {
            let labels: Vec<u32> = (0..sample.len())
                .map(|i| exact(sample.row(i), &entries).0 as u32)
                .collect();
            let sums = summed(&entries, &even(sample), &labels);
            entries.become_means(&sums);
        }
        entries
    }

    #[test]
    fn plain_lloyd_is_not_better() {
        for (count, dimensions, entries) in [(3000, 9, 256), (3000, 24, 2048), (2000, 45, 1024)] {
            let sample = random(count, dimensions, 5);
            let palette = Palette::train(&even(&sample), entries, 4);
            let given: f64 = (0..count)
                .map(|i| {
                    let entry = palette.nearest(sample.row(i), &mut Search::default()) as usize;
                    f64::from(vectors::distance(
                        sample.row(i),
                        palette.entries().row(entry),
                    ))
                })
                .sum();
            // As given, not as the nearest entry would be.
            let usual = error(&sample, &lloyd(&sample, entries, 10));
            assert!(
                given < usual,
                "{count} {dimensions} {entries}: {given} {usual}"
            );
        }
    }

    /// Vectors around 300 centres.
    fn clustered(count: usize, seed: u64) -> Vectors {
        let centres = random(300, 24, 77);
        let mut rng = Rng::new(seed, 1);
        let mut vectors = Vectors::zeros(0, 24);
        for _ in 0..count {
            let centre = centres.row(rng.below(300));
            let vector: Vec<f32> = centre.iter().map(|v| v + 0.1 * rng.normal()).collect();
            vectors.push(&vector[..24]);
        }
        vectors
    }

    /// Vectors outside the sample get an entry that is nearly the nearest, and in noise, where all
    /// entries are about equally far, at least none that is much farther.
    #[test]
    fn searches_find_nearly_the_nearest() {
        for (sample, others, most) in [
            (clustered(8000, 1), clustered(2000, 2), 1.03),
            (random(8000, 24, 1), random(2000, 24, 2), 1.2),
        ] {
            let palette = Palette::train(&even(&sample), 1024, 4);
            let mut search = Search::default();
            let found: f64 = (0..others.len())
                .map(|i| {
                    let entry = palette.nearest(others.row(i), &mut search) as usize;
                    f64::from(vectors::distance(
                        others.row(i),
                        palette.entries().row(entry),
                    ))
                })
                .sum();
            let ratio = found / error(&others, palette.entries());
            assert!((1.0 - 1e-6..most).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn equal_vectors_share_an_entry() {
        let few = random(100, 9, 3);
        let mut sample = few.zeros_like(0);
        (0..2000).for_each(|i| sample.push(few.row(i * 7 % 100)));
        let palette = Palette::train(&even(&sample), 128, 4);
        for i in 0..sample.len() {
            let entry = palette
                .entries()
                .row(palette.nearest(sample.row(i), &mut Search::default()) as usize);
            assert!(vectors::distance(sample.row(i), entry) < 1e-10);
        }
        let same = Palette::train(&even(&sample.zeros_like(5)), 128, 4);
        assert_eq!(
            (
                same.entries().len(),
                same.nearest(few.row(3), &mut Search::default())
            ),
            (1, 0)
        );
    }
}
