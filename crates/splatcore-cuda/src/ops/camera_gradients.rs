//! Gradients of cameras: what `pose_gradient/` and `intrinsics_gradient/` have in common. Two
//! kernels a frame leave a row of numbers on the device (shared/camera_sums.cuh), where it stays
//! until somebody asks.

use super::project::{NO_FILTER, by_depth, filtered, no_depth, through_lens};
use super::{constants::flag, sources};
use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::lens::{KernelLens, LensKind};
use crate::ops::row_blocks::{OwnRows, RowBlocks};
use crate::ops::scene::SceneAddresses;
use splatcore_core::BackendError;
use splatcore_core::backend::StepFrame;
use std::sync::Arc;

kernel_params! {
    /// Parameters of the kernel that sums (shared/camera_sums.cuh).
    pub struct SumCameraParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
        shape: ShapeColumns,
        gaussians: Address,
        splat_of: Address,
        splats: Address,
        sums: Address,
        counters: Address,
        partials: Address,
        blocks: RowBlocks,
        camera: KernelCamera,
        lens: KernelLens,
    }

    /// Parameters of the kernel that finishes (shared/camera_sums.cuh).
    pub struct FinishCameraParams {
        partials: Address,
        count: u32,
        blocks: RowBlocks,
        stride: u32,
        counters: Address,
        gradient: Address,
        camera: KernelCamera,
    }
}

/// Gaussians of a block.
const BLOCK: u32 = 128;
/// Threads of a block, which take the Gaussians with splats.
const THREADS: u32 = 64;

/// What decides which kernels run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CameraKind {
    /// Degree of the harmonics in use.
    pub in_use: u8,
    /// Degree as stored.
    pub stored: u8,
    /// Harmonics are halves.
    pub half: bool,
    /// Mip-Splatting's 2D filter.
    pub antialias: bool,
    /// Columns change how Gaussians are drawn.
    pub shaped: bool,
    /// What the camera is.
    pub lens: LensKind,
    /// The loss depends on depth.
    pub depth: bool,
}

impl CameraKind {
    /// Of a frame.
    pub fn new(scene: SceneAddresses, frame: StepFrame<'_>, lens: LensKind) -> Self {
        let options = &frame.plan.render;
        Self {
            in_use: options.sh_degree.min(scene.sh_degree),
            stored: scene.sh_degree,
            half: scene.half,
            antialias: options.antialias,
            shaped: scene.shape.any(),
            lens,
            depth: frame.plan.depth.is_some(),
        }
    }

    /// The two kernels of a file, which make so many numbers; the constants are the op's own.
    pub(super) fn program(
        self,
        file: &'static str,
        [sum, finish]: [&'static str; 2],
        numbers: usize,
        mut constants: Vec<(&'static str, String)>,
    ) -> Program {
        constants.push(("BLOCK", BLOCK.to_string()));
        constants.push(("THREADS", THREADS.to_string()));
        constants.push(("NUMBERS", numbers.to_string()));
        constants.push(flag("ABSOLUTE", false));
        constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
        constants.push(no_depth());
        let kernels = [
            SumCameraParams::kernel(sum),
            FinishCameraParams::kernel(finish),
        ];
        let program = sources::program(file, constants, kernels);
        let program = filtered(program, self.antialias, self.shaped);
        by_depth(through_lens(program, self.lens), self.depth)
    }
}

/// A frame whose sums are made, of a range of the Gaussians.
pub struct CameraFrame {
    /// As the kernels saw it.
    pub camera: KernelCamera,
    /// Its lens; of a pinhole zeros.
    pub lens: KernelLens,
    /// Compacted index of each of the rows, and the splats by it.
    pub splats: [Address; 2],
    /// A row of 12 floats for each splat.
    pub sums: Address,
    /// The counters.
    pub counters: Address,
    /// What it is rendered with.
    pub kind: CameraKind,
    /// Rows of the Gaussians that have their sums here.
    pub of: OwnRows,
    /// Most rows that a rank has.
    pub most_rows: usize,
}

/// Gives the others the own bytes of an array, and takes theirs: the address of what a rank has,
/// and the bytes of so many rows.
pub type Share<'a> =
    &'a dyn Fn(&dyn Fn(usize) -> Address, &dyn Fn(usize) -> usize) -> Result<(), BackendError>;

/// Gradients of N numbers that were not asked for yet. Takes no memory before the first.
pub struct CameraGradients<const N: usize> {
    op: &'static str,
    program: fn(CameraKind) -> Program,
    partials: Buffer,
    rows: KeptRows<N>,
    kernels: Option<(CameraKind, [Kernel; 2])>,
}

impl<const N: usize> CameraGradients<N> {
    /// None, of an op with this program; `what` is a plural.
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn new(
        device: &Arc<dyn Device>,
        op: &'static str,
        what: &'static str,
        program: fn(CameraKind) -> Program,
    ) -> Result<Self, BackendError> {
        Ok(Self {
            op,
            program,
            partials: Buffer::new(device, what, 0)?,
            rows: KeptRows::new(device, what)?,
            kernels: None,
        })
    }

    /// Puts the gradient of a frame's camera into the queue: the own Gaussians' part of it, which
    /// `share` makes that of all, and their sum. A step that is taken again, known by its number,
    /// writes to where it wrote before.
    ///
    /// # Errors
    /// If memory is short, nobody has asked for a long time, compiling or a launch failed.
    pub fn add(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        (scene, of): (SceneAddresses, StepFrame<'_>),
        frame: &CameraFrame,
        share: Share<'_>,
    ) -> Result<(), BackendError> {
        let OwnRows { blocks, count } = frame.of;
        let bytes = |rows: usize| size_of::<f32>() * N * rows.div_ceil(BLOCK as usize);
        let of_rank = bytes(frame.most_rows);
        self.partials.reserve(of_rank * blocks.ranks())?;
        let partials = self.partials.address();
        let place = |rank: usize| partials + (of_rank * rank) as u64;
        let [sum, finish] = self.kernels(kernels, frame.kind)?;
        let gradient = self.rows.row(of)?;
        let [means, log_scales, rotations, opacity_logits, sh] = scene.arrays;
        let [splat_of, splats] = frame.splats;
        let params = SumCameraParams {
            means,
            log_scales,
            rotations,
            opacity_logits,
            sh,
            shape: scene.shape,
            gaussians: scene.count_at,
            splat_of,
            splats,
            sums: frame.sums,
            counters: frame.counters,
            partials: place(blocks.rank()),
            blocks,
            camera: frame.camera,
            lens: frame.lens,
        };
        let own_blocks = (count as u32).div_ceil(BLOCK);
        queue.launch(sum, own_blocks, THREADS, &params)?;
        share(&place, &bytes)?;
        let params = FinishCameraParams {
            partials,
            count: (scene.count as u32).div_ceil(BLOCK),
            blocks,
            stride: (frame.most_rows as u32).div_ceil(BLOCK),
            counters: frame.counters,
            gradient,
            camera: frame.camera,
        };
        queue.launch(finish, 1, 32 * N as u32, &params)?;
        queue.mark(self.op)
    }

    /// Those of a step are of nothing: it was not taken.
    pub fn forget(&mut self, step: u32) {
        self.rows.forget(step);
    }

    /// All there are, with their views, which are gone then; `of` makes a gradient of its numbers.
    /// Waits for the queue.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take<T>(&mut self, of: fn([f64; N]) -> T) -> Result<Vec<(usize, T)>, BackendError> {
        let rows = self.rows.take()?.into_iter();
        Ok(rows.map(|(view, numbers)| (view, of(numbers))).collect())
    }

    fn kernels(
        &mut self,
        kernels: &Kernels,
        kind: CameraKind,
    ) -> Result<[Kernel; 2], BackendError> {
        match self.kernels {
            Some((known, loaded)) if known == kind => Ok(loaded),
            _ => {
                let loaded = kernels.get(&(self.program)(kind)).map_err(failed)?;
                let loaded: [Kernel; 2] =
                    loaded[..].try_into().map_err(|_| wrong_program(self.op))?;
                self.kernels = Some((kind, loaded));
                Ok(loaded)
            }
        }
    }
}

/// Rows that are kept at most.
const MAX_KEPT: usize = 4096;

/// Which frame of which step a row is of; without a view if the step was not taken.
struct Row {
    step: u32,
    index: usize,
    view: Option<usize>,
}

/// Rows of N f64. Takes no memory before the first.
struct KeptRows<const N: usize> {
    what: &'static str,
    /// `[MAX_KEPT][N]` f64.
    numbers: Buffer,
    rows: Vec<Row>,
}

impl<const N: usize> KeptRows<N> {
    /// None yet; `what` is a plural.
    ///
    /// # Errors
    /// If the device failed.
    fn new(device: &Arc<dyn Device>, what: &'static str) -> Result<Self, BackendError> {
        Ok(Self {
            what,
            numbers: Buffer::new(device, what, 0)?,
            rows: Vec::new(),
        })
    }

    /// Where a frame's row goes. A step that is taken again, known by its number, writes to where
    /// it wrote before.
    ///
    /// # Errors
    /// If memory is short, or nobody has asked for a long time.
    fn row(&mut self, of: StepFrame<'_>) -> Result<Address, BackendError> {
        self.numbers
            .reserve_exactly(size_of::<f64>() * N * MAX_KEPT)?;
        let (step, index, view) = (of.plan.step, of.index, Some(of.view()));
        let same = |row: &Row| (row.step, row.index) == (step, index);
        let at = match self.rows.iter().rposition(same) {
            Some(at) => at,
            None if self.rows.len() == MAX_KEPT => {
                return Err(BackendError::Input(format!(
                    "{MAX_KEPT} {} that nobody has asked for",
                    self.what
                )));
            }
            None => {
                self.rows.push(Row { step, index, view });
                self.rows.len() - 1
            }
        };
        self.rows[at].view = view;
        Ok(self.numbers.address() + (size_of::<f64>() * N * at) as u64)
    }

    /// Those of a step are of nothing: it was not taken.
    fn forget(&mut self, step: u32) {
        let of_step = self.rows.iter_mut().filter(|row| row.step == step);
        of_step.for_each(|row| row.view = None);
    }

    /// All there are, with their views, in the order of steps and frames; they are gone then. Waits
    /// for the queue.
    ///
    /// # Errors
    /// If the device failed.
    fn take(&mut self) -> Result<Vec<(usize, [f64; N])>, BackendError> {
        let rows = std::mem::take(&mut self.rows);
        let numbers: Vec<f64> = self.numbers.to_vec(N * rows.len())?;
        let of_row = |(at, row): (usize, &Row)| {
            let numbers = std::array::from_fn(|k| numbers[N * at + k]);
            row.view.map(|view| (view, numbers))
        };
        Ok(rows.iter().enumerate().filter_map(of_row).collect())
    }
}
