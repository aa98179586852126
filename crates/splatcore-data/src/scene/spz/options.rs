//! How SPZ is written.

use super::axes::Axes;

/// How SPZ is written.
#[derive(Clone, Debug)]
pub struct SpzOptions {
    /// 2, 3 or 4. Version 2 has coarse rotations. Version 4 is smaller and can be read in
    /// parallel, but Spark (2.2.0), which many web pages use, and older programs read gzip only;
    /// version 3 is read by all but PlayCanvas's engine, whose parser reads 4 only.
    pub version: u32,
    /// The axes of the file, which it also names.
    pub axes: Axes,
    /// Bits of a coefficient of degree 1, and of higher degrees, 1 to 8 each. The format has 8;
    /// fewer make the file smaller.
    pub sh_bits: [u8; 2],
}

impl Default for SpzOptions {
    /// What most programs read, rounded as Niantic's library does.
    fn default() -> Self {
        Self {
            version: 3,
            axes: Axes::Rub,
            sh_bits: [5, 4],
        }
    }
}
