//! Eight lanes in plain Rust, for every processor.

use super::lanes::{Arithmetic, EXP2, Functions, Lanes, Mask};
use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};

/// Eight f32 in an array.
#[derive(Clone, Copy)]
pub struct Portable([f32; 8]);

#[inline(always)]
fn zip(a: Portable, b: Portable, f: impl Fn(f32, f32) -> f32) -> Portable {
    let mut out = [0.0; 8];
    for i in 0..8 {
        out[i] = f(a.0[i], b.0[i]);
    }
    Portable(out)
}

impl Add for Portable {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        zip(self, b, |x, y| x + y)
    }
}

impl Sub for Portable {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        zip(self, b, |x, y| x - y)
    }
}

impl Mul for Portable {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        zip(self, b, |x, y| x * y)
    }
}

impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Portable(self.0.map(|x| -x))
    }
}

impl Div for Portable {
    type Output = Self;
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        zip(self, b, |x, y| x / y)
    }
}

impl Arithmetic for Portable {
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // Not f32::mul_add: without the instruction that is a slow library call.
        self * b + c
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        zip(self, b, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        zip(self, b, |x, y| if x > y { x } else { y })
    }
}

impl Functions for Portable {
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self(self.0.map(|x| 1.0 / x))
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        let mut out = [0.0; 8];
        for i in 0..8 {
            let x = self.0[i].clamp(-126.0, 127.0);
            // Adding and taking away 1.5 * 2^23 rounds to the nearest integer.
            let whole = (x + 12_582_912.0) - 12_582_912.0;
            let f = x - whole;
            let p = EXP2[5];
            let p = p * f + EXP2[4];
            let p = p * f + EXP2[3];
            let p = p * f + EXP2[2];
            let p = p * f + EXP2[1];
            let p = p * f + EXP2[0];
            out[i] = p * f32::from_bits(((whole as i32 + 127) as u32) << 23);
        }
        Self(out)
    }
}

impl Lanes for Portable {
    const WIDTH: usize = 8;
    type Mask = PortableMask;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; 8])
    }
    #[inline(always)]
    fn load(slice: &[f32]) -> Self {
        let mut out = [0.0; 8];
        out.copy_from_slice(&slice[..8]);
        Self(out)
    }
    #[inline(always)]
    fn store(self, slice: &mut [f32]) {
        slice[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        let mut out = [false; 8];
        for i in 0..8 {
            out[i] = self.0[i] >= b.0[i];
        }
        PortableMask(out)
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        let mut out = [0.0; 8];
        for i in 0..8 {
            out[i] = if mask.0[i] { yes.0[i] } else { no.0[i] };
        }
        Self(out)
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        for r in 0..8 {
            for c in 0..r {
                let held = rows[r].0[c];
                rows[r].0[c] = rows[c].0[r];
                rows[c].0[r] = held;
            }
        }
    }
}

/// A truth value for each lane of [`Portable`].
#[derive(Clone, Copy)]
pub struct PortableMask([bool; 8]);

impl BitAnd for PortableMask {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        let mut out = [false; 8];
        for i in 0..8 {
            out[i] = self.0[i] & b.0[i];
        }
        Self(out)
    }
}

impl Mask for PortableMask {
    const WIDTH: usize = 8;

    #[inline(always)]
    fn and_not(self, b: Self) -> Self {
        let mut out = [false; 8];
        for i in 0..8 {
            out[i] = self.0[i] & !b.0[i];
        }
        Self(out)
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().any(|&m| m)
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        (0..8).map(|i| (self.0[i] as u32) << i).sum()
    }
}
