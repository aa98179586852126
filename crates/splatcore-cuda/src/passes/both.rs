//! Both passes and what they share, for one owner: a renderer or a learner.

use super::inference::{InferenceFrame, InferencePass, Lists};
use super::sort_layout::ListsOf;
use super::sorted_lists::SortedLists;
use super::training::TrainingPass;
use super::work::Work;
use crate::device::queue::Queue;
use crate::device::{Address, Kernels, Program};
use crate::ops::blend;
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::lens::KernelLens;
use crate::ops::scene::SceneAddresses;
use crate::ops::sky::{Skies, SkyFrame};
use splatcore_core::backend::RenderOptions;
use splatcore_core::sky::Sky;
use splatcore_core::{BackendError, Camera, Choice, checks};
use std::sync::Arc;

/// Larger images are refused: kernels count the values of three planes in 32 bits.
const MAX_PIXELS: u64 = u32::MAX as u64 / 3;

/// See the module's documentation.
pub struct Passes {
    /// What both run on.
    pub work: Work,
    /// Lists by sorting, which both make.
    pub(super) sorted: SortedLists,
    /// Images that nothing is learned from.
    pub inference: InferencePass,
    /// Images and their gradients.
    pub training: TrainingPass,
    /// What lies behind scenes.
    pub skies: Skies,
    /// Red, green and blue of the last image that was brought to the host to look at. Kept, as new
    /// memory of this size costs as much time as the copy.
    pub(super) planes: Vec<f32>,
}

impl Passes {
    /// Empty buffers; they grow with the first frame. `deterministic` replaces every method of
    /// summing gradients by the one that has a fixed order.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(
        queue: Queue,
        kernels: Arc<Kernels>,
        deterministic: bool,
    ) -> Result<Self, BackendError> {
        let device = queue.device.clone();
        Ok(Self {
            work: Work::new(queue, kernels)?,
            sorted: SortedLists::new(&device)?,
            inference: InferencePass::new(&device)?,
            training: TrainingPass::new(&device, deterministic)?,
            skies: Skies::new(&device)?,
            planes: Vec::new(),
        })
    }

    /// The queue that everything runs in.
    pub fn queue(&self) -> &Queue {
        &self.work.queue
    }

    /// Renders into `inference.image` and `inference.transmittance`.
    ///
    /// # Errors
    /// If the camera cannot be, memory is short, a kernel does not compile or the device fails. Too
    /// little room for the pairs is no error here: see [`Passes::counters`].
    pub fn infer(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<KernelCamera, BackendError> {
        let view = self.view_of(camera, options)?;
        let lens = self.work.lens_kind();
        let frame = self.inference.frame(scene, (view, lens), options, false)?;
        let view = self.launch_inference(scene.count, frame)?;
        self.put_given_sky(camera, view, options)?;
        Ok(view)
    }

    /// Puts a sky that is given, if one is, behind `inference.image`.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub(super) fn put_given_sky(
        &mut self,
        camera: &Camera,
        view: KernelCamera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let Some(sky) = &options.sky else {
            return Ok(());
        };
        let frame = SkyFrame {
            camera,
            view,
            transmittances: self.inference.transmittance.address(),
            counters: self.work.counters(),
        };
        let device = (&self.work.queue, &*self.work.kernels);
        let image = self.inference.image.address();
        self.skies.put(device, &frame, Some(sky), image)
    }

    /// Counts fragments in place of making an image.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn count(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<KernelCamera, BackendError> {
        let view = self.view_of(camera, options)?;
        let lens = self.work.lens_kind();
        let frame = self.inference.frame(scene, (view, lens), options, true)?;
        self.launch_inference(scene.count, frame)
    }

    fn launch_inference(
        &mut self,
        gaussians: usize,
        mut frame: InferenceFrame,
    ) -> Result<KernelCamera, BackendError> {
        if self.work.is_narrow() {
            frame = frame.sorted();
        }
        let last = match frame.lists() {
            Lists::Binned(to) => Some(to),
            Lists::Sorted(_) => None,
        };
        if last.is_some() && last != self.inference.binned.last {
            // What other lists had for pairs says nothing about these: they would be launched for
            // far too many.
            self.work.reset_counters()?;
        }
        self.inference.binned.last = last;
        match self.reserve_inference(gaussians, &frame) {
            Err(BackendError::OutOfMemory { .. }) if last.is_some() => {
                self.inference.binned.release()?;
                frame = frame.sorted();
                self.reserve_inference(gaussians, &frame)?;
            }
            reserved => reserved?,
        }
        self.inference
            .launch(&self.work, &mut self.sorted, &frame, None)?;
        Ok(frame.view)
    }

    /// Makes room for a frame of so many Gaussians.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn reserve_inference(
        &mut self,
        gaussians: usize,
        frame: &InferenceFrame,
    ) -> Result<(), BackendError> {
        let splats = self.work.splats_of(gaussians);
        self.work.reserve_splats(splats)?;
        if frame.needs_rays() {
            self.work.reserve_rays(splats)?;
        }
        self.inference.reserve(frame)?;
        match frame.lists() {
            Lists::Binned(to) => {
                let (binned, work) = (&mut self.inference.binned, &mut self.work);
                binned.reserve(work, gaussians, &frame.view, to.side)
            }
            Lists::Sorted(of) => {
                self.sorted
                    .reserve_gaussians(&self.work, gaussians, splats)?;
                self.reserve_first_pairs(splats)?;
                let work = &mut self.work;
                self.sorted
                    .lay_out(work, gaussians, &frame.view, of, [0, 1])
            }
        }
    }

    /// Renders into `training.image`, with what [`Passes::backward`] needs: [`Passes::project`],
    /// [`Passes::image`].
    ///
    /// # Errors
    /// As [`Passes::project`].
    pub fn train(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        more: &[Program],
    ) -> Result<KernelCamera, BackendError> {
        let view = self.project(scene, camera, options, more)?;
        self.image(scene, &view)?;
        if let Some(sky) = &options.sky {
            self.put_sky(camera, &view, Some(sky))?;
        }
        Ok(view)
    }

    /// Puts a sky behind `training.image`, or the one that learns if none is given.
    ///
    /// # Errors
    /// If memory is short, compiling failed or the device failed.
    pub fn put_sky(
        &mut self,
        camera: &Camera,
        view: &KernelCamera,
        given: Option<&Arc<Sky>>,
    ) -> Result<(), BackendError> {
        let frame = SkyFrame {
            camera,
            view: *view,
            transmittances: self.training.transmittance.address(),
            counters: self.work.counters(),
        };
        let device = (&self.work.queue, &*self.work.kernels);
        let image = self.training.image.address();
        self.skies.put(device, &frame, given, image)
    }

    /// Keeps the gradient of the sky that learns by the frame of this place in a step, from
    /// `training.image_gradient`.
    ///
    /// # Errors
    /// As [`Passes::put_sky`].
    pub fn sky_backward(
        &mut self,
        camera: &Camera,
        view: &KernelCamera,
        index: usize,
    ) -> Result<(), BackendError> {
        let frame = SkyFrame {
            camera,
            view: *view,
            transmittances: self.training.transmittance.address(),
            counters: self.work.counters(),
        };
        let device = (&self.work.queue, &*self.work.kernels);
        let gradient = self.training.image_gradient.address();
        self.skies.backward(device, &frame, index, gradient)
    }

    /// Makes the splats of a frame that is learned from, and room for what follows; if kernels must
    /// be compiled for the frame, these programs are too, at the same time.
    ///
    /// # Errors
    /// As [`Passes::infer`], and if the pipeline is not trained as it is named.
    pub fn project(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        more: &[Program],
    ) -> Result<KernelCamera, BackendError> {
        let view = self.prepare(scene, camera, options)?;
        let sorted = &mut self.sorted;
        self.training
            .project(&self.work, sorted, scene, &view, options, more)?;
        Ok(view)
    }

    /// Makes room for a frame that is learned from.
    ///
    /// # Errors
    /// As [`Passes::project`].
    pub(super) fn prepare(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<KernelCamera, BackendError> {
        checks::gradients("cuda", options.pipeline)?;
        let (view, gaussians) = (self.view_of(camera, options)?, scene.count);
        self.inference.binned.last = None;
        self.training.expect(options.pipeline);
        let splats = self.work.splats_of(gaussians);
        self.work.reserve_splats(splats)?;
        self.sorted
            .reserve_gaussians(&self.work, gaussians, splats)?;
        self.reserve_first_pairs(splats)?;
        let (capacity, pipeline) = (self.sorted.pair_capacity(), options.pipeline);
        self.training.reserve(splats, capacity, &view, pipeline)?;
        let buckets = self.training.buckets(capacity, &view, pipeline);
        let (work, more) = (&mut self.work, [buckets, self.training.team()]);
        self.sorted
            .lay_out(work, gaussians, &view, ListsOf::Tiles, more)?;
        Ok(view)
    }

    /// From these splats to `training.image`.
    ///
    /// # Errors
    /// If the device failed.
    pub fn image(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.image(work, sorted, scene.count, view)
    }

    /// From `training.image_gradient` to the sums of each splat, a row of 12 floats, the first of
    /// which is the opacity's gradient, dL/d(ln opacity). Returns their address. The last frame was
    /// [`Passes::train`]'s, with the same options.
    ///
    /// # Errors
    /// If the device failed.
    pub fn backward(
        &self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<Address, BackendError> {
        let pipeline = options.pipeline;
        self.training
            .backward(&self.work, &self.sorted, scene, view, pipeline)
    }

    /// From these sums to the gradients of each splat's Gaussian. Returns their address.
    ///
    /// # Errors
    /// If memory is short or the device failed.
    pub fn project_backward(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        sums: Address,
    ) -> Result<Address, BackendError> {
        self.training
            .project_backward(&self.work, scene, view, sums)
    }

    /// Address of the compacted index of each Gaussian of the last sorted frame.
    pub fn splat_of(&self) -> Address {
        self.sorted.splat_of()
    }

    /// A camera as kernels want it; its lens stays with `work`.
    pub(super) fn view_of(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<KernelCamera, BackendError> {
        check(camera, options)?;
        self.work.lens = KernelLens::of(camera);
        Ok(KernelCamera::new(camera, options))
    }

    /// Waits for the last frame and returns its counters.
    ///
    /// # Errors
    /// If the device failed.
    pub fn counters(&mut self) -> Result<Counters, BackendError> {
        let counters = self.work.read_counters()?;
        if self.inference.binned.last.is_some() {
            self.inference.binned.note(&counters);
        }
        Ok(counters)
    }
}

/// Refuses a camera that cannot be rendered with these options.
fn check(camera: &Camera, options: &RenderOptions) -> Result<(), BackendError> {
    if let Some(defect) = camera.defect() {
        return Err(BackendError::Input(format!(
            "this camera cannot be rendered: {defect}"
        )));
    }
    if camera.width as u64 * camera.height as u64 > MAX_PIXELS {
        return Err(BackendError::TooLarge {
            what: format!(
                "{}x{} pixels are more than the {MAX_PIXELS} that this backend can number",
                camera.width, camera.height
            ),
            depends_on: &[Choice::ImageSize],
        });
    }
    checks::lens("cuda", camera)?;
    if blend::needs_rays(options.pipeline.blend) {
        let what = format!("blend method '{}'", options.pipeline.blend);
        checks::pinholes("cuda", &what, std::iter::once(camera))?;
    }
    Ok(())
}
