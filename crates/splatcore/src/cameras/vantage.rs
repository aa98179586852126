//! Where the photos of a scene were taken, told by the scene alone.
//!
//! Training makes a Gaussian about as large as what the photos resolve, so that what is farther
//! from the cameras is made of larger ones. Of all places, the sizes of the Gaussians grow with the
//! distance most clearly from where the photos were taken. Around an object, which cameras surround
//! at one distance, they do from nowhere.

use super::surroundings::sampled_of;
use rayon::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::ranked::percentile;

/// So many Gaussians are looked at.
const SAMPLED: usize = 8_000;
const VISIBLE: f32 = 0.1;
/// Fewer say nothing.
const FEWEST: usize = 500;
/// Places along each axis that are tried at first, and how often the step is halved after that.
const PLACES: usize = 13;
const HALVINGS: usize = 4;
/// The box that holds the middle of the Gaussians between these shares is searched, larger by this
/// much of its sides.
const MIDDLE: [f64; 2] = [0.05, 0.95];
const AROUND_IT: f64 = 0.4;
/// Correlations from here on say where photos were taken: corridors, rooms and fronts have 0.4 to
/// 0.8, objects that cameras surround 0.05 to 0.25.
const CLEAR: f64 = 0.4;
/// Of the median distance from the middle: nearer than this, distances say nothing.
const NEAREST: f64 = 0.02;

/// A place from where the sizes of Gaussians grow with their distance.
#[derive(Clone, Copy, Debug)]
pub struct Vantage {
    /// World units.
    pub place: [f64; 3],
    /// The correlation of the logarithms of sizes and distances, -1 to 1.
    pub clarity: f64,
}

impl Vantage {
    /// Photos were taken there, or near.
    pub fn is_clear(&self) -> bool {
        self.clarity >= CLEAR
    }
}

/// The place from where sizes grow with distances most clearly; none of a scene of few Gaussians.
pub fn vantage(scene: &Gaussians) -> Option<Vantage> {
    let seen = Seen::of(scene)?;
    let [low, high] = seen.bounds();
    let side: [f64; 3] = std::array::from_fn(|k| high[k] - low[k]);
    let mut step = side.map(|v| (1.0 + 2.0 * AROUND_IT) * v / (PLACES - 1) as f64);
    let at = |i: usize| -> [f64; 3] {
        let places = [i % PLACES, i / PLACES % PLACES, i / PLACES / PLACES];
        std::array::from_fn(|k| low[k] - AROUND_IT * side[k] + step[k] * places[k] as f64)
    };
    let mut best = seen.clearest((0..PLACES.pow(3)).map(at).collect())?;
    for _ in 0..HALVINGS {
        step = step.map(|v| 0.5 * v);
        let beside = |i: usize| {
            let steps = [i % 3, i / 3 % 3, i / 9].map(|v| v as f64 - 1.0);
            std::array::from_fn(|k| best.place[k] + step[k] * steps[k])
        };
        best = seen.clearest((0..27).map(beside).collect())?;
    }
    Some(best)
}

/// Gaussians that stand for all that are seen.
struct Seen {
    means: Vec<[f64; 3]>,
    /// Logarithms of their largest standard deviations, less the mean, of length 1 together.
    sizes: Vec<f64>,
    /// The square of the least distance that counts.
    nearest: f64,
}

impl Seen {
    fn of(scene: &Gaussians) -> Option<Self> {
        let all = sampled_of(scene, SAMPLED);
        let rows: Vec<usize> = all
            .filter(|&i| sigmoid(scene.opacity_logits[i]) >= VISIBLE)
            .collect();
        if rows.len() < FEWEST {
            return None;
        }
        let largest = |i: &usize| scene.log_scales[*i].into_iter().fold(f32::MIN, f32::max);
        let sizes: Vec<f64> = rows.iter().map(|i| f64::from(largest(i))).collect();
        let means: Vec<[f64; 3]> = rows
            .iter()
            .map(|&i| scene.means[i].map(f64::from))
            .collect();
        let middle: [f64; 3] = std::array::from_fn(|k| share(&means, k, 0.5));
        let mut distances: Vec<f64> = means.iter().map(|m| squared(m, &middle)).collect();
        distances.sort_unstable_by(f64::total_cmp);
        let nearest = NEAREST * NEAREST * distances[distances.len() / 2];
        Some(Self {
            means,
            sizes: normal(sizes)?,
            nearest,
        })
    }

    /// Two corners of the box that holds the middle of the Gaussians.
    fn bounds(&self) -> [[f64; 3]; 2] {
        MIDDLE.map(|at| std::array::from_fn(|k| share(&self.means, k, at)))
    }

    /// The one of some places from where sizes grow with distances most clearly.
    fn clearest(&self, places: Vec<[f64; 3]>) -> Option<Vantage> {
        let clarity = |place: &[f64; 3]| {
            let distance = |m| squared(m, place).max(self.nearest).ln();
            let distances = normal(self.means.iter().map(distance).collect())?;
            let both = distances.iter().zip(&self.sizes);
            Some(both.map(|(a, b)| a * b).sum::<f64>())
        };
        let clarities: Vec<Option<f64>> = places.par_iter().map(clarity).collect();
        let known = places.into_iter().zip(clarities);
        known
            .filter_map(|(place, clarity)| {
                let clarity = clarity?;
                Some(Vantage { place, clarity })
            })
            .max_by(|a, b| a.clarity.total_cmp(&b.clarity))
    }
}

/// Values less their mean, of length 1 together; none if they are all the same.
fn normal(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|v| *v -= mean);
    let length = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    values.iter_mut().for_each(|v| *v /= length);
    (length > 1e-9 && length.is_finite()).then_some(values)
}

/// The coordinate below which a share of points lies.
fn share(points: &[[f64; 3]], axis: usize, share: f64) -> f64 {
    percentile(points.iter().map(|p| p[axis]), share).unwrap_or(0.0)
}

fn squared(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    /// Gaussians at random places of a corridor along x, of sizes that `size` gives for a distance
    /// from a place in it.
    fn corridor(place: [f64; 3], size: impl Fn(f64) -> f64) -> Gaussians {
        let mut rng = Rng::new(8, 0);
        let mut scene = Gaussians::zeros(4000, 0);
        for i in 0..scene.len() {
            let [x, y, z] = [0; 3].map(|_| 2.0 * rng.uniform() - 1.0);
            // On one of four walls.
            let wall = if i % 2 == 0 {
                [y.signum(), z]
            } else {
                [y, z.signum()]
            };
            scene.means[i] = [8.0 * x, wall[0], wall[1]];
            let distance = squared(&scene.means[i].map(f64::from), &place).sqrt();
            scene.log_scales[i] = [(size(distance).ln() as f32) + 0.6 * rng.normal(); 3];
        }
        scene.opacity_logits.fill(2.0);
        scene
    }

    #[test]
    fn what_is_far_is_larger_from_where_the_photos_were_taken() {
        for x in [-6.0, 0.0, 5.0] {
            let place = [x, 0.3, -0.2];
            let found = vantage(&corridor(place, |distance| 0.01 * distance)).unwrap();
            let off = squared(&found.place, &place).sqrt();
            assert!(off < 0.8 && found.clarity > 0.5, "{off} {found:?}");
        }
        // As if cameras had been everywhere.
        let found = vantage(&corridor([0.0; 3], |_| 0.01)).unwrap();
        assert!(found.clarity < 0.2, "{found:?}");
        assert!(vantage(&Gaussians::zeros(10, 0)).is_none());
        let mut equal = corridor([0.0; 3], |_| 0.01);
        equal.log_scales.fill([-3.0; 3]);
        assert!(vantage(&equal).is_none());
    }
}
