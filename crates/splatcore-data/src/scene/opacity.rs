//! Opacities from formats that store them in place of their logits.

/// Logit for an opacity of 1, and negated for one of 0, whose true logits are infinite. The opacity
/// is off by 1.2e-7, two steps of an f32 below 1.
pub const LARGEST_LOGIT: f32 = 16.0;

/// The logit of an opacity byte, 0 to 255 for 0 to 1.
pub fn logit_of_byte(byte: u8) -> f32 {
    let alpha = f32::from(byte) / 255.0;
    (alpha / (1.0 - alpha))
        .ln()
        .clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
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
        assert_eq!(logit_of_byte(255), LARGEST_LOGIT);
        assert_eq!(logit_of_byte(0), -LARGEST_LOGIT);
    }
}
