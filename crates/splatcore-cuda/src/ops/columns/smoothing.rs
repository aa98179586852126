//! `smoothing`: Mip-Splatting's 3D filter for each Gaussian, on the device; launches
//! `ops/columns/smoothing.cu`. What it is: [`splatcore_core::columns::smoothing`]. CPU twin:
//! `splatcore_cpu`'s `smoothing`.

use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::ops::by_camera::{BLOCK, ByCamera};
use crate::ops::constants::{flag, float};
use crate::ops::sources;
use crate::ops::state::{MEANS, State};
use splatcore_core::BackendError;
use splatcore_core::columns::Column;
use splatcore_core::columns::smoothing::{MARGIN, VARIANCE};

kernel_params! {
    /// Parameters of `smoothing` (smoothing.cu).
    pub struct SmoothingParams {
        means: Address,
        count: u32,
        cameras: Address,
        camera_count: u32,
        filters: Address,
        lenses: Address,
    }
}

/// What [`smooth`] launches, for pinholes alone or also for cameras with a lens.
pub fn program(lens: bool) -> Program {
    sources::program(
        "smoothing.cu",
        vec![
            ("BLOCK", BLOCK.to_string()),
            float("VARIANCE_ROOT_LN", VARIANCE.sqrt().ln()),
            float("MARGIN", MARGIN),
            flag("LENS", lens),
        ],
        [SmoothingParams::kernel("smoothing")],
    )
}

/// Gives every Gaussian its filter.
///
/// # Errors
/// If memory is short (the state is then as before) or the device failed.
pub fn smooth(op: &ByCamera, queue: &Queue, state: &mut State) -> Result<(), BackendError> {
    // Later growth is densification's, with all other arrays.
    let filter = &mut state.columns[Column::Filter];
    if !filter.exists {
        filter.arrays[0].reserve_exactly(state.capacity * size_of::<f32>())?;
        filter.exists = true;
    }
    let count = state.count as u32;
    queue.launch(
        op.kernel,
        (state.count as u32).div_ceil(BLOCK),
        BLOCK,
        &SmoothingParams {
            means: state.groups[MEANS].parameters.address(),
            count,
            cameras: op.cameras.address(),
            camera_count: op.views,
            filters: state.columns[Column::Filter].address(),
            lenses: op.lenses.address(),
        },
    )
}
