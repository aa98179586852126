//! The tensors of refined poses.

use super::file::{Reader, Tensor};
use crate::poses::PoseState;
use safetensors::Dtype;
use splatcore_data::DataError;

/// None of a run that refines none.
pub(super) fn tensors(poses: &Option<PoseState>) -> Vec<Tensor<'_>> {
    let Some(poses) = poses else {
        return Vec::new();
    };
    let u32s = |name: &str, values| Tensor::list(&format!("pose.{name}"), "U32", values, 4);
    vec![
        Tensor::list("pose.offsets", "F64", &poses.offsets, 8).in_rows(7),
        Tensor::list("pose.first", "F64", &poses.first, 8).in_rows(6),
        Tensor::list("pose.second", "F64", &poses.second, 8).in_rows(6),
        Tensor::list("pose.waiting", "F64", &poses.waiting, 8).in_rows(6),
        u32s("seen", &poses.seen),
        u32s("limited", &poses.limited),
        u32s("waiting_views", &poses.waiting_views),
    ]
}

/// Those of the file, if it holds any.
pub(super) fn read(file: &Reader<'_>) -> Result<Option<PoseState>, DataError> {
    if file.dtype("pose.offsets").is_none() {
        return Ok(None);
    }
    Ok(Some(PoseState {
        offsets: file.array("pose.offsets", Dtype::F64, &[7])?,
        first: file.array("pose.first", Dtype::F64, &[6])?,
        second: file.array("pose.second", Dtype::F64, &[6])?,
        seen: file.array("pose.seen", Dtype::U32, &[])?,
        limited: file.array("pose.limited", Dtype::U32, &[])?,
        waiting_views: file.array("pose.waiting_views", Dtype::U32, &[])?,
        waiting: file.array("pose.waiting", Dtype::F64, &[6])?,
    }))
}
