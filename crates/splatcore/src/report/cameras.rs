//! What a run says of cameras that it refined.

use super::intrinsics::MeasuredIntrinsics;
use super::poses::MeasuredPoses;
use serde::Serialize;

/// What became of the photos' cameras.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeasuredCameras {
    /// Of a run that refines poses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poses: Option<MeasuredPoses>,
    /// Of a run that refines intrinsics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intrinsics: Option<MeasuredIntrinsics>,
}
