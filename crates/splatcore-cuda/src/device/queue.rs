//! Launching kernels and timing stages.

use crate::device::error::{device_error, failed};
use crate::device::{Device, Event, Kernel, Params};
use splatcore_core::BackendError;
use splatcore_core::backend::StageTimes;
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

/// A program that has not the kernels that its launcher knows.
pub(crate) fn wrong_program(op: &str) -> BackendError {
    device_error(format!(
        "the program of {op} has other kernels than asked for"
    ))
}

/// Puts a launch of `grid` blocks of `block` threads into the queue; no blocks, no launch.
///
/// # Errors
/// If the kernel takes other parameters, or the device refuses the launch.
pub fn launch<P: Params>(
    device: &dyn Device,
    kernel: Kernel,
    grid: u32,
    block: u32,
    params: &P,
) -> Result<(), BackendError> {
    if kernel.params != Some(P::LAYOUT) {
        return Err(device_error(format!(
            "a kernel was launched with {}, but takes {}",
            P::LAYOUT.name,
            kernel.params.map_or("something else", |layout| layout.name)
        )));
    }
    if grid == 0 {
        return Ok(());
    }
    let mut argument = [std::ptr::from_ref(params).cast_mut().cast::<c_void>()];
    // SAFETY: the kernel takes a struct of this layout, as was checked when it was compiled.
    unsafe { device.launch(kernel, grid, block, &mut argument) }.map_err(failed)
}

/// A device's queue, with marks between stages when someone wants their times.
pub struct Queue {
    /// Where it runs.
    pub device: Arc<dyn Device>,
    marks: RefCell<Option<Vec<(&'static str, Event)>>>,
}

impl Queue {
    /// A queue without marks.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            marks: RefCell::new(None),
        }
    }

    /// As [`launch`] on the queue's device.
    ///
    /// # Errors
    /// As there.
    pub fn launch<P: Params>(
        &self,
        kernel: Kernel,
        grid: u32,
        block: u32,
        params: &P,
    ) -> Result<(), BackendError> {
        launch(&*self.device, kernel, grid, block, params)
    }

    /// From now on, [`Queue::mark`] notes where a stage ends.
    ///
    /// # Errors
    /// If the device failed.
    pub fn start_marks(&self) -> Result<(), BackendError> {
        *self.marks.borrow_mut() = Some(vec![("start", self.device.record().map_err(failed)?)]);
        Ok(())
    }

    /// A mark that does not make [`Queue::mark`] leave more.
    ///
    /// # Errors
    /// If the device failed.
    pub fn first_mark(&self) -> Result<Marks, BackendError> {
        Ok(Marks {
            device: self.device.clone(),
            marks: vec![("start", self.device.record().map_err(failed)?)],
        })
    }

    /// Ends a stage.
    ///
    /// # Errors
    /// If the device failed.
    pub fn mark(&self, stage: &'static str) -> Result<(), BackendError> {
        if let Some(marks) = self.marks.borrow_mut().as_mut() {
            marks.push((stage, self.device.record().map_err(failed)?));
        }
        Ok(())
    }

    /// Leaves no more marks; returns those left since [`Queue::start_marks`].
    pub fn stop_marks(&self) -> Marks {
        Marks {
            device: self.device.clone(),
            marks: self.marks.borrow_mut().take().unwrap_or_default(),
        }
    }

    /// Waits and returns the stages' times in seconds; stages of one name are added up.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take_times(&self) -> Result<StageTimes, BackendError> {
        let marks = self.stop_marks();
        self.device.synchronize().map_err(failed)?;
        marks.times()
    }
}

/// Where stages ended in the queue.
pub struct Marks {
    device: Arc<dyn Device>,
    marks: Vec<(&'static str, Event)>,
}

impl Marks {
    /// One more, where a stage ends.
    ///
    /// # Errors
    /// If the device failed.
    pub fn add(&mut self, stage: &'static str) -> Result<(), BackendError> {
        self.marks
            .push((stage, self.device.record().map_err(failed)?));
        Ok(())
    }

    /// The stages' times in seconds, gaps between launches included; stages of one name are added
    /// up. The queue has passed the marks.
    ///
    /// # Errors
    /// If the device failed.
    pub fn times(&self) -> Result<StageTimes, BackendError> {
        let mut times = StageTimes::new();
        for pair in self.marks.windows(2) {
            let [(_, from), (stage, to)] = pair else {
                continue;
            };
            let seconds = self.device.seconds(from, to).map_err(failed)?;
            match times.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => times.push((stage, seconds)),
            }
        }
        Ok(times)
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        for (_, event) in self.marks.drain(..) {
            self.device.discard(event);
        }
    }
}
