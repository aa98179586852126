//! The few products of small matrices that projection needs. Rows first: `a[row][column]`.

/// `A B`.
pub fn product<const I: usize, const J: usize, const K: usize>(
    a: &[[f64; J]; I],
    b: &[[f64; K]; J],
) -> [[f64; K]; I] {
    std::array::from_fn(|i| std::array::from_fn(|k| (0..J).map(|j| a[i][j] * b[j][k]).sum()))
}

/// `A` with rows and columns exchanged.
pub fn transpose<const I: usize, const J: usize>(a: &[[f64; J]; I]) -> [[f64; I]; J] {
    std::array::from_fn(|j| std::array::from_fn(|i| a[i][j]))
}

/// `Aᵀ v`.
pub fn transpose_times<const I: usize, const J: usize>(a: &[[f64; J]; I], v: [f64; I]) -> [f64; J] {
    std::array::from_fn(|j| (0..I).map(|i| a[i][j] * v[i]).sum())
}

/// Inverse of a symmetric matrix given as xx, xy, yy.
pub fn inverse_symmetric([a, b, c]: [f64; 3]) -> [[f64; 2]; 2] {
    let determinant = a * c - b * b;
    [[c, -b], [-b, a]].map(|row| row.map(|v| v / determinant))
}
