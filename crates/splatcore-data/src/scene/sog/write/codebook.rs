//! Codebooks of 256 values: the one-dimensional k-means problem, solved without iterations.
//!
//! Clusters of an optimal solution are intervals of the sorted values, so dynamic programming finds
//! it (Wang & Song 2011, Ckmeans.1d.dp). The cost of an interval satisfies the quadrangle
//! inequality, so each row of the table takes O(m log m) by divide and conquer. Values are gathered
//! in a histogram first: of a bin, the count and the sum are exact, and only an interval's border
//! falls between bins rather than between values.

/// Entries of a codebook.
pub const ENTRIES: usize = 256;
/// Leading bits of a value's key that tell its bin: sign, exponent and 11 bits of mantissa.
const KEY_BITS: u32 = 20;
/// Points that the dynamic programming takes, if outliers do not make them more.
const POINTS: usize = 8192;
/// The share of values, at each end, whose spread does not widen the bins.
const TAIL: f64 = 1e-3;

/// Counts and sums of values, in bins of a relative width of 2⁻¹¹.
#[derive(Clone)]
pub struct Histogram {
    bins: Vec<(f64, f64)>,
}

/// A bin: weight and mean.
#[derive(Clone, Copy, Debug)]
struct Point {
    weight: f64,
    mean: f64,
}

impl Histogram {
    pub fn new() -> Self {
        Self {
            bins: vec![(0.0, 0.0); 1 << KEY_BITS],
        }
    }

    /// Adds a finite value.
    pub fn add(&mut self, value: f32, weight: f64) {
        let bits = value.to_bits();
        // Keys rise with values: negative floats have their order reversed.
        let key = bits ^ ((bits as i32 >> 31) as u32 | 0x8000_0000);
        let bin = &mut self.bins[(key >> (32 - KEY_BITS)) as usize];
        bin.0 += weight;
        bin.1 += weight * f64::from(value);
    }

    /// The codebook of least square error, rising; with fewer than 256 different values the largest
    /// one is repeated.
    pub fn codebook(&self) -> [f32; ENTRIES] {
        let points = merged(&self.points());
        let mut values: Vec<f32> = intervals(&points)
            .windows(2)
            .map(|ends| mean(&points[ends[0]..ends[1]]).mean as f32)
            .collect();
        let last = values.last().copied().unwrap_or(0.0);
        values.resize(ENTRIES, last);
        std::array::from_fn(|i| values[i])
    }

    fn points(&self) -> Vec<Point> {
        let filled = self.bins.iter().filter(|(weight, _)| *weight > 0.0);
        filled
            .map(|&(weight, sum)| Point {
                weight,
                mean: sum / weight,
            })
            .collect()
    }
}

/// The position of the nearest value of a rising codebook, the lower one of two.
pub fn nearest(codebook: &[f32; ENTRIES], value: f32) -> u8 {
    let above = codebook.partition_point(|&entry| entry < value);
    let below = above.saturating_sub(1);
    let above = above.min(ENTRIES - 1);
    let distance = |i: usize| (f64::from(codebook[i]) - f64::from(value)).abs();
    let best = if distance(above) < distance(below) {
        above
    } else {
        below
    };
    best as u8
}

fn mean(points: &[Point]) -> Point {
    let weight: f64 = points.iter().map(|p| p.weight).sum();
    let sum: f64 = points.iter().map(|p| p.weight * p.mean).sum();
    Point {
        weight,
        mean: sum / weight,
    }
}

/// Joins neighbours nearer than a fraction of the range that nearly all values lie in.
fn merged(points: &[Point]) -> Vec<Point> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let total: f64 = points.iter().map(|p| p.weight).sum();
    let at = |share: f64| {
        let mut below = 0.0;
        let reached = points.iter().find(|p| {
            below += p.weight;
            below >= share * total
        });
        reached.map_or(0.0, |p| p.mean)
    };
    let mut width = (at(1.0 - TAIL) - at(TAIL)) / POINTS as f64;
    loop {
        let mut joined = Vec::with_capacity(POINTS);
        let mut start = 0;
        for i in 1..=points.len() {
            if i == points.len() || points[i].mean - points[start].mean > width {
                joined.push(mean(&points[start..i]));
                start = i;
            }
        }
        // Outliers over many orders of magnitude: wider bins cost little of such an error.
        if joined.len() <= 4 * POINTS {
            return joined;
        }
        width = width.max(f64::MIN_POSITIVE) * 4.0;
    }
}

/// The borders of the optimal intervals, first 0, last the number of points.
fn intervals(points: &[Point]) -> Vec<usize> {
    let n = points.len();
    if n <= ENTRIES {
        return (0..=n).collect();
    }
    let sums = Sums::of(points);
    let mut cost: Vec<f64> = (0..=n).map(|end| sums.cost(0, end)).collect();
    // borders[k][end]: where the last of k + 2 intervals that cover the first `end` points starts.
    let mut borders: Vec<Vec<u32>> = Vec::with_capacity(ENTRIES - 1);
    for _ in 1..ENTRIES {
        let mut row = Row {
            sums: &sums,
            before: &cost,
            cost: vec![0.0; n + 1],
            border: vec![0; n + 1],
        };
        row.fill(1, n, 0, n);
        let Row {
            cost: new, border, ..
        } = row;
        cost = new;
        borders.push(border);
    }
    let mut found = vec![n];
    let mut end = n;
    for border in borders.iter().rev() {
        end = border[end] as usize;
        found.push(end);
    }
    found.push(0);
    found.reverse();
    found.dedup();
    found
}

/// Sums over the first points, of values from whose mean the total mean is taken: less cancels.
struct Sums {
    weight: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    fn of(points: &[Point]) -> Self {
        let centre = mean(points).mean;
        let total = |value: &dyn Fn(&Point) -> f64| {
            let mut sum = 0.0;
            let sums = points.iter().map(|p| {
                sum += value(p);
                sum
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self {
            weight: total(&|p| p.weight),
            first: total(&|p| p.weight * (p.mean - centre)),
            second: total(&|p| p.weight * (p.mean - centre).powi(2)),
        }
    }

    /// The square error of one value for the points `start..end`.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let weight = self.weight[end] - self.weight[start];
        let first = self.first[end] - self.first[start];
        let second = self.second[end] - self.second[start];
        if weight > 0.0 {
            (second - first * first / weight).max(0.0)
        } else {
            0.0
        }
    }
}

/// A row of the table: one interval more than the row before.
struct Row<'a> {
    sums: &'a Sums,
    before: &'a [f64],
    cost: Vec<f64>,
    border: Vec<u32>,
}

impl Row<'_> {
    /// Fills the ends `low..=high`, whose borders lie in `from..=to`.
    fn fill(&mut self, low: usize, high: usize, from: usize, to: usize) {
        let end = low + (high - low) / 2;
        let mut best = (f64::INFINITY, from);
        for start in from..=to.min(end) {
            let cost = self.before[start] + self.sums.cost(start, end);
            if cost < best.0 {
                best = (cost, start);
            }
        }
        self.cost[end] = best.0;
        self.border[end] = best.1 as u32;
        if low < end {
            self.fill(low, end - 1, from, best.1);
        }
        if end < high {
            self.fill(end + 1, high, best.1, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn error(codebook: &[f32; ENTRIES], values: &[f32]) -> f64 {
        let square = |v: &f32| f64::from(codebook[nearest(codebook, *v) as usize] - v).powi(2);
        values.iter().map(square).sum::<f64>() / values.len() as f64
    }

    fn codebook_of(values: &[f32]) -> [f32; ENTRIES] {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&v| histogram.add(v, 1.0));
        histogram.codebook()
    }

    /// Lloyd's algorithm from the quantiles, the usual way, on the values themselves.
    fn lloyd(values: &[f32]) -> [f32; ENTRIES] {
        let mut sorted = values.to_vec();
        sorted.sort_by(f32::total_cmp);
        let mut codebook: [f32; ENTRIES] =
            std::array::from_fn(|i| sorted[(2 * i + 1) * sorted.len() / (2 * ENTRIES)]);
        for _ in 0..200 {
            let mut sums = [(0.0f64, 0.0f64); ENTRIES];
            for &v in values {
                let sum = &mut sums[nearest(&codebook, v) as usize];
                *sum = (sum.0 + 1.0, sum.1 + f64::from(v));
            }
            for (entry, (count, sum)) in codebook.iter_mut().zip(sums) {
                if count > 0.0 {
                    *entry = (sum / count) as f32;
                }
            }
        }
        codebook
    }

    #[test]
    fn few_values_are_kept_exactly() {
        let values: Vec<f32> = (0..200).map(|i| (i as f32 - 70.0) * 0.37).collect();
        let codebook = codebook_of(&values);
        assert_eq!(error(&codebook, &values), 0.0);
        assert!(codebook.is_sorted());
        assert_eq!(codebook_of(&[]), [0.0; ENTRIES]);
        assert_eq!(codebook_of(&[-3.5; 9]), [-3.5; ENTRIES]);
    }

    /// Of evenly spread values the optimum is known: cells of equal width w, error w²/12.
    #[test]
    fn the_optimum_of_even_values_is_reached() {
        let n = 200_000;
        let values: Vec<f32> = (0..n).map(|i| 3.0 + 2.0 * i as f32 / n as f32).collect();
        let optimum = (2.0f64 / 256.0).powi(2) / 12.0;
        let ratio = error(&codebook_of(&values), &values) / optimum;
        assert!((0.999..1.01).contains(&ratio), "{ratio}");
    }

    #[test]
    fn lloyd_is_not_better() {
        let mut rng = Rng::new(1, 0);
        let values: Vec<f32> = (0..60_000)
            .map(|i| rng.normal() * if i % 50 == 0 { 40.0 } else { 1.0 } - 4.0)
            .collect();
        let (ours, usual) = (codebook_of(&values), lloyd(&values));
        let ratio = error(&ours, &values) / error(&usual, &values);
        assert!(ratio < 1.002, "{ratio}");
    }

    #[test]
    fn extremes_get_entries_of_their_own() {
        let mut rng = Rng::new(2, 0);
        let mut values: Vec<f32> = (0..10_000).map(|_| rng.normal()).collect();
        values.extend([f32::MAX, f32::MIN, 1e30, 0.0, -0.0, f32::MIN_POSITIVE]);
        let codebook = codebook_of(&values);
        assert!(codebook.is_sorted() && codebook.iter().all(|v| v.is_finite()));
        assert_eq!((codebook[0], codebook[255]), (f32::MIN, f32::MAX));
        // Values over all orders of magnitude.
        let spread: Vec<f32> = (0..400_000u32)
            .map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761)))
            .filter(|v| v.is_finite())
            .collect();
        assert!(codebook_of(&spread).iter().all(|v| v.is_finite()));
    }

    #[test]
    fn the_nearest_entry_is_found() {
        let codebook: [f32; ENTRIES] = std::array::from_fn(|i| i as f32);
        for (value, want) in [
            (-9.0, 0),
            (0.4, 0),
            (0.6, 1),
            (7.5, 7),
            (254.9, 255),
            (1e9, 255),
        ] {
            assert_eq!(nearest(&codebook, value), want, "{value}");
        }
    }
}
