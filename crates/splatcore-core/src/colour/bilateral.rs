//! `bilateral`: what the camera made of a colour is `A rgb + b`, of a matrix that changes smoothly
//! over the photo and with the brightness of the colour: a bilateral grid for each photo.
//!
//! Chen et al. 2007, Real-time Edge-Aware Image Processing with the Bilateral Grid; for radiance
//! fields: Wang et al. 2024, Bilateral Guided Radiance Field Processing. Size, guide, weight of the
//! total variation and rates are those of gsplat's trainer (nerfstudio-project/gsplat, examples).
//!
//! The vertices of the grid span the photo from edge to edge and luma from 0 to 1. A pixel takes
//! its matrix from the 8 vertices about it, linearly along each axis.

use super::model::{Gauge, Model, Places, Rates};
use super::number::{Dual, Real, clamped};

/// Vertices from left to right, from top to bottom, from dark to bright.
pub const VERTICES: [usize; 3] = [16, 16, 8];

/// Numbers of a vertex: the rows of `[A | b]`, one after the other.
const ROWS: usize = 12;
const NUMBERS: usize = VERTICES[0] * VERTICES[1] * VERTICES[2] * ROWS;
/// Steps in a photo's numbers from a vertex to the next along each axis.
const STRIDES: [usize; 3] = [VERTICES[2] * ROWS, VERTICES[0] * VERTICES[2] * ROWS, ROWS];
/// What red, green and blue are of a colour's luma.
const LUMA: [f64; 3] = [0.299, 0.587, 0.114];
/// Weight of the total variation.
const VARIATION: f64 = 10.0;

/// Of every vertex the identity.
static START: [f32; NUMBERS] = {
    let mut numbers = [0.0; NUMBERS];
    let mut at = 0;
    while at < NUMBERS {
        numbers[at] = 1.0;
        numbers[at + 5] = 1.0;
        numbers[at + 10] = 1.0;
        at += ROWS;
    }
    numbers
};

/// Numbers are `[16 from top to bottom][16 from left to right][8 from dark to bright][3][4]`.
pub struct Bilateral;

impl Model for Bilateral {
    const NAME: &'static str = "bilateral";
    const ABOUT: &'static str = "a grid of matrices a photo, over its place and brightness";
    const PHOTO: &'static [f32] = &START;
    const CAMERA: &'static [f32] = &[];
    const FACTORS: usize = NUMBERS;
    const PHOTO_IS_FACTORS: bool = true;
    const PLACES: Places = Places::Sides;
    const GAUGE: Gauge = Gauge::ZeroMean;
    // gsplat's rate is 2e-3 of an Adam that moves every grid in every step. A photo seen once in N
    // steps then moves by about sqrt(N) times this a visit: 0.9 in 30,000 steps of 200 photos. What
    // a visit moves at most was measured: in a short run grids paint what the scene has not learned
    // yet, which total variation does not hinder (docs/log/training-colours.md).
    const RATES: Rates = Rates::Travel {
        photo: 1.0,
        camera: 0.0,
        visit: 0.002,
        photo_from: 0.2,
    };

    fn factors<T: Real>(photo: &[T], _: &[T], factors: &mut [T]) {
        factors.copy_from_slice(photo);
    }

    fn colour<T: Real>(grid: &[T], place: [T; 2], rgb: [T; 3]) -> [T; 3] {
        let [r, g, b] = rgb;
        let rows = Cell::of(place, rgb).sliced(grid);
        [0, 4, 8].map(|k: usize| rows[k] * r + (rows[k + 1] * g + (rows[k + 2] * b + rows[k + 3])))
    }

    fn backward(
        grid: &[f32],
        place: [f32; 2],
        rgb: [f32; 3],
        gradient: [f32; 3],
        sums: &mut [f64],
    ) -> [f32; 3] {
        let cell = Cell::of(place, rgb);
        let with_one = [rgb[0], rgb[1], rgb[2], 1.0];
        let by_rows: [f32; ROWS] = std::array::from_fn(|n| gradient[n / 4] * with_one[n % 4]);
        for (vertex, weight) in cell.vertices() {
            for (sum, by) in sums[vertex..vertex + ROWS].iter_mut().zip(by_rows) {
                *sum += (weight * by) as f64;
            }
        }
        let by_luma = match (0.0..=1.0).contains(&luma(rgb)) {
            false => 0.0,
            true => {
                let products = cell.by_luma(grid).into_iter().zip(by_rows);
                products.map(|(slope, by)| slope * by).sum::<f32>()
            }
        };
        let (rows, g) = (cell.sliced(grid), gradient);
        [0, 1, 2].map(|k: usize| {
            rows[k] * g[0] + (rows[4 + k] * g[1] + (rows[8 + k] * g[2] + LUMA[k] as f32 * by_luma))
        })
    }

    fn expose(photo: &mut [f32], stops: f32) {
        for vertex in photo.chunks_exact_mut(ROWS) {
            for diagonal in [0, 5, 10] {
                vertex[diagonal] = stops.exp2();
            }
        }
    }

    /// The total variation: for each axis the mean of the squared differences of neighbours.
    fn hold(photo: &[f64], gradient: &mut [f64]) -> f64 {
        let mut penalty = 0.0;
        for axis in 0..3 {
            let pairs = NUMBERS / VERTICES[axis] * (VERTICES[axis] - 1);
            let (weight, stride) = (VARIATION / pairs as f64, STRIDES[axis]);
            for at in 0..NUMBERS {
                if at / stride % VERTICES[axis] + 1 == VERTICES[axis] {
                    continue;
                }
                let step = photo[at + stride] - photo[at];
                penalty += weight * step * step;
                gradient[at + stride] += 2.0 * weight * step;
                gradient[at] -= 2.0 * weight * step;
            }
        }
        penalty
    }

    fn factors_at(place: [f64; 2], rgb: [f64; 3]) -> Vec<usize> {
        let cell = Cell::of(place.map(Dual::constant), rgb.map(Dual::constant));
        let of_vertex = |(vertex, _)| vertex..vertex + ROWS;
        cell.vertices().into_iter().flat_map(of_vertex).collect()
    }
}

fn luma<T: Real>([r, g, b]: [T; 3]) -> T {
    let [of_r, of_g, of_b] = LUMA.map(T::of);
    of_r * r + (of_g * g + of_b * b)
}

fn between<T: Real>(from: T, to: T, share: T) -> T {
    from + share * (to - from)
}

/// The cell of the grid that a pixel lies in.
struct Cell<T> {
    /// Place of the first vertex in a photo's numbers.
    first: usize,
    /// How far from it along each axis, in shares of a step.
    beyond: [T; 3],
}

impl<T: Real> Cell<T> {
    fn of([x, y]: [T; 2], rgb: [T; 3]) -> Self {
        let half = T::of(0.5);
        let (mut first, mut beyond) = (0, [half; 3]);
        for (axis, at) in [x + half, y + half, luma(rgb)].into_iter().enumerate() {
            let steps = VERTICES[axis] - 1;
            let position = clamped(at) * T::of(steps as f64);
            let whole = position.whole().min(steps - 1);
            first += whole * STRIDES[axis];
            beyond[axis] = position - T::of(whole as f64);
        }
        Self { first, beyond }
    }

    /// At the middle of each of the four edges from dark to bright: a share of both ends. Exactly
    /// the grid's value where all vertices have one, as at the start.
    fn over_place(&self, of_edge: impl Fn(usize) -> T) -> T {
        let [x, y, _] = self.beyond;
        let row = |at: usize| between(of_edge(at), of_edge(at + STRIDES[0]), x);
        between(row(self.first), row(self.first + STRIDES[1]), y)
    }

    /// The rows of `[A | b]` of a pixel.
    fn sliced(&self, grid: &[T]) -> [T; ROWS] {
        let z = self.beyond[2];
        std::array::from_fn(|n| {
            self.over_place(|at| between(grid[at + n], grid[at + STRIDES[2] + n], z))
        })
    }

    /// Their derivatives by luma.
    fn by_luma(&self, grid: &[T]) -> [T; ROWS] {
        let steps = T::of((VERTICES[2] - 1) as f64);
        std::array::from_fn(|n| {
            steps * self.over_place(|at| grid[at + STRIDES[2] + n] - grid[at + n])
        })
    }

    /// Places of the numbers of the 8 vertices, with their weights.
    fn vertices(&self) -> [(usize, T); 8] {
        std::array::from_fn(|corner| {
            let (mut at, mut weight) = (self.first, T::of(1.0));
            for axis in 0..3 {
                let share = self.beyond[axis];
                weight = weight
                    * match corner >> axis & 1 {
                        0 => T::of(1.0) - share,
                        _ => share,
                    };
                at += (corner >> axis & 1) * STRIDES[axis];
            }
            (at, weight)
        })
    }
}
