//! Wide f32 arithmetic, chosen at run time.
//!
//! Kernels are written once, generic over [`Lanes`], and marked `#[inline(always)]`. `dispatch!`
//! instantiates a kernel for each instruction set inside a function that has the matching
//! `#[target_feature]`, so that everything inlines into code for that instruction set, and calls
//! the one for a [`Level`].
//!
//! A `Lanes` value exists only inside such a function; that is the safety argument for every
//! intrinsic here.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
pub use avx2::F32x8;
#[cfg(target_arch = "x86_64")]
pub use avx512::F32x16;
#[cfg(target_arch = "aarch64")]
pub use neon::F32x4;
pub use portable::Portable;

use std::ops::{Add, Mul, Neg, Sub};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust on arrays of 8; whatever the compiler makes of it.
    Portable,
    /// 4 lanes, 64-bit Arm.
    Neon,
    /// 8 lanes with fused multiply-add, x86-64.
    Avx2,
    /// 16 lanes (F, BW, DQ, VL), x86-64.
    Avx512,
}

impl Level {
    /// The name that people know.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Neon => "NEON",
            Level::Avx2 => "AVX2+FMA",
            Level::Avx512 => "AVX-512",
        }
    }

    /// Every level that this machine can run, the widest first.
    pub fn available() -> Vec<Level> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("fma")
            {
                levels.push(Level::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Level::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Level::Neon);
        }
        levels.push(Level::Portable);
        levels
    }

    /// The widest that this machine can run.
    pub fn best() -> Level {
        Level::available()[0]
    }
}

/// Name of the widest instruction set that this machine can run.
pub fn detected() -> &'static str {
    Level::best().name()
}

/// A vector of f32, one value a lane.
pub trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// Lanes: 4, 8 or 16.
    const WIDTH: usize;
    /// One truth value a lane.
    type Mask: Copy;

    /// The same value in every lane.
    fn splat(value: f32) -> Self;
    /// The first `WIDTH` values of a slice. Panics when it is shorter.
    fn load(slice: &[f32]) -> Self;
    /// Writes the first `WIDTH` values of a slice. Panics when it is shorter.
    fn store(self, slice: &mut [f32]);
    /// `self * b + c`, fused where the hardware does.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, fused where the hardware does.
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        c - self * b
    }
    /// Quotient.
    fn div(self, b: Self) -> Self;
    /// Smaller of each pair.
    fn min(self, b: Self) -> Self;
    /// Larger of each pair.
    fn max(self, b: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Square root of a value that is not negative, at most 1.0002 times too large and never too
    /// small.
    fn sqrt_above(self) -> Self {
        self.sqrt()
    }
    /// 1 / self to nearly full precision, for ordinary values away from 0.
    fn reciprocal(self) -> Self;
    /// 2^self within 1e-7 relative; below -126 the result may be 0 or anything up to 2^-126.
    fn exp2(self) -> Self;
    /// `self >= b`; false for NaN.
    fn ge(self, b: Self) -> Self::Mask;
    /// Both.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `a` but not `b`.
    fn and_not(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether any lane is set.
    fn any(mask: Self::Mask) -> bool;
    /// Lane i as bit i.
    fn bits(mask: Self::Mask) -> u32;
    /// Writes `first + lane` for every lane set, in order, to the front of `list`, which must have
    /// room for `WIDTH`; what stands behind them in that room is lost. Returns how many there are.
    #[inline(always)]
    fn write_set(mask: Self::Mask, first: u32, list: &mut [u32]) -> usize {
        let list = &mut list[..Self::WIDTH];
        let (mut bits, mut count) = (Self::bits(mask), 0);
        while bits != 0 {
            list[count % Self::WIDTH] = first + bits.trailing_zeros();
            count += 1;
            bits &= bits - 1;
        }
        count
    }
    /// `yes` where set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The value where set, else 0.
    fn where_set(self, mask: Self::Mask) -> Self {
        Self::select(mask, self, Self::splat(0.0))
    }
    /// Transposes the `WIDTH` x `WIDTH` matrix whose rows are the first `WIDTH` vectors.
    fn transpose(rows: &mut [Self]);
}

/// Degree-5 minimax polynomial of 2^x on [-1/2, 1/2], relative error 7.5e-8 (Lawson iteration).
#[allow(clippy::approx_constant)] // Near ln 2, as a minimax coefficient is, but not it.
pub(crate) const EXP2: [f32; 6] = [
    1.000_000_1,
    0.693_147,
    0.240_221_2,
    0.055_507_13,
    0.009_675_541,
    0.001_327_647_2,
];

/// Defines `$name`, which runs the generic kernel `$kernel::<L>` for the lanes of a [`Level`].
///
/// `dispatch! { pub fn name / kernel (argument: Type, ...) }`
macro_rules! dispatch {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident / $kernel:ident ($($arg:ident : $type:ty),* $(,)?)
    ) => {
        $(#[$doc])*
        $vis fn $name(level: $crate::simd::Level, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            #[target_feature(enable = "fma,avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512($($arg: $type),*) {
                $kernel::<$crate::simd::F32x16>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($arg: $type),*) {
                $kernel::<$crate::simd::F32x8>($($arg),*)
            }
            match level {
                // SAFETY: a level is only made by `Level::available`, which asked the processor.
                // Every processor with AVX2 has BMI, LZCNT and POPCNT.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "aarch64")]
                $crate::simd::Level::Neon => $kernel::<$crate::simd::F32x4>($($arg),*),
                _ => $kernel::<$crate::simd::Portable>($($arg),*),
            }
        }
    };
}
pub(crate) use dispatch;

// Closures and `array::map` over vectors stay calls: a closure is compiled without the instruction
// set of the function it is written in, and then cannot be inlined into it. So kernels use loops
// and the small functions below.

/// One vector from each array.
#[inline(always)]
pub fn load_all<L: Lanes, const N: usize>(arrays: &[[f32; 16]; N]) -> [L; N] {
    let mut out = [L::splat(0.0); N];
    for i in 0..N {
        out[i] = L::load(&arrays[i]);
    }
    out
}

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

/// Row numbers, one a lane; only the first `WIDTH` are used.
pub type Rows = [u32; 16];

/// Sets `out[c]`, for `c` in 0..columns, to lane-wise `data[rows[lane] * stride + c]`: reads
/// `WIDTH` rows and transposes them.
#[inline(always)]
pub fn load_columns<L: Lanes>(
    data: &[f32],
    stride: usize,
    rows: &Rows,
    columns: usize,
    out: &mut [L],
) {
    let mut c = 0;
    while c + L::WIDTH <= columns {
        for lane in 0..L::WIDTH {
            out[c + lane] = L::load(&data[rows[lane] as usize * stride + c..]);
        }
        L::transpose(&mut out[c..c + L::WIDTH]);
        c += L::WIDTH;
    }
    let mut lanes = [0.0f32; 16];
    while c < columns {
        for lane in 0..L::WIDTH {
            lanes[lane] = data[rows[lane] as usize * stride + c];
        }
        out[c] = L::load(&lanes);
        c += 1;
    }
}

/// The inverse of [`load_columns`] for the first `lanes` lanes. Overwrites `columns`.
#[inline(always)]
pub fn store_columns<L: Lanes>(
    columns: &mut [L],
    data: &mut [f32],
    stride: usize,
    rows: &Rows,
    lanes: usize,
) {
    let mut c = 0;
    while c + L::WIDTH <= columns.len() {
        L::transpose(&mut columns[c..c + L::WIDTH]);
        for lane in 0..lanes {
            columns[c + lane].store(&mut data[rows[lane] as usize * stride + c..]);
        }
        c += L::WIDTH;
    }
    let mut values = [0.0f32; 16];
    while c < columns.len() {
        columns[c].store(&mut values);
        for lane in 0..lanes {
            data[rows[lane] as usize * stride + c] = values[lane];
        }
        c += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn check<L: Lanes>(failures: &mut Vec<String>) {
        let w = L::WIDTH;
        let a: Vec<f32> = (0..w).map(|i| 0.37 * i as f32 - 2.0).collect();
        let b: Vec<f32> = (0..w).map(|i| 1.5 - 0.21 * i as f32).collect();
        let (va, vb) = (L::load(&a), L::load(&b));
        let mut expect = |name: &str, got: L, want: &dyn Fn(usize) -> f32, tolerance: f32| {
            let mut out = vec![0.0; w];
            got.store(&mut out);
            for i in 0..w {
                let (got, want) = (out[i], want(i));
                let close = (got - want).abs() <= tolerance * want.abs();
                if !close {
                    failures.push(format!("{name} lane {i}: {got} is not {want}"));
                }
            }
        };
        expect("add", va + vb, &|i| a[i] + b[i], 0.0);
        expect("sub", va - vb, &|i| a[i] - b[i], 0.0);
        expect("mul", va * vb, &|i| a[i] * b[i], 0.0);
        expect("neg", -va, &|i| -a[i], 0.0);
        expect("div", va.div(vb), &|i| a[i] / b[i], 1e-7);
        expect("fma", va.mul_add(vb, va), &|i| a[i] * b[i] + a[i], 1e-5);
        expect(
            "fnma",
            va.neg_mul_add(vb, va),
            &|i| a[i] - a[i] * b[i],
            1e-5,
        );
        expect("min", va.min(vb), &|i| a[i].min(b[i]), 0.0);
        expect("max", va.max(vb), &|i| a[i].max(b[i]), 0.0);
        expect("sqrt", (va * va).sqrt(), &|i| (a[i] * a[i]).sqrt(), 1e-7);
        expect(
            "reciprocal",
            (vb + L::splat(4.0)).reciprocal(),
            &|i| 1.0 / (b[i] + 4.0),
            3e-7,
        );
        for scale in [1.0f32, 10.0, 30.0] {
            expect(
                "exp2",
                (va * L::splat(scale)).exp2(),
                &|i| (a[i] * scale).exp2(),
                3e-7,
            );
        }
        let mask = va.ge(vb);
        let upper = va.ge(L::splat(0.5));
        expect(
            "select",
            L::select(mask, va, vb),
            &|i| if a[i] >= b[i] { a[i] } else { b[i] },
            0.0,
        );
        expect(
            "where_set",
            va.where_set(L::and_not(mask, upper)),
            &|i| {
                if a[i] >= b[i] && a[i] < 0.5 {
                    a[i]
                } else {
                    0.0
                }
            },
            0.0,
        );
        let mut rows: Vec<L> = (0..w)
            .map(|r| L::load(&(0..w).map(|c| (r * 100 + c) as f32).collect::<Vec<_>>()))
            .collect();
        L::transpose(&mut rows);
        for (r, row) in rows.into_iter().enumerate() {
            expect("transpose", row, &|c| (c * 100 + r) as f32, 0.0);
        }
        let stride = 19;
        let data: Vec<f32> = (0..stride * 40).map(|i| i as f32).collect();
        let rows: Rows = std::array::from_fn(|lane| (lane * 7 % 40) as u32);
        let mut columns = vec![L::splat(0.0); 18];
        load_columns(&data, stride, &rows, 18, &mut columns);
        for (c, &column) in columns.iter().enumerate() {
            expect(
                "load_columns",
                column,
                &|l| (rows[l] as usize * stride + c) as f32,
                0.0,
            );
        }
        let mut back = vec![-1.0; data.len()];
        store_columns(&mut columns, &mut back, stride, &rows, w - 1);
        for lane in 0..w {
            let row = rows[lane] as usize * stride;
            let same = back[row..row + 18] == data[row..row + 18] && back[row + 18] == -1.0;
            expect(
                "store_columns",
                L::splat(same as u8 as f32),
                &|_| (lane < w - 1) as u8 as f32,
                0.0,
            );
        }
        let want = (0..w)
            .filter(|&i| a[i] >= b[i] && a[i] >= 0.5)
            .map(|i| 1u32 << i)
            .sum::<u32>();
        let mut list = [99; 20];
        let count = L::write_set(mask, 5, &mut list);
        let lanes: Vec<u32> = (0..w)
            .filter(|&i| a[i] >= b[i])
            .map(|i| 5 + i as u32)
            .collect();
        if list[..count] != lanes || list[w..] != [99; 20][w..] {
            failures.push(format!("write_set: {list:?}, {count} of {lanes:?}"));
        }
        if L::bits(L::and(mask, upper)) != want
            || L::any(L::splat(f32::NAN).ge(va))
            || !L::any(va.ge(va))
        {
            failures.push("masks".into());
        }
    }

    dispatch! { fn check_level / check (failures: &mut Vec<String>) }

    #[test]
    fn every_instruction_set_computes_the_same() {
        for level in Level::available() {
            let mut failures = Vec::new();
            check_level(level, &mut failures);
            assert!(failures.is_empty(), "{}: {failures:#?}", level.name());
        }
    }
}
