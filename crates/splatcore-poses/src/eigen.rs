//! Eigenvalues of small symmetric matrices.

/// Eigenvalues of a symmetric matrix and their vectors: `vectors[k]` is a unit vector of
/// `values[k]`. Cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, section 8.5).
/// Values that are not finite come out as they may.
pub fn symmetric<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    // Rows are the vectors.
    let mut vectors = [[0.0; N]; N];
    for i in 0..N {
        vectors[i][i] = 1.0;
    }
    // It converges quadratically: six sweeps are usual.
    for _ in 0..30 {
        let size: f64 = a.iter().flatten().map(|v| v.abs()).sum();
        let pairs = || (0..N).flat_map(|p| (p + 1..N).map(move |q| (p, q)));
        let off: f64 = pairs().map(|(p, q)| a[p][q].abs()).sum();
        if off <= 1e-15 * size || !size.is_finite() {
            break;
        }
        for (p, q) in pairs() {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..N {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..N {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (vectors[p][k], vectors[q][k]) = (
                    c * vectors[p][k] - s * vectors[q][k],
                    s * vectors[p][k] + c * vectors[q][k],
                );
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    #[test]
    fn vectors_are_stretched_by_their_values() {
        let mut rng = Rng::new(1, 1);
        for _ in 0..100 {
            let mut a = [[0.0; 4]; 4];
            for i in 0..4 {
                for j in 0..=i {
                    a[i][j] = rng.normal() as f64;
                    a[j][i] = a[i][j];
                }
            }
            let (values, vectors) = symmetric(a);
            for (value, v) in values.iter().zip(&vectors) {
                assert!((v.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
                for i in 0..4 {
                    let product: f64 = (0..4).map(|j| a[i][j] * v[j]).sum();
                    assert!((product - value * v[i]).abs() < 1e-12);
                }
            }
        }
        let (values, _) = symmetric([[2.0, 1.0], [1.0, 2.0]]);
        assert!(values.contains(&3.0) || (values[0].max(values[1]) - 3.0).abs() < 1e-15);
        assert_eq!(symmetric([[0.0; 3]; 3]).0, [0.0; 3]);
        symmetric([[f64::NAN; 3]; 3]);
    }
}
