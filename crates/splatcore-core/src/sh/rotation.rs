//! Turning spherical harmonics with the scene.

use super::{MAX_STORED_DEGREE, basis, basis_4, coefficients};

/// Nodes and weights of Gauss and Legendre's rule with five nodes, exact to degree 9 on [-1, 1].
const NODES: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];
/// Equally spaced longitudes: exact for trigonometric polynomials to degree 9.
const LONGITUDES: usize = 10;

/// Coefficients up to degree 4.
const ALL: usize = coefficients(MAX_STORED_DEGREE);

/// What a rotation of the scene does to spherical harmonics: a matrix for each degree.
///
/// A colour c(d) = Σ c_k Y_k(d) becomes c(Rᵀ d), whose coefficients are
/// c'_j = Σ_k c_k ∫ Y_j(d) Y_k(Rᵀ d) dd over functions of one degree. The integral is computed by a
/// quadrature that is exact for products of degree 8.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// `[j][k]`, zero where j and k are of different degrees.
    matrix: Box<[[f64; ALL]; ALL]>,
}

impl Rotation {
    /// The matrices of the rotation `r`, `[row][column]`, which maps old world axes to new ones. A
    /// reflection (determinant -1) works too.
    pub fn new(r: [[f64; 3]; 3]) -> Self {
        let mut matrix = Box::new([[0.0; ALL]; ALL]);
        for (z, weight) in NODES {
            let s = (1.0 - z * z).sqrt();
            for longitude in 0..LONGITUDES {
                let phi = (longitude as f64 + 0.5) * std::f64::consts::TAU / LONGITUDES as f64;
                let d = [s * phi.cos(), s * phi.sin(), z];
                let before = std::array::from_fn(|c| (0..3).map(|row| r[row][c] * d[row]).sum());
                let (to, from) = (all(d), all(before));
                let area = weight * std::f64::consts::TAU / LONGITUDES as f64;
                for degree in 1..=MAX_STORED_DEGREE {
                    let band = coefficients(degree - 1)..coefficients(degree);
                    for j in band.clone() {
                        for k in band.clone() {
                            matrix[j][k] += area * to[j] * from[k];
                        }
                    }
                }
            }
        }
        Self { matrix }
    }

    /// Rotates one Gaussian's coefficients, `[(degree + 1)²][3]` with a degree of 0 to 4.
    pub fn apply(&self, sh: &mut [[f32; 3]]) {
        let mut before = [[0.0; 3]; ALL];
        for (to, from) in before.iter_mut().zip(&*sh) {
            *to = from.map(f64::from);
        }
        for degree in 1..=MAX_STORED_DEGREE {
            let band = coefficients(degree - 1)..coefficients(degree);
            if band.end > sh.len() {
                break;
            }
            for j in band.clone() {
                sh[j] = std::array::from_fn(|channel| {
                    let terms = band.clone().map(|k| self.matrix[j][k] * before[k][channel]);
                    terms.sum::<f64>() as f32
                });
            }
        }
    }
}

/// The basis functions to degree 4.
fn all(direction: [f64; 3]) -> [f64; ALL] {
    let mut values = [0.0; ALL];
    values[..16].copy_from_slice(&basis(direction));
    values[16..].copy_from_slice(&basis_4(direction));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(axis: [f64; 3], angle: f64) -> [[f64; 3]; 3] {
        let length = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        let [x, y, z] = axis.map(|v| v / length);
        let (s, c) = angle.sin_cos();
        let t = 1.0 - c;
        [
            [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
        ]
    }

    fn colour(sh: &[[f32; 3]], d: [f64; 3]) -> [f64; 3] {
        let values = all(d);
        std::array::from_fn(|c| {
            let terms = sh.iter().zip(values).map(|(k, v)| f64::from(k[c]) * v);
            terms.sum()
        })
    }

    /// The colour seen from a rotated direction is the colour seen before.
    #[test]
    fn colours_turn_with_the_scene() {
        let mut rng = crate::random::Rng::new(3, 0);
        for degree in 0..=MAX_STORED_DEGREE {
            let sh: Vec<[f32; 3]> = (0..coefficients(degree))
                .map(|_| std::array::from_fn(|_| rng.uniform() - 0.5))
                .collect();
            let mut r = turn([1.0, -2.0, 0.5], 1.1);
            if degree % 2 == 1 {
                r[0] = r[0].map(|v| -v);
            }
            let mut turned = sh.clone();
            Rotation::new(r).apply(&mut turned);
            for _ in 0..20 {
                let d: [f64; 3] = std::array::from_fn(|_| f64::from(rng.uniform()) - 0.5);
                let length = d.iter().map(|v| v * v).sum::<f64>().sqrt();
                let d = d.map(|v| v / length);
                let after = r.map(|row| (0..3).map(|c| row[c] * d[c]).sum::<f64>());
                let (was, is) = (colour(&sh, d), colour(&turned, after));
                for c in 0..3 {
                    assert!(
                        (was[c] - is[c]).abs() < 1e-6,
                        "degree {degree}: {was:?} {is:?}"
                    );
                }
            }
        }
    }
}
