//! `floaters`: which Gaussians hang in the air before what a view shows.

use super::sources;
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use splatcore_core::floaters::HIDDEN;

kernel_params! {
    /// Parameters of `floaters` (floaters.cu).
    pub struct FloatersParams {
        means: Address,
        count: u32,
        camera: KernelCamera,
        transmittance: Address,
        inverse_depth: Address,
        share: f32,
        verdicts: Address,
    }
}

/// `floaters`.
pub fn program() -> Program {
    sources::program(
        "floaters.cu",
        vec![("HIDDEN", format!("{HIDDEN:?}f"))],
        [FloatersParams::kernel("floaters")],
    )
}
