//! `limit_scales`: no Gaussian is larger than a share of its distance from the nearest camera
//! ([`splatcore_core::scale_limit`]), on the device; launches `kernels/limit_scales.cu`. CPU twin:
//! `splatcore_cpu`'s `limit_scales`.

use crate::by_camera::{ByCamera, THREADS};
use crate::device::Program;
use crate::device::program::files;
use crate::launch::{Queue, arguments};
use crate::state::{LOG_SCALES, MEANS, State};
use splatcore_core::BackendError;

/// What [`limit_scales`] launches.
pub fn program() -> Program {
    Program {
        op: "limit_scales",
        files: files!["limit_scales.cu"],
        constants: Vec::new(),
        kernels: &["limit_scales"],
    }
}

/// Caps every log scale.
///
/// # Errors
/// If the device failed.
pub fn limit_scales(
    op: &ByCamera,
    queue: &Queue,
    state: &State,
    share: f32,
) -> Result<(), BackendError> {
    let (count, log_share) = (state.count as u32, share.ln());
    queue.launch(
        op.kernel,
        state.count.div_ceil(THREADS) as u32,
        THREADS as u32,
        &mut arguments![
            state.groups[MEANS].parameters.address(),
            state.groups[LOG_SCALES].parameters.address(),
            count,
            op.cameras.address(),
            op.views,
            log_share
        ],
    )
}
