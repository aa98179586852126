//! `pose_gradient`: the gradient of a frame's loss by the pose of its camera; launches
//! `ops/pose_gradient/pose_gradient.cu`, which says how and how fast. What it is:
//! [`splatcore_core::pose_gradient`].

use super::camera_gradients::{CameraGradients, CameraKind};
use super::project::{harmonics, in_floats, with_halves};
use crate::device::{Device, Program};
use splatcore_core::{BackendError, PoseGradient};
use std::sync::Arc;

/// Numbers of a pose's gradient: rotation, translation.
const NUMBERS: usize = 6;

/// Gradients of poses that were not asked for yet.
pub type PoseGradients = CameraGradients<NUMBERS>;

/// None yet.
///
/// # Errors
/// If the device failed.
pub fn gradients(device: &Arc<dyn Device>) -> Result<PoseGradients, BackendError> {
    CameraGradients::new(device, "pose_gradient", "gradients of poses", program)
}

/// A gradient of its numbers.
pub fn of_numbers([a, b, c, x, y, z]: [f64; NUMBERS]) -> PoseGradient {
    PoseGradient {
        rotation: [a, b, c],
        translation: [x, y, z],
    }
}

/// Both kernels.
pub fn program(kind: CameraKind) -> Program {
    let mut constants = harmonics(kind.in_use, kind.stored);
    constants.push(in_floats());
    let kernels = ["sum_poses", "finish_pose"];
    let program = kind.program("pose_gradient.cu", kernels, NUMBERS, constants);
    with_halves(program, kind.stored, kind.half)
}
