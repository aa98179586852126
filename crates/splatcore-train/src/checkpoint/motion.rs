//! The tensors of motions that were found.

use super::file::{Reader, Tensor};
use crate::motion::MotionState;
use safetensors::Dtype;
use splatcore_data::DataError;

/// None of a run that looks for none.
pub(super) fn tensors(motion: &Option<MotionState>) -> Vec<Tensor<'_>> {
    let Some(state) = motion else {
        return Vec::new();
    };
    let rounds = std::slice::from_ref(&state.rounds);
    vec![
        Tensor::list("motion.motions", "F64", &state.motions, 8).in_rows(6),
        Tensor::list("motion.rounds", "U32", rounds, 4),
    ]
}

/// Those of the file, if it holds any.
pub(super) fn read(file: &Reader<'_>) -> Result<Option<MotionState>, DataError> {
    if file.dtype("motion.motions").is_none() {
        return Ok(None);
    }
    let rounds: Vec<u32> = file.array("motion.rounds", Dtype::U32, &[])?;
    Ok(Some(MotionState {
        rounds: rounds.first().copied().unwrap_or_default(),
        motions: file.array("motion.motions", Dtype::F64, &[6])?,
    }))
}
