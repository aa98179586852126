//! `project_backward`: from the sums of each splat to the gradients of its Gaussian's parameters,
//! and `write_gradients`, which spreads them over the scene's arrays.

use super::project::{NO_FILTER, harmonics};
use super::sources::{flag, program};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;

kernel_params! {
    /// Parameters of `project_backward` (project_backward.cu).
    pub struct ProjectBackwardParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
        camera: KernelCamera,
        splats: Address,
        sums: Address,
        counters: Address,
        gradients: Address,
        smoothing: Address,
    }

    /// Parameters of `write_gradients` (write_gradients.cu).
    pub struct WriteGradientsParams {
        scene_means: Address,
        splat_of: Address,
        gradients: Address,
        count: u32,
        camera: KernelCamera,
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
    }
}

/// `project_backward`, which takes the statistic of densification from the pairs' absolute values
/// if `absolute`.
pub fn project_backward(in_use: u8, stored: u8, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(flag("ABSOLUTE", absolute));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    program(
        "project_backward.cu",
        constants,
        [ProjectBackwardParams::kernel("project_backward")],
    )
}

/// `write_gradients`.
pub fn write_gradients(in_use: u8, stored: u8) -> Program {
    program(
        "write_gradients.cu",
        harmonics(in_use, stored),
        [WriteGradientsParams::kernel("write_gradients")],
    )
}
