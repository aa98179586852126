//! A scene that learns on the device.
//!
//! A step is launched and left alone. Should a frame want more pairs than there is room for, the device stops changing
//! anything from that step on (`Counters::halted`); the host looks every `LOOK_EVERY` steps, makes room and takes the
//! missing steps again, so the result is the same as if there had always been room.

use crate::backend::working_bytes;
use crate::camera::KernelCamera;
use crate::densify::{self, Densify};
use crate::device::buffer::{device_error, failed};
use crate::device::{Buffer, Event, Pinned};
use crate::frame::{Counters, Frame, Purpose, SceneAddresses};
use crate::launch::{Marks, arguments};
use crate::loss::Loss;
use crate::moments::Moments;
use crate::photos::Photos;
use crate::programs::{self, Kernels};
use crate::renderer;
use crate::state::State;
use bytemuck::{Pod, Zeroable};
use splatcore_core::backend::{
    FrameCounts, Learner, LearnerState, Profile, Refine, RefineReport, RenderOptions, Rendered, Renderer,
    StageTimes, StepPlan,
};
use splatcore_core::{BackendError, Camera, Gaussians, Image, View, checks};
use std::sync::Arc;

/// Decay of the first moment.
const BETA1: f64 = 0.9;
/// Decay of the second moment.
const BETA2: f64 = 0.999;
/// Steps between two looks at the counters; the queue holds at most twice as many.
const LOOK_EVERY: usize = 16;
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
            statistics: plan.statistics.into(),
            step: plan.step,
            seed: plan.seed,
        }
    }
}

/// Parameters, moments, statistics, photos and the buffers of a step, all on the device.
pub struct CudaLearner {
    state: State,
    frame: Frame,
    kernels: Arc<Kernels>,
    photos: Photos,
    loss: Loss,
    densify: Densify,
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
        let device = frame.queue.device.clone();
        Ok(Self {
            state: State::upload_as(&device, state, moments)?,
            photos: Photos::new(&device, views, PHOTO_SHARE)?,
            loss: Loss::new(device.clone())?,
            densify: Densify::new(device.clone())?,
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
            arrays: self
                .state
                .groups
                .each_ref()
                .map(|group| group.parameters.address()),
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
        let scene = self.scene_addresses();
        let camera = self
            .frame
            .forward(scene, &view.camera, &plan.render, Purpose::Training)?;
        let photo = self.photos.bring(plan.view)?;
        // SAFETY: image and gradient have the camera's size, which is the photo's.
        unsafe {
            self.loss.launch(
                self.frame.image.address(),
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
        self.frame.backward(scene, &camera, &plan.render)?;
        self.adam(&camera, plan)?;
        self.frame.queue.mark("adam")
    }

    fn adam(&mut self, camera: &KernelCamera, plan: &StepPlan) -> Result<(), BackendError> {
        let in_use = plan.render.sh_degree.min(self.state.sh_degree);
        let loaded = self
            .kernels
            .get(&programs::adam(in_use, self.state.sh_degree, self.state.moments))
            .map_err(failed)?;
        let [adam, adam_sh, _] = loaded[..] else {
            return Err(device_error(
                "the program of adam has other kernels than asked for".into(),
            ));
        };
        let rates = Rates::new(plan, self.state.count);
        let count = self.state.count as u32;
        let (slot_of, gradients) = self.frame.gradient_addresses();
        let counters = self.frame.counters_address();
        let [means, log_scales, rotations, opacities, harmonics] = &self.state.groups;
        let all = |group: &crate::state::Group| {
            [
                group.parameters.address(),
                group.first.address(),
                group.second.address(),
            ]
        };
        let [sh, sh_1, sh_2] = all(harmonics);
        self.frame.queue.launch(
            adam_sh,
            count.div_ceil(64),
            256,
            &mut arguments![
                sh,
                sh_1,
                sh_2,
                means.parameters.address(),
                slot_of,
                gradients,
                count,
                *camera,
                rates,
                counters
            ],
        )?;
        let [m, m_1, m_2] = all(means);
        let [s, s_1, s_2] = all(log_scales);
        let [r, r_1, r_2] = all(rotations);
        let [o, o_1, o_2] = all(opacities);
        self.frame.queue.launch(
            adam,
            count.div_ceil(256),
            256,
            &mut arguments![
                m,
                m_1,
                m_2,
                s,
                s_1,
                s_2,
                r,
                r_1,
                r_2,
                o,
                o_1,
                o_2,
                self.state.gradient_sum.address(),
                self.state.seen.address(),
                slot_of,
                gradients,
                count,
                rates,
                counters
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
        if self.pending.is_empty() {
            // The first step of these options: everything that it needs compiles at once.
            let stored = self.state.sh_degree;
            let scene = self.scene_addresses();
            let mut programs = self.frame.programs(scene, &plan.render, Purpose::Training);
            let in_use = plan.render.sh_degree.min(stored);
            programs.push(programs::adam(in_use, stored, self.state.moments));
            self.kernels.prepare(&programs).map_err(failed)?;
        }
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
        let queue = &self.frame.queue;
        queue.start_marks()?;
        let refined = self.densify.refine(&mut self.state, refine);
        let marked = queue.mark("refine");
        self.refined.push(queue.stop_marks());
        let report = refined?;
        marked.map(|()| report)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        self.settle()?;
        self.state.scene()
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        self.settle()?;
        self.state.download()
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        crate::backend::check(&state.gaussians)?;
        self.settle()?;
        self.state.replace(state)
    }
}

#[cfg(test)]
mod tests;
