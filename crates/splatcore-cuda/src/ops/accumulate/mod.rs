//! `accumulate`: the gradients of a step's frames, added up.

use super::project::harmonics;
use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program, error::failed};
use crate::ops::camera::KernelCamera;
use crate::ops::row_blocks::{OwnRows, RowBlocks};
use crate::ops::scene::SceneAddresses;
use splatcore_core::{BackendError, sh};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `accumulate` (accumulate.cu).
    pub struct AccumulateParams {
        means: Address,
        splat_of: Address,
        gradients: Address,
        gaussians: Address,
        camera: KernelCamera,
        rows: Address,
        sh: Address,
        counters: Address,
        blocks: RowBlocks,
        is_first: u32,
    }
}

/// Gaussians of a block, and threads.
const BLOCK: u32 = 256;
/// Bytes of `GradientRow` (gradient_row.cuh).
const ROW_BYTES: usize = 64;

/// `accumulate` for degrees in use and stored.
pub fn program(in_use: u8, stored: u8) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(("BLOCK", BLOCK.to_string()));
    let kernels = [AccumulateParams::kernel("accumulate")];
    sources::program("accumulate.cu", constants, kernels)
}

/// The gradients that the frames of a step add up. Takes no memory before the first step of
/// several frames.
pub struct BatchGradients {
    rows: Buffer,
    sh: Buffer,
    /// The kernel and the degrees that it is for.
    kernel: Option<([u8; 2], Kernel)>,
}

/// A frame's part in the sums.
pub struct FrameGradients {
    /// Compacted index of each of the rows that the frame's gradients are of.
    pub splat_of: Address,
    /// A row of 16 floats for each compacted index, of `project_backward`.
    pub rows: Address,
    /// Degree of the harmonics in use.
    pub sh_degree: u8,
    /// The counters.
    pub counters: Address,
    /// These rows.
    pub of: OwnRows,
    /// Whether the frame is the first of its step.
    pub is_first: bool,
}

impl BatchGradients {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = || Buffer::new(device, "gradients of a batch", 0);
        Ok(Self {
            rows: empty()?,
            sh: empty()?,
            kernel: None,
        })
    }

    /// Makes room for so many Gaussians of this stored degree.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve(&mut self, gaussians: usize, stored: u8) -> Result<(), BackendError> {
        let sh_row = size_of::<f32>() * 3 * sh::coefficients(stored);
        self.rows.reserve(ROW_BYTES * gaussians)?;
        self.sh.reserve(sh_row * gaussians).map(drop)
    }

    /// Puts the addition of a frame's gradients into the queue.
    ///
    /// # Errors
    /// If compiling or the launch failed.
    pub fn add(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        scene: SceneAddresses,
        camera: &KernelCamera,
        frame: &FrameGradients,
    ) -> Result<(), BackendError> {
        let degrees = [frame.sh_degree.min(scene.sh_degree), scene.sh_degree];
        let kernel = match self.kernel {
            Some((known, kernel)) if known == degrees => kernel,
            _ => {
                let program = program(degrees[0], degrees[1]);
                let [kernel] = kernels.get(&program).map_err(failed)?[..] else {
                    return Err(wrong_program(program.name()));
                };
                self.kernel = Some((degrees, kernel));
                kernel
            }
        };
        let params = AccumulateParams {
            means: scene.arrays[0],
            splat_of: frame.splat_of,
            gradients: frame.rows,
            gaussians: scene.count_at,
            camera: *camera,
            rows: self.rows.address(),
            sh: self.sh.address(),
            counters: frame.counters,
            blocks: frame.of.blocks,
            is_first: frame.is_first as u32,
        };
        let blocks = (frame.of.count as u32).div_ceil(BLOCK);
        queue.launch(kernel, blocks, BLOCK, &params)?;
        queue.mark("accumulate")
    }

    /// Addresses of the rows and of the harmonics' gradients.
    pub fn addresses(&self) -> [Address; 2] {
        [self.rows.address(), self.sh.address()]
    }
}
