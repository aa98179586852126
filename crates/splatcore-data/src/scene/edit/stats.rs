//! [`stats`]: what values the Gaussians of a scene have.

use super::condition::PROPERTIES;
use crate::DataError;
use crate::scene::rows::{Rows, in_pieces};
use serde::Serialize;

/// Columns of a histogram.
const BINS: usize = 32;

/// A scene in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Number of Gaussians.
    pub gaussians: usize,
    /// Degree of the spherical harmonics, 0 to 4.
    pub sh_degree: u8,
    /// Each property that `--filter` knows, in its unit.
    pub properties: Vec<PropertyStats>,
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
    /// Gaussians in 32 ranges of equal width from `min` to `max`.
    pub histogram: Vec<u64>,
}

/// Describes rows, in two passes over them; the properties are none if there is no Gaussian.
///
/// # Errors
/// If the rows cannot be read.
pub fn stats(rows: &dyn Rows) -> Result<Stats, DataError> {
    let names = &PROPERTIES[..14];
    let mut sums = vec![Sum::default(); names.len()];
    in_pieces(rows, |_, piece| {
        for (sum, (_, property)) in sums.iter_mut().zip(names) {
            (0..piece.len()).for_each(|i| sum.add(property.of(piece, i)));
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
    let properties = names.iter().zip(sums).zip(histograms);
    let properties = properties.map(|((&(name, _), sum), histogram)| PropertyStats {
        name,
        min: sum.min,
        max: sum.max,
        mean: sum.mean,
        deviation: (sum.squares / sum.count).sqrt(),
        histogram,
    });
    Ok(Stats {
        gaussians: rows.len(),
        sh_degree: rows.sh_degree(),
        properties: if rows.is_empty() {
            Vec::new()
        } else {
            properties.collect()
        },
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
        assert!(
            super::stats(&Gaussians::empty(0))
                .unwrap()
                .properties
                .is_empty()
        );
    }
}
