//! Randomness that is the same on every backend and survives a checkpoint.
//!
//! Two kinds: [`Rng`], a small sequential generator whose whole state is two words (view order,
//! initial points), and [`normal3`], a counter-based one that any thread of any backend can ask for
//! the noise of Gaussian `i` at step `s` without knowing what the others drew.

use serde::{Deserialize, Serialize};

/// PCG-XSH-RR 64/32 (O'Neill 2014), a sequential generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng {
    state: u64,
    increment: u64,
}

impl Rng {
    /// A generator for a seed. Different `stream`s of one seed are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self {
            state: 0,
            increment: (stream << 1) | 1,
        };
        rng.next_u32();
        rng.state = rng.state.wrapping_add(mix(seed));
        rng.next_u32();
        rng
    }

    /// The two words that are the whole state, to be kept in a checkpoint.
    pub fn to_words(&self) -> [u64; 2] {
        [self.state, self.increment]
    }

    /// The generator that [`Rng::to_words`] came from.
    pub fn from_words(words: [u64; 2]) -> Self {
        Self {
            state: words[0],
            increment: words[1] | 1,
        }
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(self.increment);
        let xorshifted = (((old >> 18) ^ old) >> 27) as u32;
        xorshifted.rotate_right((old >> 59) as u32)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next_u32() as u64 * n as u64) >> 32) as usize
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f32 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f32::consts::TAU * v).cos()
    }

    /// Puts the slice in random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, slice: &mut [T]) {
        for i in (1..slice.len()).rev() {
            slice.swap(i, self.below(i + 1));
        }
    }
}

/// A 64-bit hash (the finaliser of SplitMix64).
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A hash of bytes and of their number: eight at a time by [`mix`].
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let length = mix(bytes.len() as u64);
    bytes
        .chunks(8)
        .fold(length, |hash, bytes| mix(hash ^ word(bytes)))
}

/// As [`hash_bytes`], of the bytes of numbers, the lowest first.
pub fn hash_floats(values: &[f32]) -> u64 {
    let word = |pair: &[f32]| {
        let bits = pair.iter().rev().map(|value| u64::from(value.to_bits()));
        bits.fold(0, |word, bits| word << 32 | bits)
    };
    let length = mix(size_of_val(values) as u64);
    values
        .chunks(2)
        .fold(length, |hash, pair| mix(hash ^ word(pair)))
}

/// Uniform in [0, 1) for (seed, step, index, lane).
pub fn uniform_at(seed: u64, step: u64, index: u64, lane: u64) -> f32 {
    let bits = mix(mix(mix(seed ^ (step << 32)) ^ index) ^ lane);
    (bits >> 40) as f32 * (1.0 / (1 << 24) as f32)
}

/// Where keys of draws are among the random numbers of a Gaussian; splits and noise have 0 to 3,
/// MCMC 4 and 5.
const DRAW: u64 = 6;

/// A key for Gaussian `index`: those with the K largest keys are a draw of K without replacement in
/// proportion to the weights (Efraimidis and Spirakis 2006, whose u^(1/weight) has the same order).
/// 0, the least, without weight.
pub fn draw_key(seed: u64, step: u64, index: u64, weight: f32) -> f32 {
    match weight > 0.0 {
        true => weight / (1.0 - uniform_at(seed, step, index, DRAW)).ln().abs(),
        false => 0.0,
    }
}

/// Three standard normals for (seed, step, index).
pub fn normal3(seed: u64, step: u64, index: u64) -> [f32; 3] {
    let pair = |lane: u64| {
        let (u, v) = (
            1.0 - uniform_at(seed, step, index, lane),
            uniform_at(seed, step, index, lane + 1),
        );
        let (radius, angle) = ((-2.0 * u.ln()).sqrt(), std::f32::consts::TAU * v);
        (radius * angle.cos(), radius * angle.sin())
    };
    let (a, b) = pair(0);
    [a, b, pair(2).0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_floats_are_those_of_their_bytes() {
        let values = [1.5f32, -0.0, f32::NAN, 3e-39, 7.0];
        for count in 0..=values.len() {
            let bytes = values[..count].iter().flat_map(|value| value.to_le_bytes());
            let bytes: Vec<u8> = bytes.collect();
            assert_eq!(hash_floats(&values[..count]), hash_bytes(&bytes));
        }
    }

    #[test]
    fn normals_have_unit_variance_and_no_correlation() {
        let n = 20_000;
        let (mut sum, mut square, mut cross) = (0.0f64, 0.0f64, 0.0f64);
        for i in 0..n {
            let [a, b, c] = normal3(7, 3, i).map(|v| v as f64);
            sum += a + b + c;
            square += a * a + b * b + c * c;
            cross += a * b + b * c;
        }
        let n = n as f64;
        assert!((sum / (3.0 * n)).abs() < 0.02);
        assert!((square / (3.0 * n) - 1.0).abs() < 0.03);
        assert!((cross / (2.0 * n)).abs() < 0.03);
    }

    /// Of weights 1, 2 and 5 the first draw takes each in proportion; what weighs nothing is last.
    #[test]
    fn keys_draw_in_proportion_to_weights() {
        let weights = [1.0, 2.0, 5.0, 0.0];
        let mut first = [0u32; 4];
        for step in 0..20_000 {
            let keys: Vec<f32> = (0..4)
                .map(|i| draw_key(9, step, i, weights[i as usize]))
                .collect();
            assert!(keys[3] == 0.0 && keys[..3].iter().all(|&key| key > 0.0));
            let largest = (0..4).max_by(|&a, &b| keys[a].total_cmp(&keys[b]));
            first[largest.unwrap()] += 1;
        }
        for (count, weight) in first.into_iter().zip(weights) {
            let share = f64::from(count) / 20_000.0;
            assert!((share - f64::from(weight) / 8.0).abs() < 0.012, "{first:?}");
        }
    }

    #[test]
    fn a_generator_goes_on_from_its_words() {
        let mut a = Rng::new(5, 1);
        a.next_u32();
        let mut b = Rng::from_words(a.to_words());
        assert_eq!(
            (0..8).map(|_| a.next_u32()).collect::<Vec<_>>(),
            (0..8).map(|_| b.next_u32()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(1, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
