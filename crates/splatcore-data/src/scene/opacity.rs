//! Opacities from formats that store them in place of their logits.

/// Logit for an opacity of 1, and negated for one of 0, whose true logits are infinite. The opacity
/// is off by 1.2e-7, two steps of an f32 below 1.
pub const MAX_LOGIT: f32 = 16.0;

/// The logit of an opacity byte, 0 to 255 for 0 to 1.
pub fn logit_of_byte(byte: u8) -> f32 {
    let alpha = f32::from(byte) / 255.0;
    (alpha / (1.0 - alpha)).ln().clamp(-MAX_LOGIT, MAX_LOGIT)
}

/// The logit of an opacity; NaN for what is none.
pub fn logit_of_alpha(alpha: f32) -> f32 {
    let alpha = f64::from(alpha);
    let logit = (alpha / (1.0 - alpha)).ln() as f32;
    logit.clamp(-MAX_LOGIT, MAX_LOGIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::gaussians::sigmoid;

    #[test]
    fn bytes_survive_the_logit() {
        for byte in 0..=255 {
            let logit = logit_of_byte(byte);
            assert!(logit.is_finite());
            assert!(
                (sigmoid(logit) - f32::from(byte) / 255.0).abs() < 2e-7,
                "{byte}"
            );
        }
        assert_eq!(logit_of_byte(255), MAX_LOGIT);
        assert_eq!(logit_of_byte(0), -MAX_LOGIT);
    }

    #[test]
    fn alphas_survive_the_logit() {
        for alpha in [1e-6, 0.02, 0.5, 0.75, 0.999, 0.999_999] {
            let logit = f64::from(logit_of_alpha(alpha));
            let back = (1.0 / (1.0 + (-logit).exp())) as f32;
            assert!((back - alpha).abs() <= 6e-8, "{alpha} {back}");
        }
        assert_eq!(logit_of_alpha(1.0), MAX_LOGIT);
        assert_eq!(logit_of_alpha(0.0), -MAX_LOGIT);
        assert!(
            [-0.1, 1.1, f32::NAN]
                .map(logit_of_alpha)
                .iter()
                .all(|l| l.is_nan())
        );
    }
}
