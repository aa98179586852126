//! Numbers that a colour model computes with: f32 on the CPU, and pairs of a value and a derivative
//! ([`Dual`]), which differentiate the same text exactly.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// What the formulas of colour models need of a number.
pub trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A constant.
    fn of(value: f64) -> Self;
    /// e to its power.
    fn exp(self) -> Self;
    /// Its natural logarithm.
    fn ln(self) -> Self;
    /// Its whole part; 0 if it is negative or no number.
    fn whole(self) -> usize;
}

/// 0 to 1; the gradient passes at both ends.
pub(super) fn clamped<T: Real>(value: T) -> T {
    let (zero, one) = (T::of(0.0), T::of(1.0));
    if value < zero {
        zero
    } else if value > one {
        one
    } else {
        value
    }
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
    fn exp(self) -> Self {
        f32::exp(self)
    }
    fn ln(self) -> Self {
        f32::ln(self)
    }
    fn whole(self) -> usize {
        self as usize
    }
}

/// A value in f64 and its derivative by some number (forward-mode differentiation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual {
    /// The value.
    pub value: f64,
    /// Its derivative.
    pub slope: f64,
}

impl Dual {
    /// A number by which nothing is differentiated.
    pub fn constant(value: f64) -> Self {
        Self { value, slope: 0.0 }
    }

    /// These numbers, differentiated by the one at a place; by none if the place is beyond them.
    pub fn row(values: &[f64], by: usize) -> Vec<Self> {
        let seeded = values.iter().enumerate().map(|(k, &value)| Self {
            value,
            slope: f64::from(u8::from(k == by)),
        });
        seeded.collect()
    }
}

/// By value.
impl PartialOrd for Dual {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl Add for Dual {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
        }
    }
}

impl Sub for Dual {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            slope: self.slope - other.slope,
        }
    }
}

impl Mul for Dual {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            value: self.value * other.value,
            slope: self.slope * other.value + self.value * other.slope,
        }
    }
}

impl Div for Dual {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self {
            value,
            slope: (self.slope - value * other.slope) / other.value,
        }
    }
}

impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            slope: -self.slope,
        }
    }
}

impl Real for Dual {
    fn of(value: f64) -> Self {
        Self::constant(value)
    }
    fn exp(self) -> Self {
        let value = self.value.exp();
        Self {
            value,
            slope: self.slope * value,
        }
    }
    fn ln(self) -> Self {
        Self {
            value: self.value.ln(),
            slope: self.slope / self.value,
        }
    }
    fn whole(self) -> usize {
        self.value as usize
    }
}
