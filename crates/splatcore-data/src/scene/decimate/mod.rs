//! Fewer Gaussians for the same scene: pairs are merged, those first whose merging changes images
//! least.
//!
//! `blob` has the formulas, `neighbours` the candidates. Rounds take the place of one queue: in
//! each, every Gaussian finds its best partner among its neighbours, and of the pairs that chose
//! each other the cheaper half is merged. Derivations and measurements: docs/methods/decimate.md.

mod blob;
mod neighbours;

use blob::{Blob, colour_dot};
use rayon::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::ranked::median;

/// Partners that each Gaussian tries on either side along each curve.
const WINDOW: usize = 4;
/// Curves, each shifted against the others.
const CURVES: u32 = 2;
/// Gaussians that a thread takes at a time.
const CHUNK: usize = 1024;

/// A pair that costs so much; the order of equal costs is arbitrary but fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    /// The bits of a cost that is not negative have its order.
    cost: u64,
    tie: u32,
    low: u32,
    high: u32,
}

const NONE: Pair = Pair {
    cost: u64::MAX,
    tie: u32::MAX,
    low: u32::MAX,
    high: u32::MAX,
};

/// At most `target` Gaussians (but at least one, if there is one) that look like the given ones,
/// which must be sound. Those that were merged with none stay bit for bit; the order is kept, a
/// merged one has the place of the first. The result is the same for any number of threads.
///
/// Merging matches moments: mean, covariance and colour are the mixture's, weighted by opacity
/// times projected area; the opacity keeps the area that is covered (as Kerbl et al. 2024, "A
/// Hierarchical 3D Gaussian Representation for Real-Time Rendering of Very Large Datasets", section
/// 4, keep its sum, less what the two cover together).
pub fn decimate(gaussians: &Gaussians, target: usize) -> Gaussians {
    let target = target.max(1);
    let mut scene = gaussians.clone();
    let mut live: Vec<u32> = (0..scene.len() as u32).collect();
    if live.len() <= target {
        return scene;
    }
    let mut blobs: Vec<Blob> = (0..scene.len())
        .into_par_iter()
        .with_min_len(CHUNK)
        .map(|i| Blob::of(&scene, i))
        .collect();
    let view = View::of(&blobs);
    let mut merged = vec![false; scene.len()];
    let mut dead = vec![false; scene.len()];
    while live.len() > target {
        let mut pairs = mutual(&scene, &blobs, &live, &view);
        if pairs.is_empty() {
            break;
        }
        pairs.par_sort_unstable();
        let wanted = (live.len() - target).min(pairs.len().div_ceil(2));
        for pair in &pairs[..wanted] {
            let (i, j) = (pair.low as usize, pair.high as usize);
            merge(&mut scene, &mut blobs, i, j);
            merged[i] = true;
            dead[j] = true;
        }
        live.retain(|&i| !dead[i as usize]);
    }
    for &i in live.iter().filter(|&&i| merged[i as usize]) {
        blobs[i as usize].store(&mut scene, i as usize);
    }
    scene.retain(|i| !dead[i]);
    scene
}

/// Puts the merged Gaussian in the place of `i`.
fn merge(scene: &mut Gaussians, blobs: &mut [Blob], i: usize, j: usize) {
    let dot = colour_dot(scene.sh_of(i), scene.sh_of(j));
    let merged = blobs[i].merge(&blobs[j], dot);
    blobs[i] = merged.blob;
    let k = scene.coefficients();
    let share = merged.share as f32;
    for n in 0..k {
        for c in 0..3 {
            let mean = share * scene.sh[i * k + n][c] + (1.0 - share) * scene.sh[j * k + n][c];
            scene.sh[i * k + n][c] = mean;
        }
    }
}

/// From where a scene is seen: from within, or from about as far as it is large.
struct View {
    centre: [f64; 3],
    /// The square of the median distance from the centre.
    square: f64,
}

impl View {
    fn of(blobs: &[Blob]) -> Self {
        let axis = |c: usize| median(blobs.iter().map(|blob| blob.mean[c])).unwrap_or(0.0);
        let centre = [0, 1, 2].map(axis);
        let square = |blob: &Blob| {
            (0..3)
                .map(|c| (blob.mean[c] - centre[c]).powi(2))
                .sum::<f64>()
        };
        let usual = median(blobs.iter().map(square));
        Self {
            centre,
            square: usual.unwrap_or(0.0).max(f64::MIN_POSITIVE),
        }
    }

    /// A world area as a share of the image, up to a factor: far things look small.
    fn seen(&self, blob: &Blob, area: f64) -> f64 {
        let far: f64 = (0..3)
            .map(|c| (blob.mean[c] - self.centre[c]).powi(2))
            .sum();
        area / (self.square + far)
    }
}

/// The pairs of neighbours that are each other's best.
fn mutual(scene: &Gaussians, blobs: &[Blob], live: &[u32], view: &View) -> Vec<Pair> {
    let mut best = vec![NONE; scene.len()];
    for curve in 0..CURVES {
        let order = neighbours::along_curve(blobs, live, curve);
        let pair = |a: u32, b: u32| {
            let (low, high) = (a.min(b), a.max(b));
            let (i, j) = (low as usize, high as usize);
            let dot = colour_dot(scene.sh_of(i), scene.sh_of(j));
            let merged = blobs[i].merge(&blobs[j], dot);
            let cost = view.seen(&merged.blob, merged.cost);
            Pair {
                cost: if cost.is_finite() {
                    cost.to_bits()
                } else {
                    u64::MAX - 1
                },
                tie: (low ^ high.rotate_left(16)).wrapping_mul(0x9e37_79b9),
                low,
                high,
            }
        };
        // Each pair once, from its first Gaussian along the curve.
        let ahead: Vec<[Pair; WINDOW]> = (0..order.len())
            .into_par_iter()
            .with_min_len(CHUNK)
            .map(|at| {
                std::array::from_fn(|d| match order.get(at + d + 1) {
                    Some(&other) => pair(order[at], other),
                    None => NONE,
                })
            })
            .collect();
        for (at, pairs) in ahead.iter().enumerate() {
            for (d, &pair) in pairs.iter().enumerate() {
                for end in [Some(&order[at]), order.get(at + d + 1)]
                    .into_iter()
                    .flatten()
                {
                    let best = &mut best[*end as usize];
                    *best = (*best).min(pair);
                }
            }
        }
    }
    let chosen = |&i: &u32| {
        let pair = best[i as usize];
        let both = pair.low == i && best[pair.high as usize] == pair;
        both.then_some(pair)
    };
    live.iter().filter_map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn random(count: usize) -> Gaussians {
        let mut rng = Rng::new(4, 0);
        let mut g = Gaussians::zeros(count, 1);
        for i in 0..count {
            g.means[i] = std::array::from_fn(|_| rng.normal());
            g.log_scales[i] = std::array::from_fn(|_| -3.0 + 0.5 * rng.normal());
            g.rotations[i] = std::array::from_fn(|_| rng.normal());
            g.opacity_logits[i] = rng.normal();
        }
        g.sh.iter_mut()
            .for_each(|c| *c = std::array::from_fn(|_| 0.3 * rng.normal()));
        g
    }

    #[test]
    fn the_target_is_reached_and_the_scene_stays_sound() {
        let scene = random(3000);
        for target in [0, 1, 700, 2999, 3000, 5000] {
            let fewer = decimate(&scene, target);
            assert_eq!(fewer.len(), target.clamp(1, 3000));
            assert!((0..fewer.len()).all(|i| fewer.is_sound(i)));
        }
        assert_eq!(decimate(&scene, 3000), scene);
        assert_eq!(decimate(&Gaussians::empty(3), 5), Gaussians::empty(3));
    }

    #[test]
    fn doubles_are_merged_first() {
        let mut scene = random(500);
        // Thin ones: of solid ones the upper hides the lower.
        scene.opacity_logits = vec![-3.0; 500];
        let copies: Vec<usize> = (0..500).step_by(5).collect();
        copies
            .iter()
            .for_each(|&i| scene.push_from(&scene.clone_row(i), 0));
        let fewer = decimate(&scene, 500);
        // All others are as they were, bit for bit.
        for i in (0..500).filter(|i| i % 5 != 0) {
            assert_eq!(fewer.clone_row(i), scene.clone_row(i));
        }
        for &i in &copies {
            assert_ne!(fewer.opacity_logits[i], scene.opacity_logits[i]);
            assert!((0..3).all(|c| (fewer.means[i][c] - scene.means[i][c]).abs() < 1e-6));
        }
    }

    #[test]
    fn equal_and_extreme_gaussians_end() {
        let mut scene = Gaussians::empty(1);
        let one = random(1);
        (0..2000).for_each(|_| scene.push_from(&one, 0));
        assert_eq!(decimate(&scene, 10).len(), 10);
        let mut scene = random(200);
        scene.means[3] = [f32::MAX, f32::MIN, 0.0];
        scene.means[4] = [f32::MAX; 3];
        scene.log_scales[5] = [f32::MAX; 3];
        scene.log_scales[6] = [f32::MIN; 3];
        scene.opacity_logits[7] = f32::MIN;
        scene.opacity_logits[8] = f32::MAX;
        scene.sh[40] = [f32::MAX; 3];
        assert_eq!(decimate(&scene, 20).len(), 20);
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let scene = random(5000);
        let [one, four] = [1, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| decimate(&scene, 1200))
        });
        assert_eq!(one, four);
    }
}
