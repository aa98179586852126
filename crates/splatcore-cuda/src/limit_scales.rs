//! `limit_scales`: no Gaussian is larger than a share of its distance from the nearest camera
//! ([`splatcore_core::scale_limit`]), on the device; launches `kernels/limit_scales.cu`. CPU twin: `splatcore_cpu`'s
//! `limit_scales`.

use crate::camera::upload;
use crate::device::buffer::{device_error, failed};
use crate::device::program::files;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::launch::{Queue, arguments};
use crate::programs::Kernels;
use crate::state::{LOG_SCALES, MEANS, State};
use splatcore_core::{BackendError, View};
use std::sync::Arc;

const THREADS: usize = 256;

/// What [`LimitScales`] compiles.
pub fn program() -> Program {
    Program {
        op: "limit_scales",
        files: files!["limit_scales.cu"],
        constants: Vec::new(),
        kernels: &["limit_scales"],
    }
}

/// The kernel and the cameras of all views.
pub struct LimitScales {
    kernel: Kernel,
    cameras: Buffer,
    views: usize,
}

impl LimitScales {
    /// Compiles the kernel and uploads the cameras.
    ///
    /// # Errors
    /// If compiling failed or memory is short.
    pub fn new(device: &Arc<dyn Device>, kernels: &Kernels, views: &[View]) -> Result<Self, BackendError> {
        let &[kernel] = &kernels.get(&program()).map_err(failed)?[..] else {
            return Err(device_error(
                "the program of limit_scales has other kernels than asked for".into(),
            ));
        };
        Ok(Self {
            kernel,
            cameras: upload(device, views)?,
            views: views.len(),
        })
    }

    /// Caps every log scale.
    ///
    /// # Errors
    /// If the device failed.
    pub fn apply(&self, queue: &Queue, state: &State, share: f32) -> Result<(), BackendError> {
        let (count, views, log_share) = (state.count as u32, self.views as u32, share.ln());
        queue.launch(
            self.kernel,
            state.count.div_ceil(THREADS) as u32,
            THREADS as u32,
            &mut arguments![
                state.groups[MEANS].parameters.address(),
                state.groups[LOG_SCALES].parameters.address(),
                count,
                self.cameras.address(),
                views,
                log_share
            ],
        )
    }
}
