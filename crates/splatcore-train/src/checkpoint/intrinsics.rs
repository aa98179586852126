//! The tensors of refined intrinsics.

use super::file::{Reader, Tensor};
use crate::intrinsics::IntrinsicsState;
use safetensors::Dtype;
use splatcore_core::IntrinsicsGradient;
use splatcore_data::DataError;

const NUMBERS: usize = IntrinsicsGradient::NUMBERS;

/// Where the numbers of earlier files are among those of today: focal lengths, principal point,
/// four radial and two tangential coefficients. The others were held then, at changes of 0.
const EARLIER: [usize; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 19, 20];

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
        changes: rows(file, "intrinsics.changes", Dtype::F64)?,
        first: rows(file, "intrinsics.first", Dtype::F64)?,
        second: rows(file, "intrinsics.second", Dtype::F64)?,
        moves: rows(file, "intrinsics.moves", Dtype::U32)?,
        limited: file.array("intrinsics.limited", Dtype::U32, &[])?,
        waiting_views: file.array("intrinsics.waiting_views", Dtype::U32, &[])?,
        waiting: rows(file, "intrinsics.waiting", Dtype::F64)?,
    }))
}

/// Rows of all numbers, those that an earlier file lacks 0.
fn rows<T: bytemuck::Pod>(
    file: &Reader<'_>,
    name: &str,
    dtype: Dtype,
) -> Result<Vec<[T; NUMBERS]>, DataError> {
    if file.shape(name).and_then(|shape| shape.get(1)) != Some(&EARLIER.len()) {
        return file.array(name, dtype, &[NUMBERS]);
    }
    let earlier: Vec<[T; EARLIER.len()]> = file.array(name, dtype, &[EARLIER.len()])?;
    let widened = |row: &[T; EARLIER.len()]| {
        let mut all = [T::zeroed(); NUMBERS];
        EARLIER.iter().zip(row).for_each(|(&k, v)| all[k] = *v);
        all
    };
    Ok(earlier.iter().map(widened).collect())
}
