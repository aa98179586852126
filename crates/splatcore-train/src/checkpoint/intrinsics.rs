//! The tensors of refined intrinsics.

use super::file::{Reader, Tensor};
use crate::intrinsics::IntrinsicsState;
use safetensors::Dtype;
use splatcore_core::IntrinsicsGradient;
use splatcore_data::DataError;

const NUMBERS: usize = IntrinsicsGradient::NUMBERS;

/// None of a run that refines none.
pub(super) fn tensors(intrinsics: &Option<IntrinsicsState>) -> Vec<Tensor<'_>> {
    let Some(state) = intrinsics else {
        return Vec::new();
    };
    let named = |name: &str| format!("intrinsics.{name}");
    let f64s = |name, values| Tensor::list(&named(name), "F64", values, 8).in_rows(NUMBERS);
    let u32s = |name, values| Tensor::list(&named(name), "U32", values, 4);
    vec![
        f64s("changes", &state.changes),
        f64s("first", &state.first),
        f64s("second", &state.second),
        f64s("waiting", &state.waiting),
        Tensor::list(&named("moves"), "U32", &state.moves, 4).in_rows(NUMBERS),
        u32s("limited", &state.limited),
        u32s("waiting_views", &state.waiting_views),
    ]
}

/// Those of the file, if it holds any.
pub(super) fn read(file: &Reader<'_>) -> Result<Option<IntrinsicsState>, DataError> {
    if file.dtype("intrinsics.changes").is_none() {
        return Ok(None);
    }
    Ok(Some(IntrinsicsState {
        changes: file.array("intrinsics.changes", Dtype::F64, &[NUMBERS])?,
        first: file.array("intrinsics.first", Dtype::F64, &[NUMBERS])?,
        second: file.array("intrinsics.second", Dtype::F64, &[NUMBERS])?,
        moves: file.array("intrinsics.moves", Dtype::U32, &[NUMBERS])?,
        limited: file.array("intrinsics.limited", Dtype::U32, &[])?,
        waiting_views: file.array("intrinsics.waiting_views", Dtype::U32, &[])?,
        waiting: file.array("intrinsics.waiting", Dtype::F64, &[NUMBERS])?,
    }))
}
