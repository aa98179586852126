//! A scene that learns on the device.
//!
//! A step is launched and left alone. Should a frame want more pairs than there is room for, the device stops changing
//! anything from that step on (`Counters::halted`); the host looks every `LOOK_EVERY` steps, makes room and takes the
//! missing steps again, so the result is the same as if there had always been room.

mod score;

pub use score::DeviceScores;

use crate::backend::working_bytes;
use crate::camera::KernelCamera;
use crate::densify::{self, Densify};
use crate::device::buffer::{device_error, failed};
use crate::device::{Buffer, Event, Kernel, Pinned, Program};
use crate::exposure::{self, Exposed};
use crate::frame::{Counters, Frame, Purpose, SceneAddresses};
use crate::launch::{Marks, arguments};
use crate::loss::Loss;
use crate::moments::Moments;
use crate::photo::{self, StepPhoto};
use crate::photos::Photos;
use crate::programs::{self, Kernels};
use crate::renderer;
use crate::smoothing::Smoothing;
use crate::state::State;
use bytemuck::{Pod, Zeroable};
use splatcore_core::backend::{
    FrameCounts, Learner, LearnerState, Profile, Refine, RefineReport, RenderOptions, Rendered, Renderer,
    StageTimes, Statistic, StepPlan,
};
use splatcore_core::exposure::Exposure;
use splatcore_core::smoothing::fuse;
use splatcore_core::{BackendError, Camera, Gaussians, Image, View, checks, reduce};
use std::sync::Arc;

/// Decay of the first moment.
const BETA1: f64 = 0.9;
/// Decay of the second moment.
const BETA2: f64 = 0.999;
/// Steps between two looks at the counters; the queue holds at most twice as many.
const LOOK_EVERY: usize = 16;
/// Gaussians of a block of `adam`.
const ADAM_BLOCK: u32 = 128;
/// Photos stay on the device if they take at most this share of what is free.
const PHOTO_SHARE: f64 = 0.4;

/// `Rates` of kernels/adam.cu.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Rates {
    means: f32,
    log_scales: f32,
    rotations: f32,
    opacity_logits: f32,
    sh_base: f32,
    sh_rest: f32,
    second_correction: f32,
    opacity_regulariser: f32,
    scale_regulariser: f32,
    noise: f32,
    sh_keep: f32,
    padding: u32,
    statistics: u32,
    step: u32,
    seed: u64,
}

impl Rates {
    fn new(plan: &StepPlan, count: usize) -> Self {
        let t = plan.step.max(1) as f64;
        let first = 1.0 / (1.0 - BETA1.powf(t));
        let scale = |rate: f32| (rate as f64 * first) as f32;
        let rates = &plan.rates;
        Self {
            means: scale(rates.means),
            log_scales: scale(rates.log_scales),
            rotations: scale(rates.rotations),
            opacity_logits: scale(rates.opacity_logits),
            sh_base: scale(rates.sh_base),
            sh_rest: scale(rates.sh_rest),
            second_correction: (1.0 / (1.0 - BETA2.powf(t)).sqrt()) as f32,
            opacity_regulariser: plan.opacity_regulariser / count.max(1) as f32,
            scale_regulariser: plan.scale_regulariser / (3 * count.max(1)) as f32,
            noise: plan.noise.unwrap_or(0.0),
            sh_keep: (1.0 - rates.sh_rest as f64 * plan.sh_regulariser as f64) as f32,
            padding: 0,
            statistics: plan.statistics.is_some().into(),
            step: plan.step,
            seed: plan.seed,
        }
    }
}

/// Everything that decides which kernels Adam's are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct AdamKind {
    in_use: u8,
    stored: u8,
    moments: Moments,
    sparse: bool,
    absolute: bool,
    antialias: bool,
    smoothing: bool,
}

impl AdamKind {
    fn program(self) -> Program {
        let plain = programs::adam(self.in_use, self.stored, self.moments, self.sparse, self.absolute);
        programs::filtered(plain, self.antialias, self.smoothing)
    }
}

/// Parameters, moments, statistics, photos and the buffers of a step, all on the device.
pub struct CudaLearner {
    state: State,
    frame: Frame,
    kernels: Arc<Kernels>,
    photos: Photos,
    photo: StepPhoto,
    exposed: Exposed,
    loss: Loss,
    densify: Densify,
    /// What makes the 3D filters, once they are asked for.
    smoothing: Option<Smoothing>,
    /// Adam's kernels, and which they are.
    adam: (Option<AdamKind>, Vec<Kernel>),
    /// The loss of the last step, one f64.
    value: Buffer,
    /// Steps that the device has not yet been seen to have done.
    pending: Vec<StepPlan>,
    /// Steps since the counters were last zeroed that are no longer pending.
    confirmed: usize,
    /// Steps launched since the last look.
    unseen: usize,
    /// The counters as they were at the last look, once the queue has passed `looked`.
    mirror: Pinned,
    /// Where in the queue the last look was.
    looked: Option<Event>,
    /// Whether a look is under way.
    looking: bool,
    /// Views of the steps that found no memory.
    left_out: Vec<usize>,
    /// Marks of profiled steps, and of refinements, that were not read yet.
    profiled: Vec<Marks>,
    refined: Vec<Marks>,
    /// What was read of them.
    profile: Profile,
}

impl CudaLearner {
    pub(crate) fn new(
        state: &LearnerState,
        views: Arc<Vec<View>>,
        frame: Frame,
        kernels: Arc<Kernels>,
        moments: Moments,
    ) -> Result<Self, BackendError> {
        checks::views(&views)?;
        checks::exposures(&state.exposures, views.len())?;
        let device = frame.queue.device.clone();
        let mut exposed = Exposed::new(&device, views.len())?;
        exposed.replace(&state.exposures)?;
        // What must be compiled is, at the same time.
        let (loss, densify) = rayon::join(|| Loss::new(device.clone()), || Densify::new(device.clone()));
        Ok(Self {
            state: State::upload_as(&device, state, moments)?,
            photos: Photos::new(&device, views, PHOTO_SHARE)?,
            photo: StepPhoto::new(device.clone())?,
            exposed,
            loss: loss?,
            densify: densify?,
            smoothing: None,
            adam: (None, Vec::new()),
            value: Buffer::from_slice(&device, "loss", &[0.0f64])?,
            pending: Vec::new(),
            confirmed: 0,
            unseen: 0,
            mirror: Pinned::new(&device, size_of::<Counters>())?,
            looked: None,
            looking: false,
            left_out: Vec::new(),
            profiled: Vec::new(),
            refined: Vec::new(),
            profile: Profile::default(),
            frame,
            kernels,
        })
    }

    fn scene_addresses(&self) -> SceneAddresses {
        SceneAddresses {
            count: self.state.count,
            sh_degree: self.state.sh_degree,
            half: false,
            arrays: self
                .state
                .groups
                .each_ref()
                .map(|group| group.parameters.address()),
            smoothing: self.state.smoothing_address(),
        }
    }

    /// Gives every Gaussian its 3D filter.
    fn smooth(&mut self) -> Result<(), BackendError> {
        let queue = &self.frame.queue;
        if self.smoothing.is_none() {
            let views = self.photos.views();
            self.smoothing = Some(Smoothing::new(&queue.device, &self.kernels, views)?);
        }
        match &self.smoothing {
            Some(smoothing) if self.state.count > 0 => smoothing.compute(queue, &mut self.state),
            _ => Ok(()),
        }
    }

    /// Puts a step into the queue.
    fn launch(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let views = self.photos.views().clone();
        let view = views.get(plan.view).ok_or_else(|| {
            BackendError::Input(format!(
                "there is no view {}; there are {}",
                plan.view,
                views.len()
            ))
        })?;
        reduce::check(plan.scale)?;
        if plan.statistics == Some(Statistic::Absolute) && !self.frame.has_pair_rows(&plan.render) {
            return Err(BackendError::Unsupported {
                backend: "cuda",
                what: format!(
                    "absolute gradient statistics behind backward method '{}', which keeps no sums of each tile; use \
                     --densify-statistic mean, or a pipeline that ends in subtile, splatcore or gaussian-parallel",
                    plan.render.pipeline.backward
                ),
            });
        }
        self.frame.statistic = plan.statistics.unwrap_or_default();
        let scene = self.scene_addresses();
        let wanted = AdamKind {
            in_use: plan.render.sh_degree.min(self.state.sh_degree),
            stored: self.state.sh_degree,
            moments: self.state.moments,
            sparse: plan.sparse_adam,
            absolute: plan.statistics == Some(Statistic::Absolute),
            antialias: plan.render.antialias,
            smoothing: scene.smoothing != 0,
        };
        let missing = (self.adam.0 != Some(wanted)).then(|| wanted.program());
        let mut more: Vec<Program> = missing.iter().cloned().collect();
        if plan.exposure.is_some() && !self.exposed.is_compiled() {
            more.push(exposure::program());
        }
        if (plan.scale != 1 || view.photo.alpha.is_some()) && !self.photo.is_compiled() {
            more.push(photo::program());
        }
        let reduced = (plan.scale != 1).then(|| view.camera.reduced(plan.scale));
        let camera = reduced.as_ref().unwrap_or(&view.camera);
        let camera = self
            .frame
            .forward_with(scene, camera, &plan.render, Purpose::Training, &more)?;
        if let Some(program) = &missing {
            self.adam = (Some(wanted), self.kernels.get(program).map_err(failed)?);
        }
        let mut image = self.frame.image.address();
        if plan.exposure.is_some() {
            let counters = self.frame.counters_address();
            let (queue, pixels) = (&self.frame.queue, camera.pixels());
            image = self
                .exposed
                .expose(queue, &self.kernels, image, pixels, plan.view, counters)?;
            self.frame.queue.mark("exposure")?;
        }
        let kept = self.photos.bring(plan.view)?;
        let photo = self.photo.make(
            &self.kernels,
            kept,
            plan.view,
            &view.photo,
            plan.scale,
            plan.render.background,
        )?;
        // SAFETY: image and gradient have the camera's size, which is the photo's.
        unsafe {
            self.loss.launch(
                image,
                photo.rgb,
                photo.mask,
                photo.counted,
                self.frame.counters_address(),
                camera.size[0],
                camera.size[1],
                plan.ssim_weight,
                self.frame.image_gradient.address(),
                self.value.address(),
            )?;
        }
        self.photos.used()?;
        self.frame.queue.mark("loss")?;
        if plan.exposure.is_some() {
            self.exposed.backward(
                &self.frame.queue,
                &self.kernels,
                self.frame.image.address(),
                self.frame.image_gradient.address(),
                camera.pixels(),
                plan.view,
                self.frame.counters_address(),
            )?;
            self.frame.queue.mark("exposure")?;
        }
        let sums = self.frame.backward_to_slots(scene, &camera, &plan.render)?;
        self.adam(scene, &camera, sums, plan)?;
        self.frame.queue.mark("adam")?;
        if let Some(rate) = plan.exposure {
            let counters = self.frame.counters_address();
            let (queue, pixels) = (&self.frame.queue, camera.pixels());
            self.exposed
                .update(queue, &self.kernels, pixels, plan.view, rate, counters)?;
            self.frame.queue.mark("exposure")?;
        }
        Ok(())
    }

    /// From the sums of every slot to the parameters.
    fn adam(
        &mut self,
        scene: SceneAddresses,
        camera: &KernelCamera,
        sums: u64,
        plan: &StepPlan,
    ) -> Result<(), BackendError> {
        let [adam] = self.adam.1[..] else {
            return Err(device_error(
                "the program of adam has other kernels than asked for".into(),
            ));
        };
        let rates = Rates::new(plan, self.state.count);
        let count = self.state.count as u32;
        let (slot_of, splats) = self.frame.splat_addresses();
        let group = |k: usize| {
            let group = &self.state.groups[k];
            [
                group.parameters.address(),
                group.first.address(),
                group.second.address(),
            ]
        };
        let [means, means_1, means_2] = group(0);
        let [log_scales, log_scales_1, log_scales_2] = group(1);
        let [rotations, rotations_1, rotations_2] = group(2);
        let [opacities, opacities_1, opacities_2] = group(3);
        let [sh, sh_1, sh_2] = group(4);
        self.frame.queue.launch(
            adam,
            count.div_ceil(ADAM_BLOCK),
            ADAM_BLOCK,
            &mut arguments![
                means,
                means_1,
                means_2,
                log_scales,
                log_scales_1,
                log_scales_2,
                rotations,
                rotations_1,
                rotations_2,
                opacities,
                opacities_1,
                opacities_2,
                sh,
                sh_1,
                sh_2,
                self.state.gradient_sum.address(),
                self.state.seen.address(),
                slot_of,
                splats,
                sums,
                scene.smoothing,
                count,
                *camera,
                rates,
                self.frame.counters_address()
            ],
        )
    }

    /// Takes the steps that the counters know of from the pending ones.
    fn confirm(&mut self, counters: &Counters) {
        let done = (counters.steps as usize).saturating_sub(self.confirmed);
        let done = done.min(self.pending.len());
        self.pending.drain(..done);
        self.confirmed += done;
    }

    /// Reads what the last look saw, which is long past, and looks again: the device always has steps left to do while the
    /// host waits.
    fn look(&mut self) -> Result<(), BackendError> {
        let device = self.frame.queue.device.clone();
        if let (true, Some(event)) = (self.looking, &self.looked) {
            device.wait(event).map_err(failed)?;
            // SAFETY: the queue has passed the copy.
            let counters: Counters = unsafe { self.mirror.value() };
            self.confirm(&counters);
            if counters.halted != 0 {
                return self.settle().map(drop);
            }
            if self.state.count == 0 {
                // There is no thread to count the steps.
                self.pending.clear();
            }
        }
        let (from, bytes) = (self.frame.counters_address(), size_of::<Counters>());
        // SAFETY: the counters are so large, and the mirror is read only after the event.
        unsafe { self.mirror.download(from, bytes) }.map_err(failed)?;
        match &self.looked {
            Some(event) => device.record_again(event).map_err(failed)?,
            None => self.looked = Some(device.record().map_err(failed)?),
        }
        (self.looking, self.unseen) = (true, 0);
        Ok(())
    }

    /// Reads the marks that were left, all of which the queue has passed. Steps of a halted device did no work: their
    /// times are of nothing.
    fn read_marks(&mut self, halted: bool) -> Result<(), BackendError> {
        for marks in self.profiled.drain(..).filter(|_| !halted) {
            self.profile.add_step(marks.times()?);
        }
        for marks in self.refined.drain(..) {
            self.profile.refine += marks.times()?.iter().map(|(_, seconds)| seconds).sum::<f64>();
        }
        Ok(())
    }

    /// Remembers a step that is not taken if this is why.
    fn note_left_out<T>(&mut self, plan: &StepPlan, result: &Result<T, BackendError>) {
        if matches!(result, Err(BackendError::OutOfMemory { .. })) {
            self.left_out.push(plan.view);
        }
    }

    /// Notes a step that is in the queue, and looks now and then how far the device is.
    fn launched(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.pending.push(plan.clone());
        self.unseen += 1;
        if self.unseen >= LOOK_EVERY {
            self.look()?;
        }
        Ok(())
    }

    /// Waits until every step asked for is done. Returns how often room had to be made for that.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if a step's frame does not fit: that step is left out, all others are done.
    fn settle(&mut self) -> Result<u32, BackendError> {
        let mut rounds = 0;
        loop {
            let counters = self.frame.counters()?;
            self.confirm(&counters);
            self.read_marks(counters.halted != 0)?;
            (self.confirmed, self.unseen, self.looking) = (0, 0, false);
            self.frame.forget()?;
            if counters.halted == 0 {
                // Without Gaussians there is no thread to count the steps.
                self.pending.clear();
                return Ok(rounds);
            }
            let missing = std::mem::take(&mut self.pending);
            let mut again = self.frame.reserve_pairs(counters.needed);
            for plan in &missing {
                again = again.and_then(|()| self.launch(plan));
            }
            match again {
                Ok(()) => self.pending = missing,
                Err(BackendError::OutOfMemory { .. }) => {
                    let done = self.frame.counters()?.steps as usize;
                    self.frame.forget()?;
                    return self.one_by_one(&missing[done.min(missing.len())..]);
                }
                Err(error) => return Err(error),
            }
            rounds += 1;
        }
    }

    /// Takes steps one after the other, so that one whose frame does not fit takes no other with it.
    fn one_by_one(&mut self, plans: &[StepPlan]) -> Result<u32, BackendError> {
        let mut first_error = Ok(plans.len() as u32);
        for plan in plans {
            let taken = self.alone(plan, false);
            self.note_left_out(plan, &taken);
            match taken {
                Ok(_) => {}
                Err(error @ BackendError::OutOfMemory { .. }) => first_error = first_error.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        first_error
    }

    /// Takes one step and waits for it.
    fn alone(&mut self, plan: &StepPlan, timed: bool) -> Result<StageTimes, BackendError> {
        loop {
            if timed {
                self.frame.queue.start_marks()?;
            }
            let launched = self.launch(plan);
            // Whatever happened: later steps leave no marks.
            let times = self.frame.queue.take_times();
            let counters = self.frame.counters()?;
            self.frame.forget()?;
            launched?;
            if counters.halted == 0 {
                return times;
            }
            self.frame.reserve_pairs(counters.needed)?;
        }
    }
}

impl Drop for CudaLearner {
    fn drop(&mut self) {
        if let Some(event) = self.looked.take() {
            self.frame.queue.device.discard(event);
        }
    }
}

impl Renderer for CudaLearner {
    fn count(&self) -> usize {
        self.state.count
    }

    fn render(&mut self, camera: &Camera, options: &RenderOptions) -> Result<Rendered, BackendError> {
        self.settle()?;
        let scene = self.scene_addresses();
        renderer::render(&mut self.frame, scene, camera, options)
    }

    fn finish(&mut self) -> Result<(), BackendError> {
        self.settle().map(drop)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        image_gradient: &Image,
    ) -> Result<Gaussians, BackendError> {
        self.settle()?;
        let scene = self.scene_addresses();
        renderer::gradients(
            &mut self.frame,
            &self.kernels,
            scene,
            camera,
            options,
            image_gradient,
        )
    }

    fn counts(&mut self, camera: &Camera, options: &RenderOptions) -> Result<FrameCounts, BackendError> {
        self.settle()?;
        let scene = self.scene_addresses();
        renderer::counts(&mut self.frame, scene, camera, options)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        backward: bool,
    ) -> Result<StageTimes, BackendError> {
        self.settle()?;
        let scene = self.scene_addresses();
        renderer::stage_times(&mut self.frame, scene, camera, options, backward)
    }
}

impl Learner for CudaLearner {
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let launched = self.launch(plan);
        self.note_left_out(plan, &launched);
        launched?;
        self.launched(plan)
    }

    fn profiled_step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.frame.queue.start_marks()?;
        let launched = self.launch(plan);
        let marks = self.frame.queue.stop_marks();
        self.note_left_out(plan, &launched);
        launched?;
        self.profiled.push(marks);
        self.launched(plan)
    }

    fn take_profile(&mut self) -> Result<Profile, BackendError> {
        self.settle()?;
        Ok(std::mem::take(&mut self.profile))
    }

    fn left_out(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.left_out)
    }

    fn reserve(&mut self, gaussians: usize) -> Result<(), BackendError> {
        self.settle()?;
        let views = self.photos.views();
        let pixels = views
            .iter()
            .map(|view| view.camera.width as u64 * view.camera.height as u64);
        let working = working_bytes(gaussians, pixels.max().unwrap_or(0));
        let device = &self.frame.queue.device;
        let more = self.state.bytes_of(gaussians).saturating_sub(self.state.bytes());
        if more.saturating_add(working) > device.memory().0 {
            return Ok(());
        }
        match densify::reserve(device, &mut self.state, gaussians, gaussians) {
            // Someone else has taken it: the state is whole, and grows when it must.
            Err(BackendError::OutOfMemory { .. }) => Ok(()),
            reserved => reserved,
        }
    }

    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError> {
        self.settle()?;
        self.alone(plan, true)
    }

    fn last_loss(&mut self) -> Result<f64, BackendError> {
        self.settle()?;
        let mut value = [0.0f64];
        self.value.read(0, &mut value)?;
        Ok(value[0])
    }

    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        self.settle()?;
        self.frame.queue.start_marks()?;
        let refined = match score::scoring_of(refine) {
            Some(scoring) if self.state.count > 0 => self.score(scoring).map(Some),
            _ => Ok(None),
        }
        .and_then(|scores| self.densify.refine(&mut self.state, refine, scores.as_ref()));
        let refined = match refine {
            Refine::SmoothingFilter => refined.and_then(|report| self.smooth().map(|()| report)),
            _ => refined,
        };
        let queue = &self.frame.queue;
        let marked = queue.mark("refine");
        self.refined.push(queue.stop_marks());
        let report = refined?;
        marked.map(|()| report)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        self.settle()?;
        Ok(fuse(self.state.scene()?, &self.state.filters()?))
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        self.settle()?;
        let mut state = self.state.download()?;
        state.exposures = self.exposed.download()?;
        Ok(state)
    }

    fn exposures(&mut self) -> Result<Vec<Exposure>, BackendError> {
        self.settle()?;
        self.exposed.parameters()
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        checks::exposures(&state.exposures, self.photos.views().len())?;
        crate::backend::check(&state.gaussians)?;
        self.settle()?;
        self.state.replace(state)?;
        self.exposed.replace(&state.exposures)
    }
}

#[cfg(test)]
mod tests;
