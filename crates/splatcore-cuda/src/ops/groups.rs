//! The groups of a Gaussian's parameters, in the order in which a state holds them.

use splatcore_core::sh;

/// Names of the groups, in order.
pub const GROUPS: [&str; 5] = [
    "means",
    "log scales",
    "rotations",
    "opacities",
    "spherical harmonics",
];
/// Index of the means.
pub const MEANS: usize = 0;
/// Index of the log scales.
pub const LOG_SCALES: usize = 1;
/// Index of the quaternions.
pub const ROTATIONS: usize = 2;
/// Index of the opacity logits.
pub const OPACITIES: usize = 3;
/// Index of the spherical harmonics.
pub const SH: usize = 4;

/// Numbers a row of each group.
pub fn widths(sh_degree: u8) -> [usize; 5] {
    [3, 3, 4, 1, 3 * sh::coefficients(sh_degree)]
}
