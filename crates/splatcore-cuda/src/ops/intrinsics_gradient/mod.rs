//! `intrinsics_gradient`: the gradient of a frame's loss by the intrinsics of its camera; launches
//! `ops/intrinsics_gradient/intrinsics_gradient.cu`, which says how and how fast. What it is:
//! [`splatcore_core::IntrinsicsGradient`].

use super::camera_gradients::{CameraGradients, CameraKind};
use crate::device::{Device, Program};
use splatcore_core::{BackendError, IntrinsicsGradient};
use std::sync::Arc;

const NUMBERS: usize = IntrinsicsGradient::NUMBERS;

/// Gradients of intrinsics that were not asked for yet.
pub type IntrinsicsGradients = CameraGradients<NUMBERS>;

/// None yet.
///
/// # Errors
/// If the device failed.
pub fn gradients(device: &Arc<dyn Device>) -> Result<IntrinsicsGradients, BackendError> {
    let op = "intrinsics_gradient";
    CameraGradients::new(device, op, "gradients of intrinsics", program)
}

/// Both kernels. Harmonics have no part in them.
pub fn program(kind: CameraKind) -> Program {
    let constants = vec![
        ("SH_DEGREE", "0".to_string()),
        ("INTRINSICS", NUMBERS.to_string()),
    ];
    let kernels = ["sum_intrinsics", "finish_intrinsics"];
    kind.program("intrinsics_gradient.cu", kernels, NUMBERS, constants)
}
