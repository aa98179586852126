//! The Gaussians that training starts from.

use crate::config::ResolvedConfig;
use rayon::prelude::*;
use rstar::RTree;
use splatcore_core::gaussians::{Gaussians, logit};
use splatcore_core::random::Rng;
use splatcore_core::sh;

/// Lower bound of the mean squared distance to the neighbours, as in INRIA's code: duplicates get a
/// scale of 3e-4 instead of zero.
pub const MIN_SQUARED_DISTANCE: f64 = 1e-7;
/// Scale of a point that has no neighbour at all, as a share of the cameras' extent.
pub const LONELY_SCALE: f64 = 0.01;

/// Starting Gaussians and what was left out on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// One Gaussian for each point used, in the order of the points.
    pub gaussians: Gaussians,
    /// Points dropped because a coordinate is infinite or not a number.
    pub dropped: usize,
    /// Points left out because there are more than `max-gaussians`.
    pub surplus: usize,
}

/// One isotropic Gaussian a point (Kerbl et al. 2023, section 5.1): its scale is the root of the
/// mean squared distance to the 3 nearest other points (times `init-scale`), rotation identity,
/// opacity `init-opacity`, the colour in SH degree 0, higher degrees zero.
///
/// With fewer than 4 points the mean is over the neighbours there are; a lone point gets
/// [`LONELY_SCALE`] times `extent` (of the cameras, world units). With more points than
/// `max-gaussians` a random choice of them (by `seed`) is used. Points without a colour (`colours`
/// too short) are grey. The same input gives the same result.
pub fn from_points(
    positions: &[[f32; 3]],
    colours: &[[u8; 3]],
    config: &ResolvedConfig,
    extent: f64,
) -> Start {
    let scene = &config.scene;
    let mut used: Vec<usize> = (0..positions.len())
        .filter(|&i| positions[i].iter().all(|v| v.is_finite()))
        .collect();
    let dropped = positions.len() - used.len();
    let most = scene.most_gaussians();
    let surplus = used.len().saturating_sub(most);
    if surplus > 0 {
        Rng::new(config.seed, 2).shuffle(&mut used);
        used.truncate(most);
        used.sort_unstable();
    }

    let means: Vec<[f32; 3]> = used.iter().map(|&i| positions[i]).collect();
    let n = means.len();
    let log_scales = mean_squared_distances(&means)
        .into_iter()
        .map(|squared| {
            let scale = match squared {
                Some(squared) => squared.max(MIN_SQUARED_DISTANCE).sqrt(),
                None => LONELY_SCALE * extent.max(1e-6),
            };
            [(scale * scene.init_scale).ln() as f32; 3]
        })
        .collect();
    let coefficients = sh::coefficients(scene.sh_degree);
    let mut harmonics = vec![[0.0; 3]; n * coefficients];
    for (row, &i) in harmonics.chunks_exact_mut(coefficients).zip(&used) {
        let colour = colours.get(i).copied().unwrap_or([128; 3]);
        row[0] = colour.map(|c| sh::from_colour(c as f32 / 255.0));
    }
    Start {
        gaussians: Gaussians {
            means,
            log_scales,
            rotations: vec![[1.0, 0.0, 0.0, 0.0]; n],
            opacity_logits: vec![logit(scene.init_opacity as f32); n],
            sh: harmonics,
            sh_degree: scene.sh_degree,
        },
        dropped,
        surplus,
    }
}

/// For each point the mean squared distance to its 3 nearest other points (to all others if there
/// are fewer), or `None` if it is alone. Points must be finite.
fn mean_squared_distances(points: &[[f32; 3]]) -> Vec<Option<f64>> {
    let points: Vec<[f64; 3]> = points.iter().map(|p| p.map(f64::from)).collect();
    let neighbours = points.len().saturating_sub(1).min(3);
    if neighbours == 0 {
        return vec![None; points.len()];
    }
    let tree = RTree::bulk_load(points.clone());
    points
        .par_iter()
        .map(|&point| {
            // The nearest is the point itself (or a duplicate of it, which is as far away).
            let nearest = tree
                .nearest_neighbor_iter_with_distance_2(point)
                .skip(1)
                .take(neighbours);
            Some(nearest.map(|(_, squared)| squared).sum::<f64>() / neighbours as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Strategy};

    fn from_points(
        positions: &[[f32; 3]],
        colours: &[[u8; 3]],
        config: &Config,
        extent: f64,
    ) -> Start {
        super::from_points(positions, colours, &config.complete(), extent)
    }

    fn scale(start: &Start, i: usize) -> f64 {
        (start.gaussians.log_scales[i][0] as f64).exp()
    }

    fn cloud(n: usize) -> Vec<[f32; 3]> {
        let mut rng = Rng::new(1, 0);
        (0..n)
            .map(|_| std::array::from_fn(|_| rng.normal()))
            .collect()
    }

    #[test]
    fn scales_are_those_of_brute_force() {
        let points = cloud(500);
        let start = from_points(&points, &[], &Config::UNSET, 1.0);
        for (i, p) in points.iter().enumerate() {
            let mut squared: Vec<f64> = (0..points.len())
                .filter(|&j| j != i)
                .map(|j| {
                    (0..3)
                        .map(|a| (p[a] as f64 - points[j][a] as f64).powi(2))
                        .sum()
                })
                .collect();
            squared.sort_by(f64::total_cmp);
            let want = (squared[..3].iter().sum::<f64>() / 3.0).sqrt();
            assert!((scale(&start, i) / want - 1.0).abs() < 1e-5, "{i}");
        }
        assert_eq!(start, from_points(&points, &[], &Config::UNSET, 1.0));
    }

    #[test]
    fn few_points() {
        assert!(
            from_points(&[], &[], &Config::UNSET, 1.0)
                .gaussians
                .is_empty()
        );
        let one = from_points(&[[1.0, 2.0, 3.0]], &[[255, 0, 128]], &Config::UNSET, 2.0);
        assert!((scale(&one, 0) - 0.02).abs() < 1e-6);
        assert_eq!(one.gaussians.sh.len(), 16);
        let dc = one.gaussians.sh_of(0)[0];
        assert!((sh::to_colour(dc[0]) - 1.0).abs() < 1e-6 && sh::to_colour(dc[1]).abs() < 1e-6);
        assert!((one.gaussians.opacity_logits[0] - (0.1f32 / 0.9).ln()).abs() < 1e-6);
        let two = from_points(&[[0.0; 3], [0.0, 0.5, 0.0]], &[], &Config::UNSET, 1.0);
        assert!((scale(&two, 1) - 0.5).abs() < 1e-6);
        assert!(two.gaussians.is_sound(0));
    }

    #[test]
    fn duplicates_planes_and_wild_values() {
        let same = from_points(&vec![[1.0; 3]; 3000], &[], &Config::UNSET, 1.0);
        assert!((scale(&same, 17) / MIN_SQUARED_DISTANCE.sqrt() - 1.0).abs() < 1e-5);
        let plane: Vec<[f32; 3]> = (0..4900)
            .map(|i| [(i % 70) as f32, 0.0, (i / 70) as f32])
            .collect();
        let plane = from_points(&plane, &[], &Config::UNSET, 1.0);
        assert!((scale(&plane, 35 * 70 + 35) - 1.0).abs() < 1e-5);
        let mut wild = cloud(20);
        wild[3][1] = f32::NAN;
        wild[7][0] = f32::INFINITY;
        wild[9][2] = 1e30;
        let wild = from_points(&wild, &[[9; 3]; 20], &Config::UNSET, 1.0);
        assert_eq!((wild.dropped, wild.gaussians.len()), (2, 18));
        assert!((0..18).all(|i| wild.gaussians.is_sound(i)));
    }

    #[test]
    fn mcmc_starts_small_and_half_opaque_and_within_its_limit() {
        let config = Config {
            strategy: Some(Strategy::Mcmc),
            max_gaussians: Some(40),
            sh_degree: Some(0),
            ..Config::UNSET
        };
        let points = cloud(100);
        let start = from_points(&points, &[], &config, 1.0);
        assert_eq!((start.gaussians.len(), start.surplus), (40, 60));
        assert_eq!(start.gaussians.sh.len(), 40);
        assert_eq!(start.gaussians.opacity_logits[0], 0.0);
        let all = Config {
            max_gaussians: None,
            ..config
        };
        let adc = from_points(&points, &[], &Config::UNSET, 1.0);
        let mcmc = from_points(&points, &[], &all, 1.0);
        assert!((scale(&mcmc, 5) / scale(&adc, 5) - 0.1).abs() < 1e-6);
    }
}
