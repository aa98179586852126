//! A scene that learns on the CPU.

use crate::backend::{CpuBackend, counts, gradients, render, stage_times};
use crate::densify::densify;
use crate::frame::Frame;
use crate::loss::Loss;
use crate::project::Scene;
use crate::step::update;
use splatcore_core::backend::{
    BackendError, FrameCounts, Learner, LearnerState, Profile, Refine, RefineReport, RenderOptions, Rendered,
    Renderer, StageTimes, StepPlan,
};
use splatcore_core::{Camera, Gaussians, Image, View, checks};
use std::sync::Arc;
use std::time::Instant;

/// Parameters, moments, statistics, photos and the buffers of a step.
pub struct CpuLearner {
    backend: CpuBackend,
    state: LearnerState,
    views: Arc<Vec<View>>,
    frame: Frame,
    loss: Loss,
    last_loss: f64,
    profile: Profile,
}

impl CpuLearner {
    pub(crate) fn new(
        backend: CpuBackend,
        state: LearnerState,
        views: Arc<Vec<View>>,
    ) -> Result<Self, BackendError> {
        checks::views(&views)?;
        Ok(Self {
            backend,
            state,
            views,
            frame: Frame::default(),
            loss: Loss::default(),
            last_loss: 0.0,
            profile: Profile::default(),
        })
    }
}

impl Renderer for CpuLearner {
    fn count(&self) -> usize {
        self.state.gaussians.len()
    }

    fn render(&mut self, camera: &Camera, options: &RenderOptions) -> Result<Rendered, BackendError> {
        render(
            &self.backend,
            &self.state.gaussians,
            &mut self.frame,
            camera,
            options,
        )
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        image_gradient: &Image,
    ) -> Result<Gaussians, BackendError> {
        gradients(
            &self.backend,
            &self.state.gaussians,
            &mut self.frame,
            camera,
            options,
            image_gradient,
        )
    }

    fn counts(&mut self, camera: &Camera, options: &RenderOptions) -> Result<FrameCounts, BackendError> {
        counts(
            &self.backend,
            &self.state.gaussians,
            &mut self.frame,
            camera,
            options,
        )
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        backward: bool,
    ) -> Result<StageTimes, BackendError> {
        stage_times(
            &self.backend,
            &self.state.gaussians,
            &mut self.frame,
            camera,
            options,
            backward,
        )
    }
}

impl Learner for CpuLearner {
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let views = self.views.clone();
        let view = views.get(plan.view).ok_or_else(|| {
            BackendError::Input(format!(
                "there is no view {}; there are {}",
                plan.view,
                views.len()
            ))
        })?;
        let (level, pool) = (self.backend.level, self.backend.pool.clone());
        pool.install(|| {
            let scene = Scene::new(&self.state.gaussians, plan.render.sh_degree);
            self.frame
                .forward(level, scene, &view.camera, &plan.render, true)?;
            let loss = &mut self.loss;
            self.last_loss = self.frame.timed("loss", |frame| {
                loss.fill(level, &frame.colour, &view.photo, plan.ssim_weight)
            });
            let gradient = self.loss.gradient.each_ref().map(|plane| plane.as_slice());
            self.frame.backward(level, &view.camera, &plan.render, gradient)?;
            let state = &mut self.state;
            self.frame
                .timed("update", |frame| update(level, frame, state, &view.camera, plan));
            Ok(())
        })
    }

    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError> {
        self.frame.collect_times();
        let result = self.step(plan);
        let times = self.frame.take_times();
        result.map(|()| times)
    }

    fn profiled_step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let times = self.timed_step(plan)?;
        self.profile.add_step(times);
        Ok(())
    }

    fn take_profile(&mut self) -> Result<Profile, BackendError> {
        Ok(std::mem::take(&mut self.profile))
    }

    fn last_loss(&mut self) -> Result<f64, BackendError> {
        Ok(self.last_loss)
    }

    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        let start = Instant::now();
        let report = densify(&mut self.state, refine);
        self.profile.refine += start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        Ok(self.state.gaussians.clone())
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        Ok(self.state.clone())
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        crate::backend::check(&state.gaussians)?;
        self.state = state.clone();
        Ok(())
    }
}
