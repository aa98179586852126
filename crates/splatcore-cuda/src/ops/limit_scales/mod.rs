//! `limit_scales`: no Gaussian is larger than a share of its distance from the nearest camera
//! ([`splatcore_core::scale_limit`]), on the device; launches `ops/limit_scales/limit_scales.cu`.
//! CPU twin: `splatcore_cpu`'s `limit_scales`.

use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::ops::by_camera::{BLOCK, ByCamera};
use crate::ops::sources;
use crate::ops::state::{LOG_SCALES, MEANS, State};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `limit_scales` (limit_scales.cu).
    pub struct LimitScalesParams {
        means: Address,
        log_scales: Address,
        count: u32,
        cameras: Address,
        camera_count: u32,
        log_share: f32,
        log_floor: f32,
    }
}

/// What [`limit_scales`] launches.
pub fn program() -> Program {
    sources::program(
        "limit_scales.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [LimitScalesParams::kernel("limit_scales")],
    )
}

/// Caps every log scale at a share of the distance from the nearest camera, or at a floor in world
/// units where that is more.
///
/// # Errors
/// If the device failed.
pub fn limit_scales(
    op: &ByCamera,
    queue: &Queue,
    state: &State,
    (share, floor): (f32, f32),
) -> Result<(), BackendError> {
    let (log_share, log_floor) = (share.ln(), floor.ln());
    queue.launch(
        op.kernel,
        (state.count as u32).div_ceil(BLOCK),
        BLOCK,
        &LimitScalesParams {
            means: state.groups[MEANS].parameters.address(),
            log_scales: state.groups[LOG_SCALES].parameters.address(),
            count: state.count as u32,
            cameras: op.cameras.address(),
            camera_count: op.views,
            log_share,
            log_floor,
        },
    )
}
