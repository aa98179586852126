//! `intrinsics_gradient`: the gradient of a frame's loss by the intrinsics of its camera; launches
//! `ops/intrinsics_gradient/intrinsics_gradient.cu`, which says how and how fast. What it is:
//! [`splatcore_core::IntrinsicsGradient`].

use super::constants::flag;
use super::project::{NO_FILTER, filtered, through_lens};
use super::sources;
use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::kept_rows::KeptRows;
use crate::ops::lens::KernelLens;
use crate::ops::pose_gradient::PoseFrame;
use crate::ops::scene::SceneAddresses;
use splatcore_core::backend::StepFrame;
use splatcore_core::{BackendError, IntrinsicsGradient};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `sum_intrinsics` (intrinsics_gradient.cu).
    pub struct SumIntrinsicsParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        smoothing: Address,
        gaussians: Address,
        splat_of: Address,
        splats: Address,
        sums: Address,
        counters: Address,
        partials: Address,
        camera: KernelCamera,
        lens: KernelLens,
    }

    /// Parameters of `finish_intrinsics` (intrinsics_gradient.cu).
    pub struct FinishIntrinsicsParams {
        partials: Address,
        blocks: u32,
        counters: Address,
        intrinsics: Address,
        camera: KernelCamera,
    }
}

/// Gaussians of a block, and threads.
const BLOCK: u32 = 128;
const NUMBERS: usize = IntrinsicsGradient::NUMBERS;

/// What decides which kernels run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IntrinsicsKind {
    /// Mip-Splatting's 2D filter.
    pub antialias: bool,
    /// Its 3D filter.
    pub smoothing: bool,
    /// The camera has a lens.
    pub lens: bool,
}

impl IntrinsicsKind {
    /// Both kernels.
    pub fn program(self) -> Program {
        let mut constants = vec![("SH_DEGREE", "0".to_string())];
        constants.push(("BLOCK", BLOCK.to_string()));
        constants.push(("INTRINSICS", NUMBERS.to_string()));
        constants.push(flag("ABSOLUTE", false));
        constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
        let kernels = [
            SumIntrinsicsParams::kernel("sum_intrinsics"),
            FinishIntrinsicsParams::kernel("finish_intrinsics"),
        ];
        let program = sources::program("intrinsics_gradient.cu", constants, kernels);
        through_lens(filtered(program, self.antialias, self.smoothing), self.lens)
    }
}

/// Gradients that were not asked for yet. Takes no memory before the first.
pub struct IntrinsicsGradients {
    partials: Buffer,
    intrinsics: KeptRows<NUMBERS>,
    kernels: Option<(IntrinsicsKind, [Kernel; 2])>,
}

impl IntrinsicsGradients {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        Ok(Self {
            partials: Buffer::new(device, "gradients of intrinsics", 0)?,
            intrinsics: KeptRows::new(device, "gradients of intrinsics")?,
            kernels: None,
        })
    }

    /// Puts the gradient of a frame's intrinsics into the queue.
    ///
    /// # Errors
    /// If memory is short, nobody has asked for a long time, compiling or a launch failed.
    pub fn add(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        scene: SceneAddresses,
        of: StepFrame<'_>,
        frame: &PoseFrame,
    ) -> Result<(), BackendError> {
        let blocks = (scene.count as u32).div_ceil(BLOCK);
        self.partials
            .reserve(size_of::<f32>() * NUMBERS * blocks as usize)?;
        let kind = IntrinsicsKind {
            antialias: frame.kind.antialias,
            smoothing: frame.kind.smoothing,
            lens: frame.kind.lens,
        };
        let [sum, finish] = self.kernels(kernels, kind)?;
        let intrinsics = self.intrinsics.row(of)?;
        let [means, log_scales, rotations, opacity_logits, _] = scene.arrays;
        let [splat_of, splats] = frame.splats;
        let params = SumIntrinsicsParams {
            means,
            log_scales,
            rotations,
            opacity_logits,
            smoothing: scene.smoothing,
            gaussians: scene.count_at,
            splat_of,
            splats,
            sums: frame.sums,
            counters: frame.counters,
            partials: self.partials.address(),
            camera: frame.camera,
            lens: frame.lens,
        };
        queue.launch(sum, blocks, BLOCK, &params)?;
        let params = FinishIntrinsicsParams {
            partials: self.partials.address(),
            blocks,
            counters: frame.counters,
            intrinsics,
            camera: frame.camera,
        };
        queue.launch(finish, 1, 32 * NUMBERS as u32, &params)?;
        queue.mark("intrinsics_gradient")
    }

    /// Those of a step are of nothing: it was not taken.
    pub fn forget(&mut self, step: u32) {
        self.intrinsics.forget(step);
    }

    /// All there are, which are gone then. Waits for the queue.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take(&mut self) -> Result<Vec<(usize, IntrinsicsGradient)>, BackendError> {
        let rows = self.intrinsics.take()?.into_iter();
        Ok(rows.map(|(view, numbers)| (view, numbers.into())).collect())
    }

    fn kernels(
        &mut self,
        kernels: &Kernels,
        kind: IntrinsicsKind,
    ) -> Result<[Kernel; 2], BackendError> {
        match self.kernels {
            Some((known, loaded)) if known == kind => Ok(loaded),
            _ => {
                let loaded = kernels.get(&kind.program()).map_err(failed)?;
                let loaded: [Kernel; 2] = loaded[..]
                    .try_into()
                    .map_err(|_| wrong_program("intrinsics_gradient"))?;
                self.kernels = Some((kind, loaded));
                Ok(loaded)
            }
        }
    }
}
