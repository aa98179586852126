//! The normal equations of a photo's motion.

use splatcore_core::{Image, Photo};

/// Numbers of a motion.
pub(super) const NUMBERS: usize = 6;
/// Columns of a pixel's equation: the derivatives, then what a photo's exposure may do (the image
/// itself, and one), and the residual.
const COLUMNS: usize = NUMBERS + 3;
const IMAGE: usize = NUMBERS;
const ONE: usize = NUMBERS + 1;
const RESIDUAL: usize = NUMBERS + 2;
/// A residual of so many times the mean counts half: what the scene does not show.
const HALF: f64 = 2.0;
/// A pivot below this share of the largest says nothing.
const NOTHING: f64 = 1e-12;

/// Sums over the pixels that count, a row and a column for each number and the last for the
/// residual, with what each channel's gain and offset explain taken away.
pub(super) struct Normal {
    sums: [[f64; NUMBERS + 1]; NUMBERS + 1],
    weight: f64,
}

type Gram = [[f64; COLUMNS]; COLUMNS];

impl Normal {
    /// Of a photo, its image, and the images for which one number each is larger by `change`.
    pub fn new(photo: &Photo, image: &Image, changed: &[Image], change: f64) -> Self {
        let mut all = Self {
            sums: [[0.0; NUMBERS + 1]; NUMBERS + 1],
            weight: 0.0,
        };
        for channel in 0..3 {
            let row = |i: usize| -> Option<[f64; COLUMNS]> {
                let counts = photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
                counts.then(|| {
                    let value = f64::from(image.data[i][channel]);
                    let mut row = [0.0; COLUMNS];
                    for (to, changed) in row.iter_mut().zip(changed) {
                        *to = (f64::from(changed.data[i][channel]) - value) / change;
                    }
                    row[IMAGE] = value;
                    row[ONE] = 1.0;
                    row[RESIDUAL] = f64::from(photo.rgb[3 * i + channel]) / 255.0 - value;
                    row
                })
            };
            let rows = || (0..image.data.len()).filter_map(row);
            let exposure = exposure(rows());
            let left = |row: &[f64; COLUMNS]| {
                row[RESIDUAL] - exposure[0] * row[IMAGE] - exposure[1] * row[ONE]
            };
            let (sum, count) = rows().fold((0.0, 0.0), |(sum, count), row| {
                (sum + left(&row).abs(), count + 1.0)
            });
            let scale = HALF * sum / f64::max(count, 1.0) + f64::MIN_POSITIVE;
            let mut gram: Gram = [[0.0; COLUMNS]; COLUMNS];
            for row in rows() {
                let weight = 1.0 / (1.0 + (left(&row) / scale).powi(2));
                add(&mut gram, &row, weight);
                all.weight += weight;
            }
            eliminate(&mut gram, IMAGE);
            eliminate(&mut gram, ONE);
            all.take(&gram);
        }
        all
    }

    fn take(&mut self, gram: &Gram) {
        let column = |k: usize| if k == NUMBERS { RESIDUAL } else { k };
        for i in 0..=NUMBERS {
            for j in 0..=NUMBERS {
                self.sums[i][j] += gram[column(i)][column(j)];
            }
        }
    }

    /// The step of the numbers to the most likely ones, where they are `away` from what is expected
    /// and the expectation is off by `expected`, and residuals of `correlated` pixels are one.
    pub fn solve(
        &self,
        away: &[f64; NUMBERS],
        expected: f64,
        correlated: f64,
    ) -> Option<[f64; NUMBERS]> {
        let noise = correlated * self.sums[NUMBERS][NUMBERS] / self.weight.max(1.0);
        let mut system = self.sums;
        let pull = noise / (expected * expected);
        for k in 0..NUMBERS {
            system[k][k] += pull;
            system[k][NUMBERS] -= pull * away[k];
        }
        solved(system)
    }
}

/// Gain and offset that explain most of the residuals, by least squares.
fn exposure(rows: impl Iterator<Item = [f64; COLUMNS]>) -> [f64; 2] {
    let mut gram = [[0.0; 3]; 2];
    for row in rows {
        for (i, from) in [IMAGE, ONE].into_iter().enumerate() {
            for (j, to) in [IMAGE, ONE, RESIDUAL].into_iter().enumerate() {
                gram[i][j] += row[from] * row[to];
            }
        }
    }
    let [[a, b, x], [_, d, y]] = gram;
    let determinant = a * d - b * b;
    match determinant > NOTHING * a * d {
        true => [(x * d - y * b) / determinant, (y * a - x * b) / determinant],
        false => [0.0; 2],
    }
}

fn add(gram: &mut Gram, row: &[f64; COLUMNS], weight: f64) {
    for (sums, from) in gram.iter_mut().zip(row) {
        let from = weight * from;
        for (sum, to) in sums.iter_mut().zip(row) {
            *sum += from * to;
        }
    }
}

/// Takes what a column explains out of all others.
fn eliminate(gram: &mut Gram, column: usize) {
    let pivot = gram[column][column];
    if pivot <= NOTHING {
        return;
    }
    let row = gram[column];
    for sums in gram.iter_mut() {
        let share = sums[column] / pivot;
        for (sum, from) in sums.iter_mut().zip(row) {
            *sum -= share * from;
        }
    }
}

/// The solution of a symmetric positive system, whose right side is its last column; `None` if it
/// is neither.
fn solved(mut system: [[f64; NUMBERS + 1]; NUMBERS + 1]) -> Option<[f64; NUMBERS]> {
    for k in 0..NUMBERS {
        let pivot = system[k];
        if !(pivot[k].is_finite() && pivot[k] > 0.0) {
            return None;
        }
        for i in (0..NUMBERS).filter(|&i| i != k) {
            let share = system[i][k] / pivot[k];
            for (to, from) in system[i].iter_mut().zip(pivot) {
                *to -= share * from;
            }
        }
    }
    let solution = std::array::from_fn(|k| system[k][NUMBERS] / system[k][k]);
    solution
        .iter()
        .all(|v: &f64| v.is_finite())
        .then_some(solution)
}
