//! `exposure`: each photo's own affine transform of colours, between `blend` and `loss`; launches
//! `ops/exposure/exposure.cu`, which says how and how fast. What it is for:
//! [`splatcore_core::exposure`].

use crate::device::Kernels;
use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Program};
use crate::ops::adam::rates;
use crate::ops::constants::float;
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::backend::BETAS;
use splatcore_core::exposure::{Exposure, Exposures, PULL};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `expose` (exposure.cu).
    pub struct ExposeParams {
        image: Address,
        exposure: Address,
        exposed: Address,
        pixels: u32,
        counters: Address,
    }

    /// Parameters of `expose_backward` (exposure.cu).
    pub struct ExposeBackwardParams {
        image: Address,
        exposure: Address,
        gradient: Address,
        partials: Address,
        pixels: u32,
        counters: Address,
    }

    /// Parameters of `update_exposure` (exposure.cu).
    pub struct UpdateExposureParams {
        partials: Address,
        blocks: u32,
        exposures: Address,
        first: Address,
        second: Address,
        seen: Address,
        view: u32,
        views: u32,
        rate: f32,
        counters: Address,
    }
}

/// Threads of a block of the two large kernels.
const BLOCK: u32 = 256;
/// Pixels of a thread of the second.
const BATCH: u32 = 8;
/// Numbers of a transform, of which each has a warp in the last kernel.
const NUMBERS: usize = 12;
const NUMBER_BYTES: usize = NUMBERS * size_of::<f32>();

/// What [`Exposed`] compiles.
pub fn program() -> Program {
    let mut constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("BATCH", BATCH.to_string()),
        ("NUMBERS", NUMBERS.to_string()),
        float("LN_BETA1", BETAS[0].ln()),
        float("LN_BETA2", BETAS[1].ln()),
        float("PULL", f64::from(PULL)),
    ];
    constants.extend(rates::constants());
    sources::program(
        "exposure.cu",
        constants,
        [
            ExposeParams::kernel("expose"),
            ExposeBackwardParams::kernel("expose_backward"),
            UpdateExposureParams::kernel("update_exposure"),
        ],
    )
}

/// Transforms and moments of all views, and what lies between the kernels. Takes no memory before
/// the first step that learns a transform.
pub struct Exposed {
    views: usize,
    /// Whether there are transforms.
    any: bool,
    kernels: Option<[Kernel; 3]>,
    /// `[views][12]` f32, and Adam's moments of them.
    parameters: Buffer,
    first: Buffer,
    second: Buffer,
    /// `[views]` u32.
    seen: Buffer,
    /// What the loss sees, `[3][height * width]` f32.
    image: Buffer,
    /// Sums of blocks of each frame of a step, `[12][blocks]` f32, and the frame's pixels.
    partials: Vec<(Buffer, usize)>,
}

impl Exposed {
    /// For so many views, without transforms.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>, views: usize) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            views,
            any: false,
            kernels: None,
            parameters: empty("exposures of the photos")?,
            first: empty("exposures of the photos")?,
            second: empty("exposures of the photos")?,
            seen: empty("exposures of the photos")?,
            image: empty("exposed image")?,
            partials: Vec::new(),
        })
    }

    /// Whether the kernels are known.
    pub fn is_compiled(&self) -> bool {
        self.kernels.is_some()
    }

    /// Whether a step has learned any transform.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Becomes these transforms, which are none or one a view.
    ///
    /// # Errors
    /// If they do not fit or the device failed; there are none then.
    pub fn replace(&mut self, exposures: &Exposures) -> Result<(), BackendError> {
        self.any = false;
        if exposures.is_empty() {
            return Ok(());
        }
        for (buffer, rows) in [
            (&mut self.parameters, &exposures.parameters),
            (&mut self.first, &exposures.first),
            (&mut self.second, &exposures.second),
        ] {
            buffer.reserve_exactly(NUMBER_BYTES * rows.len())?;
            buffer.write(0, rows)?;
        }
        let bytes = size_of_val(&exposures.seen[..]);
        self.seen.reserve_exactly(bytes)?;
        self.seen.write(0, &exposures.seen)?;
        self.any = true;
        Ok(())
    }

    /// The transforms alone; none if no step has learned any.
    ///
    /// # Errors
    /// If the device failed.
    pub fn parameters(&self) -> Result<Vec<Exposure>, BackendError> {
        match self.any {
            true => self.parameters.to_vec(self.views),
            false => Ok(Vec::new()),
        }
    }

    /// Everything.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self) -> Result<Exposures, BackendError> {
        if !self.any {
            return Ok(Exposures::default());
        }
        Ok(Exposures {
            parameters: self.parameters.to_vec(self.views)?,
            first: self.first.to_vec(self.views)?,
            second: self.second.to_vec(self.views)?,
            seen: self.seen.to_vec(self.views)?,
        })
    }

    /// Puts the transform of `image` (`[3][pixels]` f32) into the queue and returns where its
    /// result is. The first time all transforms become the identity. `frame` is its place in
    /// the step, `counters` the address of the frame's counters.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn expose(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        image: u64,
        pixels: usize,
        (frame, view): (usize, usize),
        counters: u64,
    ) -> Result<u64, BackendError> {
        let [expose, ..] = self.kernels(kernels)?;
        // All memory of a step comes before anything changes.
        self.image.reserve_exactly(3 * size_of::<f32>() * pixels)?;
        self.reserve_partials(queue, pixels, frame)?;
        if !self.any {
            self.replace(&Exposures::fresh(self.views))?;
        }
        queue.launch(
            expose,
            (pixels as u32).div_ceil(BLOCK),
            BLOCK,
            &ExposeParams {
                image,
                exposure: self.of(view),
                exposed: self.image.address(),
                pixels: pixels as u32,
                counters,
            },
        )?;
        Ok(self.image.address())
    }

    /// Turns the gradient of what [`Exposed::expose`] made into that of `image`, in place, and
    /// keeps the sums for [`Exposed::update`].
    ///
    /// # Errors
    /// If compiling failed or the device failed.
    pub fn backward(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        image: u64,
        gradient: u64,
        (frame, view): (usize, usize),
        counters: u64,
    ) -> Result<(), BackendError> {
        let (partials, pixels) = self.partials_of(frame)?;
        let [_, backward, _] = self.kernels(kernels)?;
        queue.launch(
            backward,
            blocks(pixels),
            BLOCK,
            &ExposeBackwardParams {
                image,
                exposure: self.of(view),
                gradient,
                partials,
                pixels: pixels as u32,
                counters,
            },
        )
    }

    /// Where the sums of a frame are that [`Exposed::backward`] keeps, and their bytes; makes room
    /// for them where the frame was rendered by another rank.
    ///
    /// # Errors
    /// If memory is short.
    pub fn sums_of(
        &mut self,
        queue: &Queue,
        pixels: usize,
        frame: usize,
    ) -> Result<(u64, usize), BackendError> {
        self.reserve_partials(queue, pixels, frame)?;
        if !self.any {
            self.replace(&Exposures::fresh(self.views))?;
        }
        let bytes = NUMBER_BYTES * blocks(pixels) as usize;
        Ok((self.partials[frame].0.address(), bytes))
    }

    /// Takes Adam's step on the transform of a frame's view.
    ///
    /// # Errors
    /// If compiling failed or the device failed.
    pub fn update(
        &mut self,
        queue: &Queue,
        kernels: &Kernels,
        (frame, view): (usize, usize),
        rate: f32,
        counters: u64,
    ) -> Result<(), BackendError> {
        let (partials, pixels) = self.partials_of(frame)?;
        let [_, _, update] = self.kernels(kernels)?;
        queue.launch(
            update,
            1,
            32 * NUMBERS as u32,
            &UpdateExposureParams {
                partials,
                blocks: blocks(pixels),
                exposures: self.parameters.address(),
                first: self.first.address(),
                second: self.second.address(),
                seen: self.seen.address(),
                view: view as u32,
                views: self.views as u32,
                rate,
                counters,
            },
        )
    }

    fn reserve_partials(
        &mut self,
        queue: &Queue,
        pixels: usize,
        frame: usize,
    ) -> Result<(), BackendError> {
        while self.partials.len() <= frame {
            let empty = Buffer::new(&queue.device, "partial sums of the exposed image", 0)?;
            self.partials.push((empty, 0));
        }
        let (buffer, size) = &mut self.partials[frame];
        buffer.reserve_exactly(NUMBER_BYTES * blocks(pixels) as usize)?;
        *size = pixels;
        Ok(())
    }

    /// Where the sums of a frame are, and its pixels.
    fn partials_of(&self, frame: usize) -> Result<(u64, usize), BackendError> {
        let known = self.partials.get(frame);
        let missing = || BackendError::Input(format!("frame {frame} was not exposed"));
        known
            .map(|(buffer, pixels)| (buffer.address(), *pixels))
            .ok_or_else(missing)
    }

    /// Where a view's transform is, if there are any.
    pub fn of(&self, view: usize) -> u64 {
        self.parameters.address() + (NUMBER_BYTES * view) as u64
    }

    fn kernels(&mut self, kernels: &Kernels) -> Result<[Kernel; 3], BackendError> {
        if let Some(known) = self.kernels {
            return Ok(known);
        }
        let loaded = kernels.get(&program()).map_err(failed)?;
        let loaded: [Kernel; 3] = loaded[..]
            .try_into()
            .map_err(|_| wrong_program("exposure"))?;
        Ok(*self.kernels.insert(loaded))
    }
}

/// Blocks of `expose_backward`.
fn blocks(pixels: usize) -> u32 {
    (pixels as u32).div_ceil(BLOCK * BATCH)
}

#[cfg(test)]
mod tests;
