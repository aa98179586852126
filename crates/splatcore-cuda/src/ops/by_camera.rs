//! What an op needs that goes through all photos' cameras for each Gaussian: its kernel, and the
//! cameras on the device.

use crate::device::Kernels;
use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::KernelLens;
use bytemuck::Zeroable;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{BackendError, Camera};
use std::sync::Arc;

/// Threads of a block; one a Gaussian.
pub const BLOCK: u32 = 256;

/// See the module's documentation.
pub struct ByCamera {
    /// The program's only one.
    pub kernel: Kernel,
    /// A [`KernelCamera`] a view.
    pub cameras: Buffer,
    /// A [`KernelLens`] a view, of a global shutter; all zeros for a pinhole.
    pub lenses: Buffer,
    /// How many.
    pub views: u32,
}

impl ByCamera {
    /// Compiles the kernel and uploads the cameras.
    ///
    /// # Errors
    /// If compiling failed or memory is short.
    pub fn new(
        device: &Arc<dyn Device>,
        kernels: &Kernels,
        program: &Program,
        all: &[Camera],
    ) -> Result<Self, BackendError> {
        let &[kernel] = &kernels.get(program).map_err(failed)?[..] else {
            return Err(wrong_program(program.name()));
        };
        let options = RenderOptions::default();
        let cameras = all.iter().map(|camera| KernelCamera::new(camera, &options));
        let lenses = all
            .iter()
            .map(|camera| KernelLens::of(&camera.still()).unwrap_or_else(KernelLens::zeroed));
        Ok(Self {
            kernel,
            lenses: Buffer::from_slice(device, "lenses", &lenses.collect::<Vec<_>>())?,
            cameras: Buffer::from_slice(device, "cameras", &cameras.collect::<Vec<_>>())?,
            views: all.len() as u32,
        })
    }
}
