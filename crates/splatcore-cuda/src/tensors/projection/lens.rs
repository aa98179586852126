//! Splats through lenses and rolling shutters, and their gradients: launches projection_lens.cu and
//! projection_lens_backward.cu for each camera.

use super::scene::{Culling, GaussianGradients, Scene, Shapes, SplatGradients, Splats};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::{KernelLens, LensKind};
use crate::ops::sources;
use crate::tensors::slice::optional;
use crate::tensors::{BLOCK, OnStream};
use splatcore_core::backend::RenderOptions;
use splatcore_core::{BackendError, Camera, IntrinsicsGradient};

kernel_params! {
    /// Parameters of `projection_lens` (projection_lens.cu).
    pub struct ProjectionLensParams {
        means: Address,
        quats: Address,
        scales: Address,
        opacities: Address,
        gaussians: u32,
        width: u32,
        height: u32,
        eps2d: f32,
        near_plane: f32,
        far_plane: f32,
        radius_clip: f32,
        radius_rule: u32,
        radii: Address,
        means2d: Address,
        depths: Address,
        conics: Address,
        compensations: Address,
        camera: KernelCamera,
        lens: KernelLens,
    }

    /// Parameters of `projection_lens_backward` (projection_lens_backward.cu).
    pub struct ProjectionLensBackwardParams {
        means: Address,
        quats: Address,
        scales: Address,
        gaussians: u32,
        adds: u32,
        eps2d: f32,
        radii: Address,
        conics: Address,
        compensations: Address,
        v_means2d: Address,
        v_depths: Address,
        v_conics: Address,
        v_compensations: Address,
        v_means: Address,
        v_quats: Address,
        v_scales: Address,
        v_viewmats: Address,
        v_ks: Address,
        camera: KernelCamera,
        lens: KernelLens,
    }
}

/// Threads of a block of the gradients: fewer than elsewhere, as each needs many registers.
const BACKWARD_BLOCK: u32 = 128;

fn constants(kind: LensKind, block: u32, intrinsics: usize) -> Vec<(&'static str, String)> {
    vec![
        ("BLOCK", block.to_string()),
        ("LENS", (kind as u8).to_string()),
        ("INTRINSICS", intrinsics.to_string()),
    ]
}

fn program(kind: LensKind) -> Program {
    sources::program(
        "projection_lens.cu",
        constants(kind, BLOCK, 0),
        [ProjectionLensParams::kernel("projection_lens")],
    )
}

fn backward_program(kind: LensKind, intrinsics: bool) -> Program {
    let numbers = if intrinsics {
        IntrinsicsGradient::NUMBERS
    } else {
        0
    };
    sources::program(
        "projection_lens_backward.cu",
        constants(kind, BACKWARD_BLOCK, numbers),
        [ProjectionLensBackwardParams::kernel(
            "projection_lens_backward",
        )],
    )
}

/// All that are launched here.
pub(in crate::tensors) fn programs() -> impl Iterator<Item = Program> {
    [LensKind::Lens, LensKind::Rolling]
        .into_iter()
        .flat_map(|kind| {
            [
                program(kind),
                backward_program(kind, false),
                backward_program(kind, true),
            ]
        })
}

/// What the launches of a scene share.
struct Given {
    means: Address,
    quats: Address,
    scales: Address,
    /// C and N.
    cameras: usize,
    gaussians: usize,
    words: [u32; 5],
}

/// An address so many values of four bytes further on; null stays null.
fn at(address: Address, values: usize) -> Address {
    match address {
        0 => 0,
        address => address + 4 * values as u64,
    }
}

impl Given {
    fn of(scene: &Scene<'_>, cameras: &[Camera]) -> Result<Self, BackendError> {
        let wanted = scene.batches * scene.cameras;
        if cameras.len() != wanted {
            let words = format!("there are {} cameras, but must be {wanted}", cameras.len());
            return Err(device_error(words));
        }
        if let Shapes::Covars(_) = scene.shapes {
            let words = "the unscented transform takes quaternions and scales, not covariances";
            return Err(device_error(words.into()));
        }
        let [_, quats, scales] = scene.shapes.addresses(scene.rows())?;
        Ok(Self {
            means: scene.means.with_len("means", 3 * scene.rows())?,
            quats,
            scales,
            cameras: scene.cameras,
            gaussians: scene.gaussians,
            words: scene.words()?,
        })
    }

    /// The first Gaussian of a camera's batch.
    fn row(&self, image: usize) -> usize {
        image / self.cameras.max(1) * self.gaussians
    }
}

fn kernel_camera(camera: &Camera) -> Result<(KernelCamera, KernelLens), BackendError> {
    if let Some(defect) = camera.defect() {
        return Err(device_error(format!("a camera cannot be: {defect}")));
    }
    let lens = KernelLens::unscented(camera)
        .ok_or_else(|| device_error(format!("{} is no polynomial lens", camera.lens.name())))?;
    Ok((KernelCamera::new(camera, &RenderOptions::default()), lens))
}

/// See [`super::forward`].
pub(super) fn forward(
    on: &OnStream,
    scene: &Scene<'_>,
    cameras: &[Camera],
    culling: &Culling,
    out: &Splats,
) -> Result<(), BackendError> {
    let given = Given::of(scene, cameras)?;
    let [_, _, gaussians, width, height] = given.words;
    let (n, splats) = (given.gaussians, scene.splats());
    let opacities = optional(culling.opacities, "opacities", scene.rows())?;
    let radii = out.radii.with_len("radii", 2 * splats)?;
    let means2d = out.means2d.with_len("means2d", 2 * splats)?;
    let depths = out.depths.with_len("depths", splats)?;
    let conics = out.conics.with_len("conics", 3 * splats)?;
    let compensations = optional(out.compensations, "compensations", splats)?;
    for (image, camera) in cameras.iter().enumerate() {
        let (row, splat) = (given.row(image), image * n);
        let (camera, lens) = kernel_camera(camera)?;
        let params = ProjectionLensParams {
            means: at(given.means, 3 * row),
            quats: at(given.quats, 4 * row),
            scales: at(given.scales, 3 * row),
            opacities: at(opacities, row),
            gaussians,
            width,
            height,
            eps2d: scene.eps2d,
            near_plane: culling.near_plane,
            far_plane: culling.far_plane,
            radius_clip: culling.radius_clip,
            radius_rule: culling.radius_rule as u32,
            radii: at(radii, 2 * splat),
            means2d: at(means2d, 2 * splat),
            depths: at(depths, splat),
            conics: at(conics, 3 * splat),
            compensations: at(compensations, splat),
            camera,
            lens,
        };
        let program = program(lens.kind());
        on.launch_one(&program, n.div_ceil(BLOCK as usize), BLOCK, &params)?;
    }
    Ok(())
}

/// See [`super::backward`].
pub(super) fn backward(
    on: &OnStream,
    scene: &Scene<'_>,
    cameras: &[Camera],
    splats: &SplatGradients,
    out: &GaussianGradients,
) -> Result<(), BackendError> {
    let given = Given::of(scene, cameras)?;
    let [_, _, gaussians, ..] = given.words;
    let (n, rows, count) = (given.gaussians, scene.rows(), scene.splats());
    let mut every = ProjectionLensBackwardParams {
        means: given.means,
        quats: given.quats,
        scales: given.scales,
        gaussians,
        adds: 0,
        eps2d: scene.eps2d,
        radii: splats.radii.with_len("radii", 2 * count)?,
        conics: splats.conics.with_len("conics", 3 * count)?,
        compensations: optional(splats.compensations, "compensations", count)?,
        v_means2d: splats.v_means2d.with_len("v_means2d", 2 * count)?,
        v_depths: optional(splats.v_depths, "v_depths", count)?,
        v_conics: splats.v_conics.with_len("v_conics", 3 * count)?,
        v_compensations: optional(splats.v_compensations, "v_compensations", count)?,
        v_means: optional(out.v_means, "v_means", 3 * rows)?,
        v_quats: optional(out.v_quats, "v_quats", 4 * rows)?,
        v_scales: optional(out.v_scales, "v_scales", 3 * rows)?,
        v_viewmats: optional(out.v_viewmats, "v_viewmats", 16 * cameras.len())?,
        v_ks: optional(out.v_ks, "v_Ks", 9 * cameras.len())?,
        ..bytemuck::Zeroable::zeroed()
    };
    optional(out.v_covars, "v_covars", 6 * rows)?;
    let mut zeroed = vec![out.v_viewmats, out.v_ks, out.v_covars];
    if cameras.is_empty() {
        zeroed.extend([out.v_means, out.v_quats, out.v_scales]);
    }
    for slice in zeroed.into_iter().flatten() {
        on.zero(slice)?;
    }
    let with_intrinsics = every.v_ks != 0;
    for (image, camera) in cameras.iter().enumerate() {
        let (row, splat) = (given.row(image), image * n);
        (every.camera, every.lens) = kernel_camera(camera)?;
        let params = ProjectionLensBackwardParams {
            means: at(every.means, 3 * row),
            quats: at(every.quats, 4 * row),
            scales: at(every.scales, 3 * row),
            adds: (image % given.cameras.max(1) != 0).into(),
            radii: at(every.radii, 2 * splat),
            conics: at(every.conics, 3 * splat),
            compensations: at(every.compensations, splat),
            v_means2d: at(every.v_means2d, 2 * splat),
            v_depths: at(every.v_depths, splat),
            v_conics: at(every.v_conics, 3 * splat),
            v_compensations: at(every.v_compensations, splat),
            v_means: at(every.v_means, 3 * row),
            v_quats: at(every.v_quats, 4 * row),
            v_scales: at(every.v_scales, 3 * row),
            v_viewmats: at(every.v_viewmats, 16 * image),
            v_ks: at(every.v_ks, 9 * image),
            ..every
        };
        let program = backward_program(every.lens.kind(), with_intrinsics);
        let blocks = n.div_ceil(BACKWARD_BLOCK as usize);
        on.launch_one(&program, blocks, BACKWARD_BLOCK, &params)?;
    }
    Ok(())
}
