//! Real spherical harmonics, in the order and with the signs of INRIA's 3DGS.

mod rotation;

pub use rotation::Rotation;

/// Highest degree that is rendered and trained.
pub const MAX_DEGREE: u8 = 3;
/// Highest degree that a scene file may hold.
pub const MAX_STORED_DEGREE: u8 = 4;

/// Coefficients a channel for a degree: `(degree + 1)²`.
pub const fn coefficients(degree: u8) -> usize {
    (degree as usize + 1) * (degree as usize + 1)
}

/// Degree 0.
pub const C0: f64 = 0.282_094_791_773_878_14;
/// Degree 1.
pub const C1: f64 = 0.488_602_511_902_919_9;
/// Degree 2.
pub const C2: [f64; 5] = [
    1.092_548_430_592_079_2,
    -1.092_548_430_592_079_2,
    0.315_391_565_252_520_05,
    -1.092_548_430_592_079_2,
    0.546_274_215_296_039_6,
];
/// Degree 3.
pub const C3: [f64; 7] = [
    -0.590_043_589_926_643_5,
    2.890_611_442_640_554,
    -0.457_045_799_464_465_8,
    0.373_176_332_590_115_4,
    -0.457_045_799_464_465_8,
    1.445_305_721_320_277,
    -0.590_043_589_926_643_5,
];

/// Degree 4.
pub const C4: [f64; 9] = [
    2.503_342_941_796_704_6,
    -1.770_130_769_779_930_4,
    0.946_174_695_757_560_1,
    -0.669_046_543_557_289_2,
    0.105_785_546_915_204_31,
    -0.669_046_543_557_289_2,
    0.473_087_347_878_780_04,
    -1.770_130_769_779_930_4,
    0.625_835_735_449_176_1,
];

/// The 16 basis functions up to degree 3 at a unit direction (from the camera to the Gaussian,
/// world axes).
/// Entries above the wanted degree may be ignored.
pub fn basis(direction: [f64; 3]) -> [f64; 16] {
    let [x, y, z] = direction;
    let (xx, yy, zz) = (x * x, y * y, z * z);
    [
        C0,
        -C1 * y,
        C1 * z,
        -C1 * x,
        C2[0] * x * y,
        C2[1] * y * z,
        C2[2] * (2.0 * zz - xx - yy),
        C2[3] * x * z,
        C2[4] * (xx - yy),
        C3[0] * y * (3.0 * xx - yy),
        C3[1] * x * y * z,
        C3[2] * y * (4.0 * zz - xx - yy),
        C3[3] * z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
        C3[4] * x * (4.0 * zz - xx - yy),
        C3[5] * z * (xx - yy),
        C3[6] * x * (xx - 3.0 * yy),
    ]
}

/// Derivatives of [`basis`] with respect to x, y and z, as polynomials (the direction's length
/// is not held).
pub fn basis_gradient(direction: [f64; 3]) -> [[f64; 3]; 16] {
    let [x, y, z] = direction;
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (c1, c2, c3) = (C1, C2, C3);
    let times = |c: f64, v: [f64; 3]| v.map(|v| c * v);
    [
        [0.0; 3],
        [0.0, -c1, 0.0],
        [0.0, 0.0, c1],
        [-c1, 0.0, 0.0],
        times(c2[0], [y, x, 0.0]),
        times(c2[1], [0.0, z, y]),
        times(c2[2], [-2.0 * x, -2.0 * y, 4.0 * z]),
        times(c2[3], [z, 0.0, x]),
        times(c2[4], [2.0 * x, -2.0 * y, 0.0]),
        times(c3[0], [6.0 * x * y, 3.0 * xx - 3.0 * yy, 0.0]),
        times(c3[1], [y * z, x * z, x * y]),
        times(c3[2], [-2.0 * x * y, 4.0 * zz - xx - 3.0 * yy, 8.0 * y * z]),
        times(
            c3[3],
            [-6.0 * x * z, -6.0 * y * z, 6.0 * zz - 3.0 * xx - 3.0 * yy],
        ),
        times(c3[4], [4.0 * zz - 3.0 * xx - yy, -2.0 * x * y, 8.0 * x * z]),
        times(c3[5], [2.0 * x * z, -2.0 * y * z, xx - yy]),
        times(c3[6], [3.0 * xx - 3.0 * yy, -6.0 * x * y, 0.0]),
    ]
}

/// The nine basis functions of degree 4 at a unit direction, as [`basis`].
pub fn basis_4(direction: [f64; 3]) -> [f64; 9] {
    let [x, y, z] = direction;
    let (xx, yy, zz) = (x * x, y * y, z * z);
    [
        C4[0] * x * y * (xx - yy),
        C4[1] * y * z * (3.0 * xx - yy),
        C4[2] * x * y * (7.0 * zz - 1.0),
        C4[3] * y * z * (7.0 * zz - 3.0),
        C4[4] * (zz * (35.0 * zz - 30.0) + 3.0),
        C4[5] * x * z * (7.0 * zz - 3.0),
        C4[6] * (xx - yy) * (7.0 * zz - 1.0),
        C4[7] * x * z * (xx - 3.0 * yy),
        C4[8] * (xx * (xx - 3.0 * yy) - yy * (3.0 * xx - yy)),
    ]
}

/// The degree-0 coefficient that gives a colour in [0, 1].
pub fn from_colour(colour: f32) -> f32 {
    ((colour as f64 - 0.5) / C0) as f32
}

/// The colour that a degree-0 coefficient gives, before the clamp at 0.
pub fn to_colour(coefficient: f32) -> f32 {
    (coefficient as f64 * C0 + 0.5) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions are orthonormal over the sphere: a product integrates to 1 or 0.
    #[test]
    fn basis_is_orthonormal() {
        let (rows, columns) = (200, 200);
        let mut gram = [[0.0; 25]; 25];
        for r in 0..rows {
            let z = -1.0 + (r as f64 + 0.5) * 2.0 / rows as f64;
            let s = (1.0 - z * z).sqrt();
            for c in 0..columns {
                let phi = (c as f64 + 0.5) * std::f64::consts::TAU / columns as f64;
                let direction = [s * phi.cos(), s * phi.sin(), z];
                let b = [&basis(direction)[..], &basis_4(direction)].concat();
                for i in 0..25 {
                    for j in 0..25 {
                        gram[i][j] +=
                            b[i] * b[j] * 4.0 * std::f64::consts::PI / (rows * columns) as f64;
                    }
                }
            }
        }
        for i in 0..25 {
            for j in 0..25 {
                let want = if i == j { 1.0 } else { 0.0 };
                assert!((gram[i][j] - want).abs() < 1e-3, "{i} {j}: {}", gram[i][j]);
            }
        }
    }
}
