//! Halves in plain arithmetic. A finite half is a whole multiple of 2^-24, so the reference adds
//! and multiplies in integers, and rounds by comparing with the middle between two halves.

pub const INFINITY: u16 = 0x7c00;
pub const SIGN: u16 = 0x8000;

pub fn is_nan(half: u16) -> bool {
    half & !SIGN > INFINITY
}

/// A finite half in units of 2^-24.
pub fn units(half: u16) -> i128 {
    let (exponent, fraction) = (half >> 10 & 31, i128::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction,
        _ => (fraction + 0x400) << (exponent - 1),
    };
    if half & SIGN == 0 {
        magnitude
    } else {
        -magnitude
    }
}

pub fn value_of(half: u16) -> f64 {
    let sign = if half & SIGN == 0 { 1.0 } else { -1.0 };
    match half & !SIGN {
        INFINITY => sign * f64::INFINITY,
        magnitude if magnitude > INFINITY => f64::NAN,
        magnitude => sign * units(magnitude) as f64 / f64::from(1 << 24),
    }
}

/// The middle between a half and the next greater one, in units of 2^-25; what would be the next
/// after the last is 65536.
pub fn middle(half: u16) -> i128 {
    let next = if half + 1 == INFINITY {
        1 << 40
    } else {
        units(half + 1)
    };
    units(half) + next
}

/// The half nearest to a magnitude, of two as near the even one.
pub fn nearest<T: PartialOrd>(magnitude: &T, middle: impl Fn(u16) -> T) -> u16 {
    let (mut low, mut high) = (0, INFINITY);
    while low < high {
        let half = (low + high) / 2;
        let middle = middle(half);
        if *magnitude > middle || (*magnitude == middle && half % 2 == 1) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    low
}

pub fn to_half(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = if value.is_sign_negative() { SIGN } else { 0 };
    sign | nearest(&value.abs(), |half| {
        middle(half) as f64 / f64::from(1 << 25)
    })
}

/// What an operation rounds to: `exact` in units of 2^-48 where all operands are finite, else
/// `limit`, which also gives the sign of zero.
pub fn rounded(operands: &[u16], limit: f64, exact: impl Fn() -> i128) -> u16 {
    if operands.iter().any(|half| half & INFINITY == INFINITY) {
        return to_half(limit);
    }
    let exact = exact();
    let negative = if exact == 0 {
        limit.is_sign_negative()
    } else {
        exact < 0
    };
    let sign = if negative { SIGN } else { 0 };
    sign | nearest(&exact.abs(), |half| middle(half) << 23)
}

pub fn same(a: u16, b: u16) -> bool {
    a == b || is_nan(a) && is_nan(b)
}

pub fn through_half(value: f64) -> f64 {
    value_of(to_half(value))
}

/// To nearest, ties away from zero.
pub fn to_tf32(value: f32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let below = f32::from_bits(value.to_bits() & 0xffff_e000);
    let above = f32::from_bits((value.to_bits() & 0xffff_e000) + 0x2000);
    // The next after the last would be 2^128.
    let next = if above.is_finite() {
        f64::from(above)
    } else {
        2f64.powi(128).copysign(value.into())
    };
    let middle = (f64::from(below) + next) / 2.0;
    if f64::from(value).abs() >= middle.abs() {
        above
    } else {
        below
    }
}
