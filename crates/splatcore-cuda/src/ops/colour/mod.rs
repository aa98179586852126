//! `colour`: a photo's colour model between `blend` and `loss`; launches the kernels of
//! `ops/colour/colour_kernels.cuh`, of the model's file; of a grid, those of `bilateral.cu`. What
//! it is for: [`splatcore_core::colour`].

use crate::device::Kernels;
use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Program};
use crate::ops::constants::{flag, float};
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::colour::{ColourModel, ColourPlan, ColourState, Gauge, VERTICES};
use std::sync::Arc;

pub mod rows;

use rows::{ColourRows, Rows};

kernel_params! {
    /// Parameters of `apply_colour` (colour_params.cuh).
    pub struct ApplyColourParams {
        image: Address,
        photo: Address,
        camera: Address,
        seen: Address,
        behind: Address,
        background: [f32; 3],
        width: u32,
        height: u32,
        counters: Address,
    }

    /// Parameters of `colour_backward` (colour_params.cuh).
    pub struct ColourBackwardParams {
        image: Address,
        photo: Address,
        camera: Address,
        gradient: Address,
        partials: Address,
        width: u32,
        height: u32,
        counters: Address,
    }

    /// Parameters of `colour_gradient` (colour_kernels.cuh).
    pub struct ColourGradientParams {
        partials: Address,
        photo: Address,
        camera: Address,
        gradient: Address,
        blocks: u32,
        counters: Address,
    }

    /// Parameters of `update_colour` (colour_params.cuh).
    pub struct UpdateColourParams {
        gradient: Address,
        photos: ColourRows,
        cameras: ColourRows,
        counters: Address,
    }

    /// Parameters of `colour_gradient` of a grid (bilateral.cu).
    pub struct GridGradientParams {
        image: Address,
        by_seen: Address,
        photo: Address,
        gradient: Address,
        width: u32,
        height: u32,
        counters: Address,
    }

    /// Parameters of `gauge_colour` (bilateral.cu).
    pub struct GaugeColourParams {
        photos: ColourRows,
        counters: Address,
    }
}

/// Threads of a block of the two large kernels.
const BLOCK: u32 = 256;
/// Pixels of a thread of these.
const BATCH: u32 = 8;
const WARP: u32 = 32;
/// Most warps of a block that adds up sums.
const MAX_WARPS: usize = 32;
/// Parts of the pixels that reach a vertex of a grid, each a warp's.
const QUARTERS: u32 = 4;
/// Threads of a grid's `update_colour`.
const UPDATE_BLOCK: u32 = 1024;

/// The kernels of a model. Its file is called as the model, up to a dash.
pub fn program(model: ColourModel) -> Program {
    if is_grid(model) {
        return grid_program();
    }
    let entry = model.entry();
    let name = entry.name.split('-').next().unwrap_or(entry.name);
    let start: Vec<String> = entry.photo.iter().map(|v| format!("{v:?}f")).collect();
    let pull = match entry.gauge {
        Gauge::Pull(share) => share,
        Gauge::ZeroMean => 0.0,
    };
    let mut constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("BATCH", BATCH.to_string()),
        ("WARPS", warps(model).to_string()),
        ("FACTORS", entry.factor_count.to_string()),
        ("PHOTO_NUMBERS", entry.photo.len().to_string()),
        ("CAMERA_NUMBERS", entry.camera.len().to_string()),
        ("PHOTO_START", start.join(", ")),
        float("PULL", f64::from(pull)),
        flag("ZERO_MEAN", entry.gauge == Gauge::ZeroMean),
    ];
    constants.extend(rows::constants());
    sources::program(
        &format!("{name}.cu"),
        constants,
        [
            ApplyColourParams::kernel("apply_colour"),
            ColourBackwardParams::kernel("colour_backward"),
            ColourGradientParams::kernel("colour_gradient"),
            UpdateColourParams::kernel("update_colour"),
        ],
    )
}

/// Whether a model's numbers are too many for kernels that hold them in shared memory.
fn is_grid(model: ColourModel) -> bool {
    model == ColourModel::Bilateral
}

fn grid_program() -> Program {
    let numbers = ColourModel::Bilateral.entry().photo.len();
    let [wide, high, deep] = VERTICES;
    let mut constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("BATCH", BATCH.to_string()),
        ("UPDATE_BLOCK", UPDATE_BLOCK.to_string()),
        ("PHOTO_NUMBERS", numbers.to_string()),
        ("WIDE", wide.to_string()),
        ("HIGH", high.to_string()),
        ("DEEP", deep.to_string()),
        ("QUARTERS", QUARTERS.to_string()),
    ];
    constants.extend(rows::constants());
    sources::program(
        "bilateral.cu",
        constants,
        [
            ApplyColourParams::kernel("apply_colour"),
            ColourBackwardParams::kernel("colour_backward"),
            GridGradientParams::kernel("colour_gradient"),
            UpdateColourParams::kernel("update_colour"),
            GaugeColourParams::kernel("gauge_colour"),
        ],
    )
}

/// Warps of `colour_gradient`.
fn warps(model: ColourModel) -> usize {
    model.entry().factor_count.min(MAX_WARPS)
}

/// Blocks of the two large kernels.
fn blocks(pixels: usize) -> u32 {
    (pixels as u32).div_ceil(BLOCK * BATCH)
}

/// An image that goes through a model: its place in the step and its view, its size, and the
/// addresses of the rendered image, `[3][height][width]` f32, and of the frame's counters.
#[derive(Clone, Copy, Debug)]
pub struct ColouredFrame {
    /// Place in the step.
    pub index: usize,
    /// Index into the learner's views.
    pub view: usize,
    /// Width and height.
    pub size: [u32; 2],
    /// The rendered image.
    pub image: Address,
    /// The frame's counters.
    pub counters: Address,
}

impl ColouredFrame {
    fn pixels(&self) -> usize {
        self.size[0] as usize * self.size[1] as usize
    }
}

/// The kernels of a model.
#[derive(Clone, Copy)]
struct Loaded {
    apply: Kernel,
    backward: Kernel,
    of_numbers: Kernel,
    update: Kernel,
    /// Of a grid, whose `update` does not hold the mean.
    gauge: Option<Kernel>,
}

/// The numbers of all views and cameras, and what lies between the kernels. Takes no memory before
/// the first step that learns a model.
pub struct Coloured {
    /// Which camera took each view.
    cameras: Vec<usize>,
    /// Whose numbers there are.
    model: Option<ColourModel>,
    kernels: Option<(ColourModel, Loaded)>,
    photos: Rows,
    shared: Rows,
    /// What the loss sees, `[3][height][width]` f32.
    seen: Buffer,
    /// What the model makes of the background, 3 f32.
    behind: Buffer,
    /// Sums of blocks, `[factors][blocks]` f32.
    partials: Buffer,
    /// Gradients of the numbers of each frame of a step.
    gradients: Vec<Buffer>,
}

impl Coloured {
    /// For views that these cameras took, without numbers.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>, cameras: Vec<usize>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            cameras,
            model: None,
            kernels: None,
            photos: Rows::new(device, "colours of the photos")?,
            shared: Rows::new(device, "colours of the cameras")?,
            seen: empty("the image as a photo shows it")?,
            behind: Buffer::from_slice(device, "the background as a photo shows it", &[0f32; 3])?,
            partials: empty("partial sums of a colour model")?,
            gradients: Vec::new(),
        })
    }

    /// Whether nothing is left to compile for a model.
    pub fn is_compiled(&self, model: ColourModel) -> bool {
        self.kernels.is_some_and(|(known, _)| known == model)
    }

    /// Whose numbers a step has learned.
    pub fn model(&self) -> Option<ColourModel> {
        self.model
    }

    /// Becomes these numbers, which are none or fit the views.
    ///
    /// # Errors
    /// If the device failed; there are none then.
    pub fn replace(&mut self, colours: &ColourState) -> Result<(), BackendError> {
        self.model = None;
        self.photos.replace(&colours.photos)?;
        self.shared.replace(&colours.cameras)?;
        self.model = colours.model;
        Ok(())
    }

    /// Everything.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self) -> Result<ColourState, BackendError> {
        if self.model.is_none() {
            return Ok(ColourState::default());
        }
        Ok(ColourState {
            model: self.model,
            photos: self.photos.download()?,
            cameras: self.shared.download()?,
        })
    }

    /// Puts into the queue what a model makes of the frame's image and of the background, and
    /// returns where that is. The first time all numbers are at their start.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn apply(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        model: ColourModel,
        frame: &ColouredFrame,
        background: [f32; 3],
    ) -> Result<[Address; 2], BackendError> {
        let apply = self.kernels(kernels, model)?.apply;
        // All memory of a step comes before anything changes.
        let plane = size_of::<f32>() * frame.pixels();
        self.seen.reserve_exactly(3 * plane)?;
        self.gradient_of(queue, model, frame.index)?;
        let [photo, camera] = self.numbers_of(frame.view);
        let (seen, behind) = (self.seen.address(), self.behind.address());
        let params = ApplyColourParams {
            image: frame.image,
            photo,
            camera,
            seen,
            behind,
            background,
            width: frame.size[0],
            height: frame.size[1],
            counters: frame.counters,
        };
        queue.launch(apply, blocks(frame.pixels()), BLOCK, &params)?;
        Ok([seen, behind])
    }

    /// Turns the gradient of what [`Coloured::apply`] made into that of the image, in place, and
    /// keeps those of the numbers for [`Coloured::update`].
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn backward(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        model: ColourModel,
        frame: &ColouredFrame,
        gradient: Address,
    ) -> Result<(), BackendError> {
        let loaded = self.kernels(kernels, model)?;
        let (blocks, counters) = (blocks(frame.pixels()), frame.counters);
        let sums = match is_grid(model) {
            true => 0,
            false => model.entry().factor_count * blocks as usize,
        };
        self.partials.reserve_exactly(size_of::<f32>() * sums)?;
        let (to, _) = self.gradient_of(queue, model, frame.index)?;
        let [photo, camera] = self.numbers_of(frame.view);
        let partials = self.partials.address();
        if is_grid(model) {
            let params = GridGradientParams {
                image: frame.image,
                by_seen: gradient,
                photo,
                gradient: to,
                width: frame.size[0],
                height: frame.size[1],
                counters,
            };
            let [wide, high, deep] = VERTICES.map(|vertices| vertices as u32);
            let block = QUARTERS * deep * WARP;
            queue.launch(loaded.of_numbers, wide * high, block, &params)?;
        }
        let params = ColourBackwardParams {
            image: frame.image,
            photo,
            camera,
            gradient,
            partials,
            width: frame.size[0],
            height: frame.size[1],
            counters,
        };
        queue.launch(loaded.backward, blocks, BLOCK, &params)?;
        if is_grid(model) {
            return Ok(());
        }
        let params = ColourGradientParams {
            partials,
            photo,
            camera,
            gradient: to,
            blocks,
            counters,
        };
        queue.launch(loaded.of_numbers, 1, WARP * warps(model) as u32, &params)
    }

    /// Where the gradients of the numbers of a frame of the step are, and their bytes; makes room
    /// for them where the frame was rendered by another rank.
    ///
    /// # Errors
    /// If memory is short.
    pub fn gradient_of(
        &mut self,
        queue: &Queue,
        model: ColourModel,
        index: usize,
    ) -> Result<(Address, usize), BackendError> {
        while self.gradients.len() <= index {
            let empty = Buffer::new(&queue.device, "gradients of a colour model", 0)?;
            self.gradients.push(empty);
        }
        if self.model != Some(model) {
            let count = self.cameras.iter().max().map_or(0, |last| last + 1);
            self.replace(&ColourState::fresh(model, self.cameras.len(), count))?;
        }
        let entry = model.entry();
        let bytes = size_of::<f32>() * (entry.photo.len() + entry.camera.len());
        self.gradients[index].reserve_exactly(bytes)?;
        Ok((self.gradients[index].address(), bytes))
    }

    /// Takes Adam's step on the numbers of a frame's view and its camera.
    ///
    /// # Errors
    /// If compiling failed or the device failed.
    pub fn update(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        plan: &ColourPlan,
        (index, view): (usize, usize),
        counters: Address,
    ) -> Result<(), BackendError> {
        let loaded = self.kernels(kernels, plan.model)?;
        let (gradient, _) = self.gradient_of(queue, plan.model, index)?;
        let photos = self.photos.params(view, plan.photo_rate);
        let params = UpdateColourParams {
            gradient,
            photos,
            cameras: self.shared.params(self.cameras[view], plan.camera_rate),
            counters,
        };
        let numbers = plan.model.entry().photo.len() as u32;
        let Some(gauge) = loaded.gauge else {
            return queue.launch(loaded.update, 1, WARP * numbers, &params);
        };
        queue.launch(loaded.update, 1, UPDATE_BLOCK, &params)?;
        let params = GaugeColourParams { photos, counters };
        queue.launch(gauge, numbers.div_ceil(BLOCK), BLOCK, &params)
    }

    /// Where the numbers of a view's photo and camera are.
    fn numbers_of(&self, view: usize) -> [Address; 2] {
        [self.photos.of(view), self.shared.of(self.cameras[view])]
    }

    fn kernels(&mut self, kernels: &Kernels, model: ColourModel) -> Result<Loaded, BackendError> {
        if let Some((known, loaded)) = self.kernels
            && known == model
        {
            return Ok(loaded);
        }
        let loaded = kernels.get(&program(model)).map_err(failed)?;
        let &[apply, backward, of_numbers, update, ref gauge @ ..] = &loaded[..] else {
            return Err(wrong_program("colour"));
        };
        let loaded = Loaded {
            apply,
            backward,
            of_numbers,
            update,
            gauge: gauge.first().copied(),
        };
        self.kernels = Some((model, loaded));
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests;
