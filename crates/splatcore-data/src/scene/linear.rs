//! Parameters as glTF and USD store them: standard deviations and opacities linear, rotations of
//! unit length.

use splatcore_core::Gaussians;

/// The opacity of a logit, rounded once: 1 above a logit of 17, as f32 has nothing between.
pub fn opacity(logit: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(logit)).exp())) as f32
}

/// The standard deviations of a log scale, kept in f32's normal range.
pub fn scale(log_scale: f32) -> f32 {
    (f64::from(log_scale).exp() as f32).clamp(f32::MIN_POSITIVE, f32::MAX)
}

/// Scales of a piece that [`scale`] had to clamp.
pub fn clamped(piece: &Gaussians) -> usize {
    let range = f32::MIN_POSITIVE.ln()..=f32::MAX.ln();
    let scales = piece.log_scales.as_flattened();
    scales.iter().filter(|scale| !range.contains(scale)).count()
}

/// A quaternion of length 1; the identity for one of length 0.
pub fn unit(q: [f32; 4]) -> [f32; 4] {
    let q = q.map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    match length > 0.0 {
        true => q.map(|v| (v / length) as f32),
        false => [1.0, 0.0, 0.0, 0.0],
    }
}

/// What to tell of clamped scales.
pub fn clamped_note(clamped: usize) -> Option<String> {
    (clamped > 0).then(|| format!("{clamped} scales beyond the range of f32 were clamped"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_stay_in_range() {
        assert_eq!(scale(0.0), 1.0);
        assert_eq!(scale(-200.0), f32::MIN_POSITIVE);
        assert_eq!(scale(200.0), f32::MAX);
        let mut piece = Gaussians::zeros(2, 0);
        piece.log_scales = vec![[0.0, -87.0, 88.7], [-87.4, 88.8, 3.0]];
        assert_eq!(clamped(&piece), 2);
        assert!(clamped_note(2).is_some() && clamped_note(0).is_none());
    }

    #[test]
    fn quaternions_have_length_1() {
        assert_eq!(unit([0.0, 3.0, 0.0, 4.0]), [0.0, 0.6, 0.0, 0.8]);
        assert_eq!(unit([1e-30, 0.0, 0.0, 0.0]), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(unit([0.0; 4]), [1.0, 0.0, 0.0, 0.0]);
    }
}
