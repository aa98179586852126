//! AVX-512: 16 lanes.

use super::lanes::{Arithmetic, EXP2, Functions, Lanes, Mask, operators};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};

/// Sixteen f32 in a register.
#[derive(Clone, Copy)]
pub struct F32x16(__m512);

// SAFETY of every block below: values of this type exist only inside functions that `dispatch!`
// made for processors with these instructions; loads and stores check the slice's length first.

operators!(F32x16: Add add _mm512_add_ps, Sub sub _mm512_sub_ps,
    Mul mul _mm512_mul_ps, Div div _mm512_div_ps);

impl Neg for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        unsafe { Self(_mm512_xor_ps(self.0, _mm512_set1_ps(-0.0))) }
    }
}

impl Arithmetic for F32x16 {
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm512_fmadd_ps(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm512_fnmadd_ps(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        unsafe { Self(_mm512_min_ps(self.0, b.0)) }
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        unsafe { Self(_mm512_max_ps(self.0, b.0)) }
    }
}

impl Functions for F32x16 {
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(_mm512_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn sqrt_above(self) -> Self {
        // The table's relative error is at most 2^-14 = 6.2e-5; the floor keeps 0 * infinity away.
        unsafe {
            let x = _mm512_max_ps(self.0, _mm512_set1_ps(f32::MIN_POSITIVE));
            let r = _mm512_mul_ps(self.0, _mm512_rsqrt14_ps(x));
            Self(_mm512_mul_ps(r, _mm512_set1_ps(1.0001)))
        }
    }
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // 14 bits from the table, then one Newton step: x (2 - a x).
        unsafe {
            let x = _mm512_rcp14_ps(self.0);
            let e = _mm512_fnmadd_ps(self.0, x, _mm512_set1_ps(1.0));
            Self(_mm512_fmadd_ps(x, e, x))
        }
    }
    #[inline(always)]
    fn exp2(self) -> Self {
        unsafe {
            let whole = _mm512_roundscale_ps::<0x08>(self.0);
            let f = _mm512_sub_ps(self.0, whole);
            let p = _mm512_set1_ps(EXP2[5]);
            let p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(EXP2[4]));
            let p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(EXP2[3]));
            let p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(EXP2[2]));
            let p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(EXP2[1]));
            let p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(EXP2[0]));
            Self(_mm512_scalef_ps(p, whole))
        }
    }
}

impl Lanes for F32x16 {
    const WIDTH: usize = 16;
    type Mask = Mask16;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(_mm512_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(slice: &[f32]) -> Self {
        assert!(slice.len() >= 16);
        unsafe { Self(_mm512_loadu_ps(slice.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, slice: &mut [f32]) {
        assert!(slice.len() >= 16);
        unsafe { _mm512_storeu_ps(slice.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn ge(self, b: Self) -> Self::Mask {
        unsafe { Mask16(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, b.0)) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        unsafe { Self(_mm512_mask_blend_ps(mask.0, no.0, yes.0)) }
    }
    #[inline(always)]
    fn where_set(self, mask: Self::Mask) -> Self {
        unsafe { Self(_mm512_maskz_mov_ps(mask.0, self.0)) }
    }
    #[inline(always)]
    fn transpose(rows: &mut [Self]) {
        assert!(rows.len() >= 16);
        // Four 4x4 transposes inside each 128-bit quarter, then a 4x4 transpose of the quarters.
        unsafe {
            let mut t = [_mm512_setzero_ps(); 16];
            for i in 0..4 {
                let (a, b, c, d) = (
                    rows[4 * i].0,
                    rows[4 * i + 1].0,
                    rows[4 * i + 2].0,
                    rows[4 * i + 3].0,
                );
                let ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
                let ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
                let cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
                let cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
                t[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low));
                t[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low));
                t[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high));
                t[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high));
            }
            for i in 0..4 {
                let even_low = _mm512_shuffle_f32x4::<0x88>(t[i], t[4 + i]);
                let odd_low = _mm512_shuffle_f32x4::<0xdd>(t[i], t[4 + i]);
                let even_high = _mm512_shuffle_f32x4::<0x88>(t[8 + i], t[12 + i]);
                let odd_high = _mm512_shuffle_f32x4::<0xdd>(t[8 + i], t[12 + i]);
                rows[i] = Self(_mm512_shuffle_f32x4::<0x88>(even_low, even_high));
                rows[8 + i] = Self(_mm512_shuffle_f32x4::<0xdd>(even_low, even_high));
                rows[4 + i] = Self(_mm512_shuffle_f32x4::<0x88>(odd_low, odd_high));
                rows[12 + i] = Self(_mm512_shuffle_f32x4::<0xdd>(odd_low, odd_high));
            }
        }
    }
}

/// A truth value for each lane of [`F32x16`].
#[derive(Clone, Copy)]
pub struct Mask16(__mmask16);

impl BitAnd for Mask16 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, b: Self) -> Self {
        Self(self.0 & b.0)
    }
}

impl Mask for Mask16 {
    const WIDTH: usize = 16;

    #[inline(always)]
    fn and_not(self, b: Self) -> Self {
        Self(self.0 & !b.0)
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0 != 0
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        self.0 as u32
    }
    #[inline(always)]
    fn write_set(self, first: u32, list: &mut [u32]) -> usize {
        assert!(list.len() >= 16);
        unsafe {
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
            _mm512_storeu_si512(
                list.as_mut_ptr().cast(),
                _mm512_maskz_compress_epi32(self.0, numbers),
            );
        }
        self.0.count_ones() as usize
    }
}
