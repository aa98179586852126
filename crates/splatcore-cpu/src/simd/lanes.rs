//! What kernels ask of a vector: [`Lanes`] and the traits that it is made of.

use std::ops::{Add, BitAnd, Div, Mul, Neg, Sub};

/// A vector of f32, one value a lane: memory, comparisons and choices.
pub trait Lanes: Arithmetic + Functions {
    /// Lanes: 4, 8 or 16.
    const WIDTH: usize;
    /// One truth value a lane.
    type Mask: Mask;

    /// The same value in every lane.
    fn splat(value: f32) -> Self;
    /// The first `WIDTH` values of a slice. Panics when it is shorter.
    fn load(slice: &[f32]) -> Self;
    /// Writes the first `WIDTH` values of a slice. Panics when it is shorter.
    fn store(self, slice: &mut [f32]);
    /// `self >= b`; false for NaN.
    fn ge(self, b: Self) -> Self::Mask;
    /// `yes` where set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The value where set, else 0.
    #[inline(always)]
    fn where_set(self, mask: Self::Mask) -> Self {
        Self::select(mask, self, Self::splat(0.0))
    }
    /// Transposes the `WIDTH` x `WIDTH` matrix whose rows are the first `WIDTH` vectors.
    fn transpose(rows: &mut [Self]);
}

/// Arithmetic lane by lane.
pub trait Arithmetic:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// `self * b + c`, fused where the hardware does.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`, fused where the hardware does.
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        c - self * b
    }
    /// Smaller of each pair.
    fn min(self, b: Self) -> Self;
    /// Larger of each pair.
    fn max(self, b: Self) -> Self;
}

/// Operators of two vectors that are one instruction each.
macro_rules! operators {
    ($vector:ident: $($operator:ident $function:ident $instruction:ident),*) => {$(
        impl $operator for $vector {
            type Output = Self;
            #[inline(always)]
            fn $function(self, b: Self) -> Self {
                // SAFETY: as for every block of the file that declares the vector.
                unsafe { Self($instruction(self.0, b.0)) }
            }
        }
    )*};
}
pub(super) use operators;

/// Functions lane by lane.
pub trait Functions: Sized {
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Square root of a value that is not negative, at most 1.0002 times too large and never too
    /// small.
    #[inline(always)]
    fn sqrt_above(self) -> Self {
        self.sqrt()
    }
    /// 1 / self to nearly full precision, for ordinary values away from 0.
    fn reciprocal(self) -> Self;
    /// 2^self within 1e-7 relative; below -126 the result may be 0 or anything up to 2^-126.
    fn exp2(self) -> Self;
}

/// One truth value a lane; `&` is set where both are.
pub trait Mask: Copy + BitAnd<Output = Self> {
    /// Lanes: 4, 8 or 16.
    const WIDTH: usize;

    /// `self` but not `b`.
    fn and_not(self, b: Self) -> Self;
    /// Whether any lane is set.
    fn any(self) -> bool;
    /// Lane i as bit i.
    fn bits(self) -> u32;
    /// Writes `first + lane` for every lane set, in order, to the front of `list`, which must have
    /// room for `WIDTH`; what stands behind them in that room is lost. Returns how many there are.
    #[inline(always)]
    fn write_set(self, first: u32, list: &mut [u32]) -> usize {
        let list = &mut list[..Self::WIDTH];
        let (mut bits, mut count) = (self.bits(), 0);
        while bits != 0 {
            list[count % Self::WIDTH] = first + bits.trailing_zeros();
            count += 1;
            bits &= bits - 1;
        }
        count
    }
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
