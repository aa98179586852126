//! The kernels of projection.cu and projection_backward.cu, their parameters and variants.

use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::{KernelLens, LensKind};
use crate::ops::sources;
use crate::tensors::BLOCK;
use splatcore_core::IntrinsicsGradient;

kernel_params! {
    /// Parameters of `projection` (projection.cu).
    pub struct ProjectionParams {
        means: Address,
        covars: Address,
        quats: Address,
        scales: Address,
        opacities: Address,
        viewmats: Address,
        ks: Address,
        batches: u32,
        cameras: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        eps2d: f32,
        near_plane: f32,
        far_plane: f32,
        radius_clip: f32,
        camera_model: u32,
        radius_rule: u32,
        radii: Address,
        means2d: Address,
        depths: Address,
        conics: Address,
        compensations: Address,
        camera: KernelCamera,
        lens: KernelLens,
    }

    /// Parameters of `projection_backward` (projection_backward.cu).
    pub struct ProjectionBackwardParams {
        means: Address,
        covars: Address,
        quats: Address,
        scales: Address,
        viewmats: Address,
        ks: Address,
        batches: u32,
        cameras: u32,
        gaussians: u32,
        width: u32,
        height: u32,
        eps2d: f32,
        camera_model: u32,
        adds: u32,
        radii: Address,
        conics: Address,
        compensations: Address,
        v_means2d: Address,
        v_depths: Address,
        v_conics: Address,
        v_compensations: Address,
        v_means: Address,
        v_covars: Address,
        v_quats: Address,
        v_scales: Address,
        v_viewmats: Address,
        v_ks: Address,
        camera: KernelCamera,
        lens: KernelLens,
    }
}

/// Threads of a block of the gradients: fewer than elsewhere, as each needs many registers.
pub(super) const BACKWARD_BLOCK: u32 = 128;

/// The constants of both kernels; `intrinsics`: whether there are gradients of them.
fn constants(kind: LensKind, block: u32, intrinsics: bool) -> Vec<(&'static str, String)> {
    let numbers = match intrinsics && kind != LensKind::Pinhole {
        true => IntrinsicsGradient::NUMBERS,
        false => 0,
    };
    vec![
        ("BLOCK", block.to_string()),
        ("LENS", (kind as u8).to_string()),
        ("INTRINSICS", numbers.to_string()),
    ]
}

pub(super) fn forward_program(kind: LensKind) -> Program {
    sources::program(
        "projection.cu",
        constants(kind, BLOCK, false),
        [ProjectionParams::kernel("projection")],
    )
}

pub(super) fn backward_program(kind: LensKind, intrinsics: bool) -> Program {
    sources::program(
        "projection_backward.cu",
        constants(kind, BACKWARD_BLOCK, intrinsics),
        [ProjectionBackwardParams::kernel("projection_backward")],
    )
}

/// All of both.
pub(in crate::tensors) fn programs() -> impl Iterator<Item = Program> {
    let with_lenses = [LensKind::Lens, LensKind::Rolling].map(|kind| {
        [
            forward_program(kind),
            backward_program(kind, false),
            backward_program(kind, true),
        ]
    });
    let plain = LensKind::Pinhole;
    let plain = [forward_program(plain), backward_program(plain, false)];
    plain.into_iter().chain(with_lenses.into_iter().flatten())
}
