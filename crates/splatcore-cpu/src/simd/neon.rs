//! NEON: 4 lanes. Part of every 64-bit Arm processor.

use super::lanes::{Arithmetic, EXP2, Functions, Lanes, Mask, operators};
use std::arch::aarch64::*;
use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};

/// Four f32 in a register.
#[derive(Clone, Copy)]
pub struct F32x4(float32x4_t);

// SAFETY of every block below: NEON is a baseline feature of aarch64; loads and stores check the
// slice's length first.

operators!(F32x4: Add add vaddq_f32, Sub sub vsubq_f32, Mul mul vmulq_f32, Div div vdivq_f32);

impl Neg for F32x4 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        unsafe { Self(vnegq_f32(self.0)) }
    }
}

impl Arithmetic for F32x4 {
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(vfmaq_f32(c.0, self.0, b.0)) }
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        unsafe { Self(vminq_f32(self.0, b.0)) }
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        unsafe { Self(vmaxq_f32(self.0, b.0)) }
    }
}

impl Functions for F32x4 {
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(vsqrtq_f32(self.0)) }
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // Arm's estimate has 8 bits and would need three steps, no faster than the division.
        Self::splat(1.0) / self
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        unsafe {
            let x = vmaxq_f32(self.0, vdupq_n_f32(-126.0));
            let whole = vrndnq_f32(x);
            let f = vsubq_f32(x, whole);
            let p = vdupq_n_f32(EXP2[5]);
            let p = vfmaq_f32(vdupq_n_f32(EXP2[4]), p, f);
            let p = vfmaq_f32(vdupq_n_f32(EXP2[3]), p, f);
            let p = vfmaq_f32(vdupq_n_f32(EXP2[2]), p, f);
            let p = vfmaq_f32(vdupq_n_f32(EXP2[1]), p, f);
            let p = vfmaq_f32(vdupq_n_f32(EXP2[0]), p, f);
            let power = vshlq_n_s32::<23>(vaddq_s32(vcvtnq_s32_f32(whole), vdupq_n_s32(127)));
            Self(vmulq_f32(p, vreinterpretq_f32_s32(power)))
        }
    }
}

impl Lanes for F32x4 {
    const WIDTH: usize = 4;
    type Mask = Mask4;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(vdupq_n_f32(value)) }
    }
    #[inline(always)]
    fn load(slice: &[f32]) -> Self {
        assert!(slice.len() >= 4);
        unsafe { Self(vld1q_f32(slice.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, slice: &mut [f32]) {
        assert!(slice.len() >= 4);
        unsafe { vst1q_f32(slice.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        unsafe { Mask4(vcgeq_f32(self.0, b.0)) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        unsafe { Self(vbslq_f32(mask.0, yes.0, no.0)) }
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        assert!(rows.len() >= 4);
        unsafe {
            let a = vtrnq_f32(rows[0].0, rows[1].0);
            let b = vtrnq_f32(rows[2].0, rows[3].0);
            rows[0] = Self(vcombine_f32(vget_low_f32(a.0), vget_low_f32(b.0)));
            rows[1] = Self(vcombine_f32(vget_low_f32(a.1), vget_low_f32(b.1)));
            rows[2] = Self(vcombine_f32(vget_high_f32(a.0), vget_high_f32(b.0)));
            rows[3] = Self(vcombine_f32(vget_high_f32(a.1), vget_high_f32(b.1)));
        }
    }
}

/// A truth value for each lane of [`F32x4`].
#[derive(Clone, Copy)]
pub struct Mask4(uint32x4_t);

impl BitAnd for Mask4 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        unsafe { Self(vandq_u32(self.0, b.0)) }
    }
}

impl Mask for Mask4 {
    const WIDTH: usize = 4;

    #[inline(always)]
    fn and_not(self, b: Self) -> Self {
        unsafe { Self(vbicq_u32(self.0, b.0)) }
    }
    #[inline(always)]
    fn any(self) -> bool {
        unsafe { vmaxvq_u32(self.0) != 0 }
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        let weights = [1u32, 2, 4, 8];
        unsafe { vaddvq_u32(vandq_u32(self.0, vld1q_u32(weights.as_ptr()))) }
    }
}
