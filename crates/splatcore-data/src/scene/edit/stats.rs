//! [`stats`]: what values the Gaussians of a scene have.

use super::condition::PROPERTIES;
use super::crop::{self, ProposedCrop};
use crate::DataError;
use crate::scene::rows::{Rows, in_pieces};
use serde::Serialize;

/// Columns of a histogram.
const BINS: usize = 32;
/// Percentiles are of so many Gaussians at most, evenly spaced: they are off by a tenth of a
/// percent then, and a large scene needs no memory for them.
const MAX_SAMPLED: usize = 1 << 18;

/// A scene in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Number of Gaussians.
    pub gaussians: usize,
    /// Degree of the spherical harmonics, 0 to 4.
    pub sh_degree: u8,
    /// Each property that `--filter` knows, in its unit.
    pub properties: Vec<PropertyStats>,
    /// A box around what most likely is the scene; none for an empty scene.
    pub crop: Option<ProposedCrop>,
}

/// The values of one property over all Gaussians.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyStats {
    /// Its name.
    pub name: &'static str,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation over the Gaussians.
    pub deviation: f64,
    /// Values below which a share of the Gaussians is.
    pub percentiles: Percentiles,
    /// Gaussians in 32 ranges of equal width from `min` to `max`.
    pub histogram: Vec<u64>,
}

/// Values below which so many percent of the Gaussians are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Percentiles {
    pub p1: f64,
    pub p5: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Percentiles {
    /// Of values in any order, at least one. Between two values the share is interpolated.
    fn of(mut values: Vec<f32>) -> Self {
        values.sort_unstable_by(f32::total_cmp);
        let last = values.len() - 1;
        let at = |percent: f64| {
            let place = percent / 100.0 * last as f64;
            let [low, high] = [place.floor(), place.ceil()].map(|i| f64::from(values[i as usize]));
            low + (high - low) * place.fract()
        };
        Self {
            p1: at(1.0),
            p5: at(5.0),
            p25: at(25.0),
            p50: at(50.0),
            p75: at(75.0),
            p95: at(95.0),
            p99: at(99.0),
        }
    }
}

/// Describes rows, in three passes over them; the properties are none if there is no Gaussian.
///
/// # Errors
/// If the rows cannot be read.
pub fn stats(rows: &dyn Rows) -> Result<Stats, DataError> {
    let names = &PROPERTIES[..14];
    let mut sums = vec![Sum::default(); names.len()];
    let step = rows.len().div_ceil(MAX_SAMPLED).max(1);
    let mut samples = vec![Vec::new(); names.len()];
    in_pieces(rows, |start, piece| {
        for ((sum, sample), (_, property)) in sums.iter_mut().zip(&mut samples).zip(names) {
            for i in 0..piece.len() {
                let value = property.of(piece, i);
                sum.add(value);
                if (start + i).is_multiple_of(step) {
                    sample.push(value as f32);
                }
            }
        }
        Ok::<(), DataError>(())
    })?;
    let mut histograms = vec![vec![0u64; BINS]; names.len()];
    in_pieces(rows, |_, piece| {
        for ((histogram, sum), (_, property)) in histograms.iter_mut().zip(&sums).zip(names) {
            let width = (sum.max - sum.min) / BINS as f64;
            for i in 0..piece.len() {
                // A width of 0 gives NaN, which becomes the first bin.
                let bin = ((property.of(piece, i) - sum.min) / width) as usize;
                histogram[bin.min(BINS - 1)] += 1;
            }
        }
        Ok::<(), DataError>(())
    })?;
    let properties = names.iter().zip(sums).zip(histograms).zip(samples);
    let properties = properties.map(|(((&(name, _), sum), histogram), sample)| PropertyStats {
        name,
        percentiles: Percentiles::of(sample),
        min: sum.min,
        max: sum.max,
        mean: sum.mean,
        deviation: (sum.squares / sum.count).sqrt(),
        histogram,
    });
    let properties: Vec<PropertyStats> = match rows.is_empty() {
        true => Vec::new(),
        false => properties.collect(),
    };
    let middle = |axis: &PropertyStats| [axis.percentiles.p1, axis.percentiles.p99];
    let crop = match properties.first_chunk::<3>() {
        Some(axes) => crop::proposed(rows, axes.each_ref().map(middle))?,
        None => None,
    };
    Ok(Stats {
        gaussians: rows.len(),
        sh_degree: rows.sh_degree(),
        crop,
        properties,
    })
}

/// Welford's running mean and sum of squared distances from the mean, 1962.
#[derive(Clone, Copy)]
struct Sum {
    count: f64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Gaussians;

    #[test]
    fn values_of_a_small_scene() {
        let mut g = Gaussians::zeros(4, 0);
        for (i, x) in [1.0, 2.0, 3.0, 6.0].into_iter().enumerate() {
            g.means[i] = [x, 5.0, 0.0];
        }
        let stats = stats(&g).unwrap();
        let x = &stats.properties[0];
        assert_eq!((x.name, x.min, x.max, x.mean), ("x", 1.0, 6.0, 3.0));
        assert!((x.deviation - 3.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(x.histogram.iter().sum::<u64>(), 4);
        assert_eq!((x.histogram[0], x.histogram[31]), (1, 1));
        // All values equal: one bin, no division by zero.
        let y = &stats.properties[1];
        assert_eq!((y.deviation, y.histogram[0]), (0.0, 4));
        let p = x.percentiles;
        assert_eq!((p.p25, p.p50, p.p75), (1.75, 2.5, 3.75));
        let nothing = super::stats(&Gaussians::empty(0)).unwrap();
        assert!(nothing.properties.is_empty());
    }
}
