//! `project`: from Gaussians to splats, and how many tiles each touches, or, for inference with
//! binned lists, straight into the lists of macro-tiles.

pub mod half;

use super::bin;
use super::depth_sums::OF_DEPTH;
use super::intersect::footprint;
use super::sort;
use super::sources::program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::lens::{KernelLens, LensKind};
use crate::ops::row_blocks::RowBlocks;
use crate::ops::scene::SceneAddresses;
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Intersect;
use splatcore_core::sh;

kernel_params! {
    /// Parameters of `project` (project.cu).
    pub struct ProjectParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
        most: u32,
        gaussians: Address,
        camera: KernelCamera,
        splats: Address,
        macro_tile_counts: Address,
        pairs: Address,
        masks: Address,
        room: u32,
        large_queue: Address,
        large_room: u32,
        depths: Address,
        splat_order: Address,
        pair_counts: Address,
        splat_of: Address,
        splat_room: u32,
        counters: Address,
        shape: ShapeColumns,
        rays: Address,
        blocks: RowBlocks,
        shard: Address,
        lens: KernelLens,
    }
}

/// A constant: 1 for harmonics that are halves.
const HALF_SH: &str = "HALF_SH";

/// `SH_DEGREE` in use, `SH_ROW` numbers stored for each Gaussian.
pub(super) fn harmonics(in_use: u8, stored: u8) -> Vec<(&'static str, String)> {
    vec![
        ("SH_DEGREE", in_use.to_string()),
        ("SH_ROW", (3 * sh::coefficients(stored)).to_string()),
    ]
}

/// The constant of harmonics that are floats, until [`with_halves`] says otherwise.
pub(super) fn in_floats() -> (&'static str, String) {
    (HALF_SH, "0".to_string())
}

/// The constants of Mip-Splatting's 2D filter, of columns that change how Gaussians are drawn, and
/// of lenses, 0 if there is none: antialias.cuh, shape_columns.cuh, lens.cuh and shutter.cuh.
pub(super) const NO_FILTER: [&str; 3] = ["ANTIALIAS", "SHAPE_COLUMNS", "LENS"];

/// A constant: the column of the sums that holds dL/dz, or 0 if the loss does not depend on depth.
const DEPTH_COLUMN: &str = "DEPTH_COLUMN";

/// A constant of `project`: 1 also writes what depths along rays follow from.
const RAYS: &str = "RAYS";
/// Bytes of a `RayShape` (ops/shared/ray_depth.cuh).
pub const RAY_BYTES: usize = 32;

/// `project`, which counts each splat's pairs with tiles.
pub fn project(in_use: u8, stored: u8, intersect: Intersect) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(footprint(intersect));
    constants.push(in_floats());
    constants.push((RAYS, "0".to_string()));
    constants.push(("DEPTH_BITS", sort::DEPTH_BITS.to_string()));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    program("project.cu", constants, [ProjectParams::kernel("project")])
}

/// `project` that bins pairs to macro-tiles.
pub fn project_binned(
    in_use: u8,
    stored: u8,
    intersect: Intersect,
    macro_tiles: bin::MacroTiles,
) -> Program {
    let mut program = project(in_use, stored, intersect);
    program
        .constants
        .push(("MACRO_TILE_SIDE", macro_tiles.side.to_string()));
    program.constants.extend(macro_tiles.constants());
    program
        .constants
        .push(("LARGE_ROWS", bin::LARGE_ROWS.to_string()));
    program
}

/// `project` that also writes what depths along rays follow from.
pub fn with_rays(project: Program) -> Program {
    project.with(RAYS, 1)
}

/// `project`, and where rows of halves are as long as rows of floats `project_backward`, `adam` or
/// gradients of poses, of Gaussians whose harmonics are stored as halves if `half`; see [`half`].
pub fn with_halves(program: Program, stored: u8, half: bool) -> Program {
    match half {
        true => program.with("SH_ROW", half::row(stored)).with(HALF_SH, 1),
        false => program,
    }
}

/// `project` or `adam` of a rank that has a part of the Gaussians.
pub fn of_shard(mut program: Program) -> Program {
    program.constants.push(("SHARD", "1".to_string()));
    program
}

/// `project`, `project_backward`, gradients of cameras or `adam` with Mip-Splatting's 2D filter if
/// `antialias`, of Gaussians whose columns change how they are drawn if `shaped`.
pub fn filtered(program: Program, antialias: bool, shaped: bool) -> Program {
    program
        .with("ANTIALIAS", antialias as u8)
        .with("SHAPE_COLUMNS", shaped as u8)
}

/// `project`, `project_backward`, gradients of cameras or `adam` of a camera of a kind.
pub fn through_lens(program: Program, lens: LensKind) -> Program {
    program.with("LENS", lens as u8)
}

/// [`by_depth`] of a loss that does not depend on depth, for programs that include
/// `project_backward.cuh`.
pub(super) fn no_depth() -> (&'static str, String) {
    (DEPTH_COLUMN, "0".to_string())
}

/// `project_backward`, gradients of cameras or `adam` where the loss depends on depth if `depth`.
pub fn by_depth(program: Program, depth: bool) -> Program {
    program.with(DEPTH_COLUMN, if depth { OF_DEPTH } else { 0 })
}

#[cfg(test)]
mod tests;

/// The parameters that every variant has; where lists go is left null.
pub fn params(
    scene: SceneAddresses,
    view: &KernelCamera,
    splats: Address,
    counters: Address,
) -> ProjectParams {
    let [means, log_scales, rotations, opacity_logits, sh] = scene.arrays;
    ProjectParams {
        means,
        log_scales,
        rotations,
        opacity_logits,
        sh,
        most: scene.count as u32,
        gaussians: scene.count_at,
        camera: *view,
        splats,
        counters,
        shape: scene.shape,
        ..ProjectParams::zeroed()
    }
}

/// Projects so many Gaussians: all of them, or a rank's.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    rows: usize,
    params: &ProjectParams,
) -> Result<(), BackendError> {
    let block = kernel.tuned("BLOCK")?;
    queue.launch(kernel, (rows as u32).div_ceil(block), block, params)
}
