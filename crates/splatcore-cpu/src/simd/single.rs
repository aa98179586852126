//! One lane: lets a kernel's formula serve single values too.

use super::{EXP2, Lanes};

impl Lanes for f32 {
    const WIDTH: usize = 1;
    type Mask = bool;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn load(slice: &[f32]) -> Self {
        slice[0]
    }
    #[inline(always)]
    fn store(self, slice: &mut [f32]) {
        slice[0] = self;
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    #[inline(always)]
    fn div(self, b: Self) -> Self {
        self / b
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        if self < b { self } else { b }
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        if self > b { self } else { b }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        1.0 / self
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        let x = self.clamp(-126.0, 127.0);
        let whole = x.round_ties_even();
        let f = x - whole;
        let p = EXP2[0] + f * (EXP2[1] + f * (EXP2[2] + f * (EXP2[3] + f * (EXP2[4] + f * EXP2[5]))));
        p * f32::from_bits(((whole as i32 + 127) as u32) << 23)
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        self >= b
    }
    #[inline(always)]
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a && b
    }
    #[inline(always)]
    fn and_not(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a && !b
    }
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        mask
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        mask as u32
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
    #[inline(always)]
    fn transpose(_rows: &mut [Self]) {}
}
