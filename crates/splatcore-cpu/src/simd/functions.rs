//! Functions of vectors.
//!
//! Closures and `array::map` over vectors stay calls: a closure is compiled without the instruction
//! set of the function it is written in, and then cannot be inlined into it. So kernels use loops
//! and the small functions below.

use super::lanes::{Lanes, Mask};
use std::f32::consts::LOG2_E;

/// A constant in every lane, rounded to f32.
#[inline(always)]
pub fn constant<L: Lanes>(value: f64) -> L {
    L::splat(value as f32)
}

/// Dot product in three dimensions.
#[inline(always)]
pub fn dot3<L: Lanes>(a: &[L; 3], b: &[L; 3]) -> L {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

/// log2(1 + 2^s) within a few units in the last place of 1 (absolute): a guess within 0.09, then
/// two of Halley's steps, each of which cubes the error.
#[inline(always)]
pub(crate) fn log2_one_plus_exp2<L: Lanes>(s: L) -> L {
    let s = s.min(L::splat(100.0)).max(L::splat(-100.0));
    let z = L::splat(1.0) + s.exp2();
    let mut y = s.max(L::splat(0.0)) + s.min(-s).exp2();
    for _ in 0..2 {
        let e = y.exp2();
        y = (L::splat(2.0 * LOG2_E) * (z - e)) / (z + e) + y;
    }
    y
}

/// The next whole number at or above x, for 0 <= x; 4 million and more stay as they are.
#[inline(always)]
pub(crate) fn ceil<L: Lanes>(x: L) -> L {
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    let magic = L::splat(12_582_912.0);
    let rounded = (x + magic) - magic;
    let up = L::splat(1.0).where_set(x.ge(rounded).and_not(rounded.ge(x)));
    L::select(x.ge(L::splat(4e6)), x, rounded + up)
}
