//! At which exposures photos start.

/// Stops of a photo's values, which are encoded for a display, for a stop of light: sRGB's curve is
/// about a power of 1/2.2.
const VALUE_A_STOP: f32 = 1.0 / 2.2;

/// By how many stops the values of each photo are brighter than those of the scene, of photos of
/// which it is known, or not, how much more light they took than the middle one. The mean is 0.
pub(crate) fn starting_exposures(noted: &[Option<f32>]) -> Vec<f32> {
    let stops = noted
        .iter()
        .map(|stops| VALUE_A_STOP * stops.unwrap_or(0.0));
    let stops: Vec<f32> = stops.collect();
    let mean = stops.iter().sum::<f32>() / stops.len().max(1) as f32;
    stops.into_iter().map(|stops| stops - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposures_have_no_mean() {
        let start = starting_exposures(&[Some(2.2), None, Some(-1.1), Some(0.0)]);
        assert!(start.iter().sum::<f32>().abs() < 1e-6);
        assert!((start[0] - start[1] - 1.0).abs() < 1e-6 && start[1] == start[3]);
        assert!(starting_exposures(&[]).is_empty());
    }
}
