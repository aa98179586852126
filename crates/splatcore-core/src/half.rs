//! Half-precision numbers, as files hold them.

/// The value of the 16 bits of an IEEE 754 half-precision number.
pub fn half(bits: u16) -> f32 {
    let fraction = f32::from(bits & 0x3ff);
    let size = match bits >> 10 & 31 {
        0 => fraction * (-24.0f32).exp2(),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1024.0 + fraction) * (f32::from(exponent) - 25.0).exp2(),
    };
    if bits & 0x8000 != 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        let cases = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3c00, 1.0),
            (0x3555, 0.333_251_95),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#06x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
