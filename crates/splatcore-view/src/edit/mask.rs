//! [`Mask`]: a bit for each Gaussian.

use rayon::prelude::*;

/// Bits of a word.
const BITS: usize = 64;

/// A set of Gaussians of one scene. Sets of scenes with different numbers of Gaussians do not mix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u64>,
    len: usize,
}

impl Mask {
    /// No Gaussian of `len`.
    pub fn none(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(BITS)],
            len,
        }
    }

    /// The Gaussians of `len` for which `holds` does; several threads ask.
    pub fn of(len: usize, holds: impl Fn(usize) -> bool + Sync) -> Self {
        let word = |w: usize| {
            let rows = w * BITS..(w * BITS + BITS).min(len);
            rows.fold(0, |word, i| word | u64::from(holds(i)) << (i % BITS))
        };
        let words = 0..len.div_ceil(BITS);
        Self {
            words: words.into_par_iter().with_min_len(64).map(word).collect(),
            len,
        }
    }

    /// The Gaussians `which`; indices that there are not are left out.
    pub fn from_indices(len: usize, which: impl Iterator<Item = usize>) -> Self {
        let mut mask = Self::none(len);
        for i in which.filter(|&i| i < len) {
            mask.words[i / BITS] |= 1 << (i % BITS);
        }
        mask
    }

    /// Whether Gaussian `i` is in the set; no for one that there is not.
    pub fn contains(&self, i: usize) -> bool {
        let word = self.words.get(i / BITS);
        word.is_some_and(|word| word >> (i % BITS) & 1 == 1)
    }

    /// Gaussians of the scene.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no Gaussian is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Gaussians in the set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The indices of the set, in order.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        let rows = self.words.iter().enumerate();
        rows.flat_map(|(w, &word)| {
            let bits = (0..BITS).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| w * BITS + bit)
        })
    }

    /// Those of both sets.
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// Those of either set.
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Those of this set that are not in the other.
    pub fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Those that are not in the set.
    pub fn inverse(&self) -> Self {
        Self::of(self.len, |i| !self.contains(i))
    }

    /// What turns this set into the other, and the other into this.
    pub fn difference(&self, other: &Self) -> Difference {
        let pairs = self.words.iter().zip(&other.words).enumerate();
        Difference(
            pairs
                .filter(|(_, (a, b))| a != b)
                .map(|(w, (a, b))| (w as u32, a ^ b))
                .collect(),
        )
    }

    /// Turns one of the two sets of a difference into the other.
    pub fn apply(&mut self, difference: &Difference) {
        for &(w, bits) in &difference.0 {
            if let Some(word) = self.words.get_mut(w as usize) {
                *word ^= bits;
            }
        }
    }

    fn zip(&self, other: &Self, op: impl Fn(u64, u64) -> u64) -> Self {
        debug_assert_eq!(self.len, other.len);
        let pairs = self.words.iter().zip(&other.words);
        Self {
            words: pairs.map(|(&a, &b)| op(a, b)).collect(),
            len: self.len,
        }
    }
}

/// In which bits two sets differ: the words that do, with their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference(Vec<(u32, u64)>);

impl Difference {
    /// Whether the sets are equal.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_combine_as_sets_do() {
        let len = 200;
        let (even, low) = (Mask::of(len, |i| i % 2 == 0), Mask::of(len, |i| i < 70));
        assert_eq!((even.count(), low.count()), (100, 70));
        assert_eq!(even.and(&low).count(), 35);
        assert_eq!(even.or(&low).count(), 135);
        assert_eq!(even.without(&low), Mask::of(len, |i| i % 2 == 0 && i >= 70));
        assert_eq!(even.inverse(), Mask::of(len, |i| i % 2 == 1));
        // Bits behind the last Gaussian stay 0.
        assert_eq!(Mask::none(len).inverse().count(), len);
        assert!(low.indices().eq(0..70));
        assert_eq!(Mask::from_indices(len, low.indices().chain([999])), low);
        assert!(low.contains(69) && !low.contains(70) && !low.contains(5000));
    }

    #[test]
    fn a_difference_leads_both_ways_and_is_small_for_a_small_change() {
        let (a, b) = (
            Mask::of(1_000_000, |i| i % 3 == 0),
            Mask::of(1_000_000, |i| i % 3 == 0 && i != 300),
        );
        let difference = a.difference(&b);
        assert!(difference.bytes() <= 16);
        let mut c = a.clone();
        c.apply(&difference);
        assert!(c == b);
        c.apply(&difference);
        assert!(c == a && a.difference(&c).is_empty());
    }
}
