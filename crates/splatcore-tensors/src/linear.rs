//! Matrices of two and three rows, row by row, and rotations from quaternions.

use crate::Real;

pub(crate) type Vec3<F> = [F; 3];
pub(crate) type Mat2<F> = [[F; 2]; 2];
pub(crate) type Mat23<F> = [[F; 3]; 2];
pub(crate) type Mat3<F> = [[F; 3]; 3];

/// A matrix of zeros.
pub(crate) fn zeros<F: Real, const R: usize, const C: usize>() -> [[F; C]; R] {
    [[F::zero(); C]; R]
}

/// `a b`.
pub(crate) fn mul<F: Real, const R: usize, const K: usize, const C: usize>(
    a: &[[F; K]; R],
    b: &[[F; C]; K],
) -> [[F; C]; R] {
    let mut out = zeros();
    for i in 0..R {
        for j in 0..C {
            for k in 0..K {
                out[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    out
}

/// The transpose.
pub(crate) fn transposed<F: Real, const R: usize, const C: usize>(a: &[[F; C]; R]) -> [[F; R]; C] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// `a + b`.
pub(crate) fn add<F: Real, const R: usize, const C: usize>(
    a: &[[F; C]; R],
    b: &[[F; C]; R],
) -> [[F; C]; R] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + b[i][j]))
}

/// `a v`.
pub(crate) fn apply<F: Real>(a: &Mat3<F>, v: &Vec3<F>) -> Vec3<F> {
    a.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// The gradients of `a v aᵀ` with respect to `a` and `v`, for the gradient `g` of the product:
/// `g a vᵀ + gᵀ a v` and `aᵀ g a`. No matrix needs to be symmetric.
pub(crate) fn sandwich_backward<F: Real, const R: usize, const C: usize>(
    a: &[[F; C]; R],
    v: &[[F; C]; C],
    g: &[[F; R]; R],
) -> ([[F; C]; R], [[F; C]; C]) {
    let ga = mul(g, a);
    let gta = mul(&transposed(g), a);
    let of_a = add(&mul(&ga, &transposed(v)), &mul(&gta, v));
    (of_a, mul(&transposed(a), &ga))
}

/// The symmetric matrix with this upper triangle (00, 01, 02, 11, 12, 22).
pub(crate) fn from_triangle<F: Real>(t: &[F]) -> Mat3<F> {
    [[t[0], t[1], t[2]], [t[1], t[3], t[4]], [t[2], t[4], t[5]]]
}

/// The gradient of an upper triangle from that of the symmetric matrix.
pub(crate) fn triangle_gradient<F: Real>(g: &Mat3<F>) -> [F; 6] {
    [
        g[0][0],
        g[0][1] + g[1][0],
        g[0][2] + g[2][0],
        g[1][1],
        g[1][2] + g[2][1],
        g[2][2],
    ]
}

/// 1 / |q|; 0 for a quaternion without length, whose rotation is then the identity.
fn inverse_norm<F: Real>(q: &[F]) -> F {
    let square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    match square == F::zero() {
        true => F::zero(),
        false => square.sqrt().recip(),
    }
}

/// The rotation of a quaternion (w, x, y, z) of any length.
pub(crate) fn rotation<F: Real>(q: &[F]) -> Mat3<F> {
    let inverse = inverse_norm(q);
    let [w, x, y, z] = [0, 1, 2, 3].map(|i| q[i] * inverse);
    let (one, two) = (F::one(), F::of(2.0));
    [
        [
            one - two * (y * y + z * z),
            two * (x * y - w * z),
            two * (x * z + w * y),
        ],
        [
            two * (x * y + w * z),
            one - two * (x * x + z * z),
            two * (y * z - w * x),
        ],
        [
            two * (x * z - w * y),
            two * (y * z + w * x),
            one - two * (x * x + y * y),
        ],
    ]
}

/// The gradient of a quaternion from that (`g`) of its [`rotation`].
pub(crate) fn rotation_backward<F: Real>(q: &[F], g: &Mat3<F>) -> [F; 4] {
    let inverse = inverse_norm(q);
    let unit = [0, 1, 2, 3].map(|i| q[i] * inverse);
    let [w, x, y, z] = unit;
    let two = F::of(2.0);
    let of_unit = [
        two * (x * (g[2][1] - g[1][2]) + y * (g[0][2] - g[2][0]) + z * (g[1][0] - g[0][1])),
        two * (w * (g[2][1] - g[1][2]) - two * x * (g[1][1] + g[2][2])
            + y * (g[0][1] + g[1][0])
            + z * (g[0][2] + g[2][0])),
        two * (w * (g[0][2] - g[2][0]) - two * y * (g[0][0] + g[2][2])
            + x * (g[0][1] + g[1][0])
            + z * (g[1][2] + g[2][1])),
        two * (w * (g[1][0] - g[0][1]) - two * z * (g[0][0] + g[1][1])
            + x * (g[0][2] + g[2][0])
            + y * (g[1][2] + g[2][1])),
    ];
    let radial = (0..4).fold(F::zero(), |sum, i| sum + of_unit[i] * unit[i]);
    std::array::from_fn(|i| (of_unit[i] - radial * unit[i]) * inverse)
}

/// The columns of a rotation, each times its factor.
fn scaled<F: Real>(rotation: &Mat3<F>, factors: &Vec3<F>) -> Mat3<F> {
    rotation.map(|row| {
        [
            row[0] * factors[0],
            row[1] * factors[1],
            row[2] * factors[2],
        ]
    })
}

/// `R S Sᵀ Rᵀ` for the diagonal matrix `S` of these factors.
pub(crate) fn covariance<F: Real>(q: &[F], factors: &Vec3<F>) -> Mat3<F> {
    let m = scaled(&rotation(q), factors);
    mul(&m, &transposed(&m))
}

/// The gradients of a quaternion and of the factors from that (`g`) of their [`covariance`].
pub(crate) fn covariance_backward<F: Real>(
    q: &[F],
    factors: &Vec3<F>,
    g: &Mat3<F>,
) -> ([F; 4], Vec3<F>) {
    let r = rotation(q);
    let of_m = mul(&add(g, &transposed(g)), &scaled(&r, factors));
    scaled_backward(q, &r, factors, &of_m)
}

/// The same from that of the [`rotation`]'s columns times the factors.
pub(crate) fn factor_backward<F: Real>(
    q: &[F],
    factors: &Vec3<F>,
    of_m: &Mat3<F>,
) -> ([F; 4], Vec3<F>) {
    scaled_backward(q, &rotation(q), factors, of_m)
}

fn scaled_backward<F: Real>(
    q: &[F],
    r: &Mat3<F>,
    factors: &Vec3<F>,
    of_m: &Mat3<F>,
) -> ([F; 4], Vec3<F>) {
    let of_factors =
        [0, 1, 2].map(|j| r[0][j] * of_m[0][j] + r[1][j] * of_m[1][j] + r[2][j] * of_m[2][j]);
    (rotation_backward(q, &scaled(of_m, factors)), of_factors)
}
