//! Which measurements are not to be trusted: they become 0.

use crate::dataset::photo;
use crate::words::one_line;
use crate::{DataError, picture};
use std::path::Path;

/// Two neighbours whose depths differ by more than this share of the smaller are of two surfaces,
/// and a sensor's measurement of either may be of both.
const MAX_STEP: f32 = 0.1;

/// Without those of confidence 0 (ARKit, Polycam: the lowest of three).
pub(super) fn by_confidence(
    values: &mut [f32],
    size: [u32; 2],
    path: &Path,
) -> Result<(), DataError> {
    let reader = picture::of_file(path).map_err(|e| DataError::read(path, &e))?;
    let remedy = "write it again as grey PNG, or remove it";
    let decoded = reader.decode().map_err(|e| {
        let problem = format!("cannot be decoded ({})", one_line(&e));
        DataError::new(path, problem, remedy)
    })?;
    // Of 16 bits the low ones count.
    let confidences: Vec<u32> = match decoded {
        image::DynamicImage::ImageLuma16(image) => image.iter().map(|&v| v.into()).collect(),
        other => other.into_luma8().iter().map(|&v| v.into()).collect(),
    };
    let own = photo::size(path)?;
    if [own.0, own.1] != size {
        let problem = format!(
            "the confidences are {}x{}, their depths {}x{}",
            own.0, own.1, size[0], size[1]
        );
        return Err(DataError::new(path, problem, remedy));
    }
    for (value, confidence) in values.iter_mut().zip(confidences) {
        if confidence == 0 {
            *value = 0.0;
        }
    }
    Ok(())
}

/// Without those beside a step.
pub(super) fn away_from_edges(values: &mut [f32], width: usize) {
    let depths = values.to_vec();
    let is_step = |a: f32, b: f32| {
        let (near, far) = (a.min(b), a.max(b));
        near > 0.0 && far > (1.0 + MAX_STEP) * near
    };
    for (i, value) in values.iter_mut().enumerate() {
        let own = depths[i];
        let beside = [
            i.checked_sub(1).filter(|_| i % width > 0),
            Some(i + 1).filter(|i| i % width > 0),
            i.checked_sub(width),
            Some(i + width),
        ];
        let mut beside = beside.into_iter().flatten().filter_map(|i| depths.get(i));
        if beside.any(|&other| is_step(own, other)) {
            *value = 0.0;
        }
    }
}
