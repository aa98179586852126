//! `smoothing`: Mip-Splatting's 3D filter for each Gaussian, on the device; launches `kernels/smoothing.cu`. What it is:
//! [`splatcore_core::smoothing`]. CPU twin: `splatcore_cpu`'s `smoothing`.

use crate::camera::upload;
use crate::device::buffer::{device_error, failed};
use crate::device::program::files;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::launch::{Queue, arguments};
use crate::programs::Kernels;
use crate::state::{MEANS, State};
use splatcore_core::{BackendError, View};
use std::sync::Arc;

const THREADS: usize = 256;

/// What [`Smoothing`] compiles.
pub fn program() -> Program {
    Program {
        op: "smoothing",
        files: files!["smoothing.cu"],
        constants: Vec::new(),
        kernels: &["smoothing"],
    }
}

/// The kernel and the cameras of all views.
pub struct Smoothing {
    kernel: Kernel,
    cameras: Buffer,
    views: usize,
}

impl Smoothing {
    /// Compiles the kernel and uploads the cameras.
    ///
    /// # Errors
    /// If compiling failed or memory is short.
    pub fn new(device: &Arc<dyn Device>, kernels: &Kernels, views: &[View]) -> Result<Self, BackendError> {
        let &[kernel] = &kernels.get(&program()).map_err(failed)?[..] else {
            return Err(device_error(
                "the program of smoothing has other kernels than asked for".into(),
            ));
        };
        Ok(Self {
            kernel,
            cameras: upload(device, views)?,
            views: views.len(),
        })
    }

    /// Gives every Gaussian its filter.
    ///
    /// # Errors
    /// If memory is short (the state is then as before) or the device failed.
    pub fn compute(&self, queue: &Queue, state: &mut State) -> Result<(), BackendError> {
        // Later growth is densification's, with all other arrays.
        if !state.smoothed {
            state
                .smoothing
                .reserve_exactly(state.capacity * size_of::<f32>())?;
            state.smoothed = true;
        }
        let (count, views) = (state.count as u32, self.views as u32);
        queue.launch(
            self.kernel,
            state.count.div_ceil(THREADS) as u32,
            THREADS as u32,
            &mut arguments![
                state.groups[MEANS].parameters.address(),
                count,
                self.cameras.address(),
                views,
                state.smoothing.address()
            ],
        )
    }
}
