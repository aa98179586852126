//! `sky`: the colour of the ray's direction behind what was blended; launches the kernels of
//! `ops/sky/sky.cu`. What it is for: [`splatcore_core::sky`].

use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::colour::rows::{self, ColourRows, Rows};
use crate::ops::sources;
use splatcore_core::colour::ColourTable;
use splatcore_core::sky::{self, COEFFICIENTS, DEGREE, NUMBERS, Rays, Sky};
use splatcore_core::{BackendError, Camera};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `put_sky` (sky.cu).
    pub struct PutSkyParams {
        image: Address,
        transmittances: Address,
        numbers: Address,
        rays: Address,
        camera: KernelCamera,
        counters: Address,
    }

    /// Parameters of `sky_sums` (sky.cu).
    pub struct SkySumsParams {
        gradient: Address,
        transmittances: Address,
        rays: Address,
        partials: Address,
        camera: KernelCamera,
        counters: Address,
    }

    /// Parameters of `sky_gradient` (sky.cu).
    pub struct SkyGradientParams {
        partials: Address,
        gradient: Address,
        blocks: u32,
        counters: Address,
    }

    /// Parameters of `update_sky` (sky.cu).
    pub struct UpdateSkyParams {
        gradients: Address,
        sky: ColourRows,
        frames: u32,
        counters: Address,
    }
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// Pixels of a thread of `sky_sums`.
const BATCH: u32 = 8;
const WARP: u32 = 32;

/// The kernels.
pub fn program() -> Program {
    let mut constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("BATCH", BATCH.to_string()),
        ("COEFFICIENTS", COEFFICIENTS.to_string()),
        ("DEGREE", DEGREE.to_string()),
    ];
    constants.extend(rows::constants());
    sources::program(
        "sky.cu",
        constants,
        [
            PutSkyParams::kernel("put_sky"),
            SkySumsParams::kernel("sky_sums"),
            SkyGradientParams::kernel("sky_gradient"),
            UpdateSkyParams::kernel("update_sky"),
        ],
    )
}

/// A frame with a sky: its camera, as it is and as kernels have it, and the addresses of its
/// transmittance, `[height][width]` f32, and of its counters.
#[derive(Clone, Copy, Debug)]
pub struct SkyFrame<'a> {
    /// The camera.
    pub camera: &'a Camera,
    /// The same.
    pub view: KernelCamera,
    /// Behind the last fragment of each pixel.
    pub transmittances: Address,
    /// The frame's counters.
    pub counters: Address,
}

/// What lies behind scenes, on the device. Takes no memory before the first frame with a sky.
pub struct Skies {
    kernels: Option<[Kernel; 4]>,
    /// Rays of the last camera with a lens, `[height][width][3]` f32.
    rays: Rays,
    ray_buffer: Buffer,
    /// The sky that was given last, and its numbers.
    given: Option<Arc<Sky>>,
    numbers: Buffer,
    /// The sky that learns.
    learned: Rows,
    /// Sums of blocks, `[NUMBERS][blocks]` f32.
    partials: Buffer,
    /// `[frames][NUMBERS]` f32.
    gradients: Buffer,
}

impl Skies {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            kernels: None,
            rays: Rays::default(),
            ray_buffer: empty("rays of a lens")?,
            given: None,
            numbers: empty("numbers of the sky")?,
            learned: Rows::new(device, "numbers of the sky that learns")?,
            partials: empty("partial sums of the sky")?,
            gradients: empty("gradients of the sky")?,
        })
    }

    /// Whether nothing is left to compile.
    pub fn is_compiled(&self) -> bool {
        self.kernels.is_some()
    }

    /// The sky that learns becomes this one, or none.
    ///
    /// # Errors
    /// If the device failed.
    pub fn replace(&mut self, table: &ColourTable) -> Result<(), BackendError> {
        match self.learns() || table.rows() > 0 {
            true => self.learned.replace(table),
            false => Ok(()),
        }
    }

    /// The sky that learns.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self) -> Result<ColourTable, BackendError> {
        match self.learns() {
            true => self.learned.download(),
            false => Ok(ColourTable::default()),
        }
    }

    /// Whether there is a sky that learns.
    pub fn learns(&self) -> bool {
        self.learned.count() > 0
    }

    /// Makes room for a step of so many frames that learns the sky, which the first time is grey.
    ///
    /// # Errors
    /// If memory is short.
    pub fn start(&mut self, frames: usize) -> Result<(), BackendError> {
        if !self.learns() {
            self.replace(&sky::fresh())?;
        }
        let bytes = frames * size_of::<f32>() * NUMBERS;
        self.gradients.reserve_exactly(bytes).map(drop)
    }

    /// Where the gradient of a frame of the step is, and its bytes.
    pub fn gradient_of(&self, index: usize) -> (Address, usize) {
        let bytes = size_of::<f32>() * NUMBERS;
        (self.gradients.address() + (bytes * index) as u64, bytes)
    }

    /// Puts a sky behind an image, `[3][height][width]` f32, or the one that learns if none is
    /// given.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn put(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        frame: &SkyFrame<'_>,
        given: Option<&Arc<Sky>>,
        image: Address,
    ) -> Result<(), BackendError> {
        let [put, ..] = self.kernels(kernels)?;
        let numbers = match given {
            None => self.learned.of(0),
            Some(sky) => {
                if self.given.as_ref() != Some(sky) {
                    let numbers = sky.coefficients.as_flattened();
                    self.numbers.reserve_exactly(size_of_val(numbers))?;
                    self.numbers.write(0, numbers)?;
                    self.given = Some(Arc::clone(sky));
                }
                self.numbers.address()
            }
        };
        let params = PutSkyParams {
            image,
            transmittances: frame.transmittances,
            numbers,
            rays: self.rays_of(frame.camera)?,
            camera: frame.view,
            counters: frame.counters,
        };
        let blocks = (frame.view.pixels() as u32).div_ceil(BLOCK);
        queue.launch(put, blocks, BLOCK, &params)?;
        queue.mark("sky")
    }

    /// Keeps the gradient of the sky that learns by a frame of the step for [`Skies::update`],
    /// given that of its image, `[3][height][width]` f32.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn backward(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        frame: &SkyFrame<'_>,
        index: usize,
        gradient: Address,
    ) -> Result<(), BackendError> {
        let [_, sums, add, _] = self.kernels(kernels)?;
        let blocks = (frame.view.pixels() as u32).div_ceil(BLOCK * BATCH);
        let bytes = size_of::<f32>() * NUMBERS * blocks as usize;
        self.partials.reserve_exactly(bytes)?;
        let (partials, counters) = (self.partials.address(), frame.counters);
        let params = SkySumsParams {
            gradient,
            transmittances: frame.transmittances,
            rays: self.rays_of(frame.camera)?,
            partials,
            camera: frame.view,
            counters,
        };
        queue.launch(sums, blocks, BLOCK, &params)?;
        let params = SkyGradientParams {
            partials,
            gradient: self.gradient_of(index).0,
            blocks,
            counters,
        };
        queue.launch(add, 1, WARP * WARP, &params)?;
        queue.mark("sky")
    }

    /// Takes Adam's step by the gradients of so many frames.
    ///
    /// # Errors
    /// If compiling failed or the device failed.
    pub fn update(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        rate: f32,
        frames: usize,
        counters: Address,
    ) -> Result<(), BackendError> {
        let [.., update] = self.kernels(kernels)?;
        let params = UpdateSkyParams {
            gradients: self.gradients.address(),
            sky: self.learned.params(0, rate),
            frames: frames as u32,
            counters,
        };
        queue.launch(update, 1, NUMBERS as u32, &params)?;
        queue.mark("sky")
    }

    /// Where the rays of a camera are; none of a pinhole, whose rays a kernel knows.
    fn rays_of(&mut self, camera: &Camera) -> Result<Address, BackendError> {
        if camera.is_pinhole() {
            return Ok(0);
        }
        if self.rays.follow(camera) {
            let directions = self.rays.directions.as_flattened();
            self.ray_buffer.reserve_exactly(size_of_val(directions))?;
            self.ray_buffer.write(0, directions)?;
        }
        Ok(self.ray_buffer.address())
    }

    fn kernels(&mut self, kernels: &Kernels) -> Result<[Kernel; 4], BackendError> {
        if let Some(loaded) = self.kernels {
            return Ok(loaded);
        }
        let loaded = kernels.get(&program()).map_err(failed)?;
        let loaded: [Kernel; 4] = loaded[..].try_into().map_err(|_| wrong_program("sky"))?;
        self.kernels = Some(loaded);
        Ok(loaded)
    }
}
