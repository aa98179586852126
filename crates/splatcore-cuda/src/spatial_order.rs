//! The order in which a scene's Gaussians lie on the device: neighbours in space next to each
//! other, along a Morton curve. A block of `project` then meets few groups of tiles, and asks for
//! the places of all its pairs of a group at once (ops/bin/bin.cuh). Files that were compressed
//! have such an order, those of a trainer have none.

use rayon::prelude::*;
use splatcore_core::ranked::median;

/// Fewer Gaussians stay as they are: there is nothing to gain.
const FEWEST: usize = 1 << 14;
/// Gaussians that are examined to know whether a scene has such an order.
const SAMPLES: usize = 4096;
/// Neighbours in the file must be so many times nearer to each other than two Gaussians far apart
/// in it.
const NEARER: f32 = 4.0;
/// Bits of a cell's number along an axis.
const CELL_BITS: u32 = 10;

/// The Gaussian of each place, or `None` if the order that they have is as good.
pub fn spatial_order(means: &[[f32; 3]]) -> Option<Vec<u32>> {
    if means.len() < FEWEST || is_spatial(means) {
        return None;
    }
    let axes = [0, 1, 2].map(|axis| range(means, axis));
    // The number of a cell under that of the Gaussian: equal cells keep their order.
    let mut keys: Vec<u64> = means
        .par_iter()
        .enumerate()
        .map(|(i, mean)| u64::from(cell(mean, &axes)) << 32 | i as u64)
        .collect();
    keys.par_sort_unstable();
    Some(keys.into_iter().map(|key| key as u32).collect())
}

/// Indices of samples, evenly spread.
fn samples(count: usize) -> impl Iterator<Item = usize> {
    (0..SAMPLES).map(move |k| k * (count - 1) / SAMPLES)
}

fn is_spatial(means: &[[f32; 3]]) -> bool {
    let median_distance = |apart: usize| {
        let between = |i: usize| {
            let other = means[(i + apart) % means.len()];
            (0..3)
                .map(|c| (means[i][c] - other[c]).powi(2))
                .sum::<f32>()
        };
        median(samples(means.len()).map(|i| between(i).into())).unwrap_or(0.0) as f32
    };
    NEARER * NEARER * median_distance(1) <= median_distance(means.len() / 2)
}

/// Where cells begin on an axis, and how many there are for a unit of length. A hundredth of the
/// Gaussians on either side, which may be very far away, share the outer cells.
fn range(means: &[[f32; 3]], axis: usize) -> [f32; 2] {
    let mut values: Vec<f32> = samples(means.len()).map(|i| means[i][axis]).collect();
    values.sort_unstable_by(f32::total_cmp);
    let (low, high) = (values[SAMPLES / 100], values[SAMPLES - 1 - SAMPLES / 100]);
    [
        low,
        (1 << CELL_BITS) as f32 / (high - low).max(f32::MIN_POSITIVE),
    ]
}

/// The number of a mean's cell along the curve: the bits of its three coordinates take turns.
fn cell(mean: &[f32; 3], axes: &[[f32; 2]; 3]) -> u32 {
    let last = (1 << CELL_BITS) - 1;
    let spread = |axis: usize| {
        // What is not a number is 0.
        let at = ((mean[axis] - axes[axis][0]) * axes[axis][1]) as u32;
        (0..CELL_BITS).fold(0, |bits, b| bits | (at.min(last) >> b & 1) << (3 * b))
    };
    spread(0) | spread(1) << 1 | spread(2) << 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn random_means(count: usize) -> Vec<[f32; 3]> {
        let mut rng = Rng::new(5, 0);
        (0..count)
            .map(|_| [0; 3].map(|_| rng.uniform() - 0.5))
            .collect()
    }

    #[test]
    fn neighbours_come_next_to_each_other() {
        let means = random_means(1 << 15);
        let order = spatial_order(&means).unwrap();
        let mut seen = order.clone();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..means.len() as u32));
        let ordered: Vec<[f32; 3]> = order.iter().map(|&i| means[i as usize]).collect();
        assert!(is_spatial(&ordered) && !is_spatial(&means));
        assert_eq!(spatial_order(&ordered), None);
    }

    #[test]
    fn cells_are_numbered_along_a_curve() {
        let axes = [[0.0, 1.0]; 3];
        assert_eq!(cell(&[1.0, 0.0, 0.0], &axes), 0b001);
        assert_eq!(cell(&[0.5, 1.5, 1.0], &axes), 0b110);
        assert_eq!(cell(&[2.0, 0.0, 1.0], &axes), 0b1100);
        assert_eq!(
            cell(&[1e9, -5.0, f32::NAN], &axes),
            0x0924_9249 & ((1 << 30) - 1)
        );
    }

    #[test]
    fn few_or_strange_ones_are_no_trouble() {
        assert_eq!(spatial_order(&[]), None);
        assert_eq!(spatial_order(&random_means(100)), None);
        let mut means = random_means(FEWEST);
        for (i, mean) in means.iter_mut().enumerate() {
            mean[i % 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30][i % 4];
        }
        if let Some(order) = spatial_order(&means) {
            assert_eq!(order.len(), FEWEST);
        }
        assert!(spatial_order(&vec![[1.0; 3]; FEWEST]).is_none());
    }
}
