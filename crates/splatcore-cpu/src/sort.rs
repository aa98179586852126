//! `sort`: splats front to back by view-space z, ties by Gaussian index. One sort of the visible
//! splats; the tiles' lists come from a stable counting sort in [`crate::intersect`], so no (tile,
//! depth) keys are ever sorted.

use crate::project::Splat;

const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;

/// Puts the positions of `visible` (in Gaussian order) in depth order. Least-significant-digit
/// radix sort, stable, three passes of 11 bits; depths are positive, so their bits order like the
/// numbers.
pub fn sort(splats: &[Splat], visible: &[u32], order: &mut Vec<u32>, scratch: &mut Vec<u64>) {
    let n = visible.len();
    scratch.clear();
    scratch.resize(2 * n, 0);
    let (mut from, mut to) = scratch.split_at_mut(n);
    let mut counts = [[0u32; BUCKETS]; 3];
    for (slot, &position) in from.iter_mut().zip(visible) {
        let key = splats[position as usize].depth.to_bits();
        *slot = (key as u64) << 32 | position as u64;
        for pass in 0..3 {
            counts[pass][(key >> (pass as u32 * DIGIT)) as usize & (BUCKETS - 1)] += 1;
        }
    }
    for (pass, count) in counts.iter_mut().enumerate() {
        if count.contains(&(n as u32)) {
            continue;
        }
        let mut sum = 0;
        for c in count.iter_mut() {
            sum += std::mem::replace(c, sum);
        }
        let shift = 32 + pass as u32 * DIGIT;
        for &item in from.iter() {
            let bucket = &mut count[(item >> shift) as usize & (BUCKETS - 1)];
            to[*bucket as usize] = item;
            *bucket += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    order.clear();
    order.extend(from.iter().map(|&item| item as u32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn depth_first_then_index() {
        let mut rng = Rng::new(1, 0);
        let splats: Vec<Splat> = (0..5000)
            .map(|i| Splat {
                depth: 0.2 + (rng.below(700) as f32).exp2().min(1e5),
                gaussian: i,
                ..Splat::default()
            })
            .collect();
        let visible: Vec<u32> = (0..5000).filter(|i| i % 3 != 0).collect();
        let (mut order, mut scratch) = (Vec::new(), Vec::new());
        sort(&splats, &visible, &mut order, &mut scratch);
        let mut want = visible.clone();
        want.sort_by(|&a, &b| {
            splats[a as usize]
                .depth
                .total_cmp(&splats[b as usize].depth)
                .then(a.cmp(&b))
        });
        assert_eq!(order, want);
    }
}
