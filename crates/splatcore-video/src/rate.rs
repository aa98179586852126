//! Frame rates as fractions.

/// Numerator and denominator of a rate: whole ones exactly, those of NTSC as n 1000/1001, others in
/// thousandths.
pub fn fraction(fps: f64) -> (u32, u32) {
    let near = |a: f64| (a - a.round()).abs() < 1e-6 * a && (1.0..1e6).contains(&a);
    let ntsc = fps * 1.001;
    if near(fps) {
        (fps.round() as u32, 1)
    } else if (ntsc - ntsc.round()).abs() < 1e-3 && (1.0..1e6).contains(&ntsc) {
        (ntsc.round() as u32 * 1000, 1001)
    } else {
        ((fps * 1000.0).round().clamp(1.0, 1e9) as u32, 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_rates_are_exact() {
        let rates = [
            (25.0, (25, 1)),
            (29.97, (30000, 1001)),
            (23.976, (24000, 1001)),
            (12.5, (12500, 1000)),
        ];
        for (fps, wanted) in rates {
            assert_eq!(fraction(fps), wanted);
        }
        assert_eq!(fraction(0.25), (250, 1000));
    }
}
