//! `pose_gradient`: the gradient of a frame's loss by the pose of its camera; launches
//! `ops/pose_gradient/pose_gradient.cu`, which says how and how fast. What it is:
//! [`splatcore_core::pose_gradient`].

use super::constants::flag;
use super::project::{NO_FILTER, filtered, harmonics, through_lens};
use super::sources;
use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::kept_rows::KeptRows;
use crate::ops::lens::KernelLens;
use crate::ops::scene::SceneAddresses;
use splatcore_core::backend::{RenderOptions, StepFrame};
use splatcore_core::{BackendError, PoseGradient};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `sum_poses` (pose_gradient.cu).
    pub struct SumPosesParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
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

    /// Parameters of `finish_pose` (pose_gradient.cu).
    pub struct FinishPoseParams {
        partials: Address,
        blocks: u32,
        counters: Address,
        pose: Address,
        camera: KernelCamera,
    }
}

/// Gaussians of a block, and threads.
const BLOCK: u32 = 128;
/// Numbers of a pose's gradient.
const NUMBERS: usize = 6;

/// What decides which kernels run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PoseKind {
    /// Degree of the harmonics in use.
    pub in_use: u8,
    /// Degree as stored.
    pub stored: u8,
    /// Mip-Splatting's 2D filter.
    pub antialias: bool,
    /// Its 3D filter.
    pub smoothing: bool,
    /// The camera has a lens.
    pub lens: bool,
}

impl PoseKind {
    /// Of a frame.
    pub fn new(scene: SceneAddresses, options: &RenderOptions, lens: bool) -> Self {
        Self {
            in_use: options.sh_degree.min(scene.sh_degree),
            stored: scene.sh_degree,
            antialias: options.antialias,
            smoothing: scene.smoothing != 0,
            lens,
        }
    }

    /// Both kernels.
    pub fn program(self) -> Program {
        let mut constants = harmonics(self.in_use, self.stored);
        constants.push(("BLOCK", BLOCK.to_string()));
        constants.push(("NUMBERS", NUMBERS.to_string()));
        constants.push(flag("ABSOLUTE", false));
        constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
        let kernels = [
            SumPosesParams::kernel("sum_poses"),
            FinishPoseParams::kernel("finish_pose"),
        ];
        let program = sources::program("pose_gradient.cu", constants, kernels);
        through_lens(filtered(program, self.antialias, self.smoothing), self.lens)
    }
}

/// A frame whose sums are made.
pub struct PoseFrame {
    /// As the kernels saw it.
    pub camera: KernelCamera,
    /// Its lens; of a pinhole zeros.
    pub lens: KernelLens,
    /// Compacted index of each Gaussian, and the splats by it.
    pub splats: [Address; 2],
    /// A row of 12 floats for each splat.
    pub sums: Address,
    /// The counters.
    pub counters: Address,
    /// What it is rendered with.
    pub kind: PoseKind,
}

/// Gradients that were not asked for yet. Takes no memory before the first.
pub struct PoseGradients {
    partials: Buffer,
    poses: KeptRows<NUMBERS>,
    kernels: Option<(PoseKind, [Kernel; 2])>,
}

impl PoseGradients {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        Ok(Self {
            partials: Buffer::new(device, "gradients of poses", 0)?,
            poses: KeptRows::new(device, "gradients of poses")?,
            kernels: None,
        })
    }

    /// Puts the gradient of a frame's pose into the queue. A step that is taken again, known by its
    /// number, writes to where it wrote before.
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
        let [sum, finish] = self.kernels(kernels, frame.kind)?;
        let pose = self.poses.row(of)?;
        let [means, log_scales, rotations, opacity_logits, sh] = scene.arrays;
        let [splat_of, splats] = frame.splats;
        let params = SumPosesParams {
            means,
            log_scales,
            rotations,
            opacity_logits,
            sh,
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
        let params = FinishPoseParams {
            partials: self.partials.address(),
            blocks,
            counters: frame.counters,
            pose,
            camera: frame.camera,
        };
        queue.launch(finish, 1, 32 * NUMBERS as u32, &params)?;
        queue.mark("pose_gradient")
    }

    /// Those of a step are of nothing: it was not taken.
    pub fn forget(&mut self, step: u32) {
        self.poses.forget(step);
    }

    /// All there are, which are gone then. Waits for the queue.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take(&mut self) -> Result<Vec<(usize, PoseGradient)>, BackendError> {
        let of_row = |(view, [a, b, c, x, y, z]): (usize, [f64; NUMBERS])| {
            let gradient = PoseGradient {
                rotation: [a, b, c],
                translation: [x, y, z],
            };
            (view, gradient)
        };
        Ok(self.poses.take()?.into_iter().map(of_row).collect())
    }

    fn kernels(&mut self, kernels: &Kernels, kind: PoseKind) -> Result<[Kernel; 2], BackendError> {
        match self.kernels {
            Some((known, loaded)) if known == kind => Ok(loaded),
            _ => {
                let loaded = kernels.get(&kind.program()).map_err(failed)?;
                let loaded: [Kernel; 2] = loaded[..]
                    .try_into()
                    .map_err(|_| wrong_program("pose_gradient"))?;
                self.kernels = Some((kind, loaded));
                Ok(loaded)
            }
        }
    }
}
