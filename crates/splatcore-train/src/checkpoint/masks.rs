//! The tensors of learned masks.

use super::file::{Reader, Tensor};
use safetensors::Dtype;
use splatcore_core::learned_masks::LearnedMasks;
use splatcore_data::DataError;

/// In the order of [`LearnedMasks::arrays`].
const NAMES: [&str; 3] = ["mask.logits", "mask.first", "mask.second"];

/// None of a run that learned none.
pub(super) fn tensors(masks: &LearnedMasks) -> Vec<Tensor<'_>> {
    let arrays = NAMES.into_iter().zip(masks.arrays());
    let learned = arrays.filter(|(_, array)| !array.is_empty());
    learned
        .map(|(name, array)| Tensor::list(name, "F32", array, 4))
        .collect()
}

/// Those of `n` Gaussians, if the file holds any.
pub(super) fn read(file: &Reader<'_>, n: usize) -> Result<LearnedMasks, DataError> {
    let [logits, first, second] = NAMES;
    if file.dtype(logits).is_none() {
        return Ok(LearnedMasks::default());
    }
    let array = |name: &str| file.rows(name, Dtype::F32, &[], n);
    Ok(LearnedMasks {
        logits: array(logits)?,
        first: array(first)?,
        second: array(second)?,
    })
}
