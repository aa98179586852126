//! What radial-tangential and fisheye models have in common: one polynomial in a plane.

use super::plane::Plane;

type Point = [f64; 2];

/// A corner of the image is not beyond `max_radius` by roundings of the file.
const SLACK: f64 = 1e-3;
/// On the axis the derivative of an odd power is that at this squared distance from it.
const TINY: f64 = 1e-30;

/// The map of a plane to the real image plane. With s = x² + y², the radial factor g = (1 + sum
/// of `radial[i]` s^(i+1) + sum of `odd[i]` s^(i+1/2)) / (1 + sum of `divisor[i]` s^(i+1)), and m =
/// 1 + `growth[0]` s + `growth[1]` s²:
///
/// ```text
/// x' = g x + m (2 p1 x y + p2 (s + 2 x²)) + s1 s + s2 s²
/// y' = g y + m (2 p2 x y + p1 (s + 2 y²)) + s3 s + s4 s²
/// ```
///
/// then `(x' + skew[0] y', y' + skew[1] x')`. The default leaves every point where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Polynomial {
    /// The plane of x and y.
    pub plane: Plane,
    /// Coefficients of the numerator of g.
    pub radial: [f64; 6],
    /// Those of the odd powers of the distance from the axis in the numerator, from the first one.
    pub odd: [f64; 6],
    /// Coefficients of its denominator.
    pub divisor: [f64; 3],
    /// p1, p2.
    pub tangential: [f64; 2],
    /// Coefficients of m.
    pub growth: [f64; 2],
    /// Thin prism, s1 to s4.
    pub prism: [f64; 4],
    /// Of y' added to x', of x' added to y'.
    pub skew: [f64; 2],
    /// The distance from the axis beyond which the lens forms no image.
    pub max_radius: Option<f64>,
    /// The point is multiplied by g first; the other terms are those of the product.
    pub radial_first: bool,
}

impl Polynomial {
    /// Where a point of the plane goes.
    pub fn bend(&self, at: Point) -> Point {
        let radial = self.radial(square(at)).0;
        match self.radial_first {
            true => self.rest(at.map(|v| v * radial), 1.0),
            false => self.rest(at, radial),
        }
    }

    /// Whether a point of the plane is not beyond `max_radius`.
    pub fn reaches(&self, at: Point) -> bool {
        let within = |most: f64| square(at) <= (most * (1.0 + SLACK)).powi(2);
        self.max_radius.is_none_or(within)
    }

    /// The derivative of [`Polynomial::bend`]: rows are outputs.
    pub fn jacobian(&self, at: Point) -> [[f64; 2]; 2] {
        let (radial, slope) = self.radial(square(at));
        if !self.radial_first {
            return self.rest_jacobian(at, radial, slope);
        }
        let [x, y] = at;
        let first = [
            [radial + 2.0 * x * x * slope, 2.0 * x * y * slope],
            [2.0 * x * y * slope, radial + 2.0 * y * y * slope],
        ];
        let then = self.rest_jacobian(at.map(|v| v * radial), 1.0, 0.0);
        std::array::from_fn(|i| {
            std::array::from_fn(|j| then[i][0] * first[0][j] + then[i][1] * first[1][j])
        })
    }

    /// Inverse of [`Polynomial::bend`] by damped Newton steps from the point itself, to 1e-10;
    /// `None` where there is none, beyond `max_radius`, or where the plane is folded.
    pub fn unbend(&self, target: Point) -> Option<Point> {
        let miss = |a: Point| {
            let b = self.bend(a);
            [b[0] - target[0], b[1] - target[1]]
        };
        let size = |a: Point| a[0].hypot(a[1]);
        let tolerance = 1e-10 * (1.0 + size(target));
        let mut at = target;
        let mut error = miss(at);
        for _ in 0..60 {
            if size(error) <= tolerance * 1e-4 {
                break;
            }
            let j = self.jacobian(at);
            let det = determinant(j);
            if !(det.abs() >= 1e-12 && det.is_finite()) {
                return None;
            }
            let step = [
                (j[1][1] * error[0] - j[0][1] * error[1]) / det,
                (j[0][0] * error[1] - j[1][0] * error[0]) / det,
            ];
            let mut share = 1.0;
            loop {
                let next = [at[0] - share * step[0], at[1] - share * step[1]];
                let next_error = miss(next);
                if size(next_error) < size(error) {
                    (at, error) = (next, next_error);
                    break;
                }
                share *= 0.5;
                if share < 1e-6 {
                    // No step helps: this is the minimum, or rounding.
                    return (size(error) <= tolerance).then_some(at);
                }
            }
        }
        let unfolded = determinant(self.jacobian(at)) > 0.0;
        (unfolded && self.reaches(at) && size(error) <= tolerance).then_some(at)
    }

    /// The largest distance from the axis, up to `limit`, at which points further out still land
    /// further out, by the radial factor alone.
    pub fn fold(&self, limit: f64) -> f64 {
        const STEPS: usize = 128;
        let grows = |r: f64| {
            let (radial, slope) = self.radial(r * r);
            radial > 0.0 && radial + 2.0 * r * r * slope > 0.0
        };
        let step = limit / STEPS as f64;
        let Some(first) = (1..=STEPS).find(|&i| !grows(i as f64 * step)) else {
            return limit;
        };
        let (mut low, mut high) = ((first - 1) as f64 * step, first as f64 * step);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match grows(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// The radial factor at a squared distance from the axis, and its derivative by that square.
    pub fn radial(&self, s: f64) -> (f64, f64) {
        let (even, even_slope) = horner(&self.radial, s);
        let (odd, odd_slope) = odd_powers(&self.odd, s);
        let (above, above_slope) = (even + odd, even_slope + odd_slope);
        let (below, below_slope) = horner(&self.divisor, s);
        let factor = above / below;
        (factor, (above_slope - factor * below_slope) / below)
    }

    /// The denominator of the radial factor.
    pub(super) fn below(&self, s: f64) -> f64 {
        horner(&self.divisor, s).0
    }

    /// All terms but the radial factor, which is given.
    fn rest(&self, [x, y]: Point, radial: f64) -> Point {
        let s = x * x + y * y;
        let ([p1, p2], [s1, s2, s3, s4]) = (self.tangential, self.prism);
        let more = 1.0 + s * (self.growth[0] + s * self.growth[1]);
        let tangential_x = 2.0 * p1 * x * y + p2 * (s + 2.0 * x * x);
        let tangential_y = 2.0 * p2 * x * y + p1 * (s + 2.0 * y * y);
        let bent_x = x * radial + more * tangential_x + s * (s1 + s * s2);
        let bent_y = y * radial + more * tangential_y + s * (s3 + s * s4);
        self.sheared([bent_x, bent_y])
    }

    pub(super) fn sheared(&self, [x, y]: Point) -> Point {
        [x + self.skew[0] * y, y + self.skew[1] * x]
    }

    /// Its derivative; `slope` is that of the radial factor by s.
    pub(super) fn rest_jacobian(&self, [x, y]: Point, radial: f64, slope: f64) -> [[f64; 2]; 2] {
        let s = x * x + y * y;
        let ([p1, p2], [s1, s2, s3, s4]) = (self.tangential, self.prism);
        let [g1, g2] = self.growth;
        let (more, more_slope) = (1.0 + s * (g1 + s * g2), g1 + 2.0 * g2 * s);
        let tangential_x = 2.0 * p1 * x * y + p2 * (s + 2.0 * x * x);
        let tangential_y = 2.0 * p2 * x * y + p1 * (s + 2.0 * y * y);
        // By s, which x and y change by 2x and 2y.
        let of_x = x * slope + more_slope * tangential_x + s1 + 2.0 * s2 * s;
        let of_y = y * slope + more_slope * tangential_y + s3 + 2.0 * s4 * s;
        let cross = more * 2.0 * (p1 * x + p2 * y);
        let row_y = [
            2.0 * x * of_y + cross,
            radial + 2.0 * y * of_y + more * (2.0 * p2 * x + 6.0 * p1 * y),
        ];
        let row_x = [
            radial + 2.0 * x * of_x + more * (2.0 * p1 * y + 6.0 * p2 * x),
            2.0 * y * of_x + cross,
        ];
        let columns = [0, 1].map(|j| self.sheared([row_x[j], row_y[j]]));
        [0, 1].map(|i| [columns[0][i], columns[1][i]])
    }
}

/// 1 + sum of k[i] s^(i+1), and its derivative.
fn horner(k: &[f64], s: f64) -> (f64, f64) {
    let (value, slope) = k.iter().rev().fold((0.0, 0.0), |(value, slope), &k| {
        (k + s * value, value + s * slope)
    });
    (1.0 + s * value, value + s * slope)
}

/// Sum of k[i] s^(i+1/2), and its derivative.
fn odd_powers(k: &[f64; 6], s: f64) -> (f64, f64) {
    let root = s.max(TINY).sqrt();
    let (value, slope) = k.iter().rev().fold((0.0, 0.0), |(value, slope), &k| {
        (k + s * value, value + s * slope)
    });
    (root * value, root * slope + 0.5 * value / root)
}

fn square([x, y]: Point) -> f64 {
    x * x + y * y
}

fn determinant(j: [[f64; 2]; 2]) -> f64 {
    j[0][0] * j[1][1] - j[0][1] * j[1][0]
}
