//! AVX2 with FMA: 8 lanes.

use super::lanes::{Arithmetic, EXP2, Functions, Lanes, Mask, operators};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};

/// Eight f32 in a register.
#[derive(Clone, Copy)]
pub struct F32x8(__m256);

// SAFETY of every block below: values of this type exist only inside functions that `dispatch!`
// made for processors with these instructions; loads and stores check the slice's length first.

operators!(F32x8: Add add _mm256_add_ps, Sub sub _mm256_sub_ps,
    Mul mul _mm256_mul_ps, Div div _mm256_div_ps);

impl Neg for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        unsafe { Self(_mm256_xor_ps(self.0, _mm256_set1_ps(-0.0))) }
    }
}

impl Arithmetic for F32x8 {
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm256_fmadd_ps(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm256_fnmadd_ps(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        unsafe { Self(_mm256_min_ps(self.0, b.0)) }
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        unsafe { Self(_mm256_max_ps(self.0, b.0)) }
    }
}

impl Functions for F32x8 {
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(_mm256_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // 12 bits from the table, then two Newton steps: x (2 - a x).
        unsafe {
            let mut x = _mm256_rcp_ps(self.0);
            for _ in 0..2 {
                let e = _mm256_fnmadd_ps(self.0, x, _mm256_set1_ps(1.0));
                x = _mm256_fmadd_ps(x, e, x);
            }
            Self(x)
        }
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        unsafe {
            let x = _mm256_max_ps(self.0, _mm256_set1_ps(-126.0));
            let whole = _mm256_round_ps::<0x08>(x);
            let f = _mm256_sub_ps(x, whole);
            let p = _mm256_set1_ps(EXP2[5]);
            let p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(EXP2[4]));
            let p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(EXP2[3]));
            let p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(EXP2[2]));
            let p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(EXP2[1]));
            let p = _mm256_fmadd_ps(p, f, _mm256_set1_ps(EXP2[0]));
            let power = _mm256_slli_epi32::<23>(_mm256_add_epi32(
                _mm256_cvtps_epi32(whole),
                _mm256_set1_epi32(127),
            ));
            Self(_mm256_mul_ps(p, _mm256_castsi256_ps(power)))
        }
    }
}

impl Lanes for F32x8 {
    const WIDTH: usize = 8;
    type Mask = Mask8;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(slice: &[f32]) -> Self {
        assert!(slice.len() >= 8);
        unsafe { Self(_mm256_loadu_ps(slice.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, slice: &mut [f32]) {
        assert!(slice.len() >= 8);
        unsafe { _mm256_storeu_ps(slice.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        unsafe { Mask8(_mm256_cmp_ps::<_CMP_GE_OQ>(self.0, b.0)) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        unsafe { Self(_mm256_blendv_ps(no.0, yes.0, mask.0)) }
    }
    #[inline(always)]
    fn where_set(self, mask: Self::Mask) -> Self {
        unsafe { Self(_mm256_and_ps(self.0, mask.0)) }
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        assert!(rows.len() >= 8);
        // Two 4x4 transposes inside each 128-bit half, then the halves change places.
        unsafe {
            let mut t = [_mm256_setzero_ps(); 8];
            for i in 0..2 {
                let (a, b, c, d) = (
                    rows[4 * i].0,
                    rows[4 * i + 1].0,
                    rows[4 * i + 2].0,
                    rows[4 * i + 3].0,
                );
                let ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
                let ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
                let cd_low = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
                let cd_high = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
                t[4 * i] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_low, cd_low));
                t[4 * i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_low, cd_low));
                t[4 * i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(ab_high, cd_high));
                t[4 * i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(ab_high, cd_high));
            }
            for i in 0..4 {
                rows[i] = Self(_mm256_permute2f128_ps::<0x20>(t[i], t[4 + i]));
                rows[4 + i] = Self(_mm256_permute2f128_ps::<0x31>(t[i], t[4 + i]));
            }
        }
    }
}

/// A truth value for each lane of [`F32x8`].
#[derive(Clone, Copy)]
pub struct Mask8(__m256);

impl BitAnd for Mask8 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        unsafe { Self(_mm256_and_ps(self.0, b.0)) }
    }
}

impl Mask for Mask8 {
    const WIDTH: usize = 8;

    #[inline(always)]
    fn and_not(self, b: Self) -> Self {
        unsafe { Self(_mm256_andnot_ps(b.0, self.0)) }
    }
    #[inline(always)]
    fn any(self) -> bool {
        unsafe { _mm256_movemask_ps(self.0) != 0 }
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        unsafe { _mm256_movemask_ps(self.0) as u32 }
    }
}
