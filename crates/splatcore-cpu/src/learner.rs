//! A scene that learns on the CPU.

use crate::colour::Coloured;
use crate::columns::compute;
use crate::densify::{densify, remove};
use crate::floaters;
use crate::frame::Frame;
use crate::limit_scales::limit_scales;
use crate::loss::Loss;
use crate::reduced::Reduced;
use crate::renderer::{Drawing, check};
use crate::step_buffers::StepBuffers;
use crate::workers::Workers;
use splatcore_core::backend::{
    BackendError, Cotangents, Deferred, FrameCounts, Learner, LearnerState, Posed, Profile,
    Profiled, Ranks, Refine, RefineReport, RenderOptions, Rendered, Renderer, Scored, StageTimes,
    StepPlan, Surrounded, TileCounts, Timed, Visibility, read_ahead, take_step,
};
use splatcore_core::colour::{ColourState, cameras_of};
use splatcore_core::sky::Sky;
use splatcore_core::{Camera, Gaussians, IntrinsicsGradient, PoseGradient, View, checks};
use std::sync::Arc;
use std::time::Instant;

/// Parameters, moments, statistics, photos and the buffers of a step.
pub struct CpuLearner {
    pub(crate) workers: Workers,
    pub(crate) state: LearnerState,
    pub(crate) views: Arc<Vec<View>>,
    /// The views' cameras as they are now.
    pub(crate) cameras: Vec<Camera>,
    /// Which camera took each view, as colour models count them.
    pub(crate) camera_of: Vec<usize>,
    /// Of views since they were last asked for.
    pub(crate) pose_gradients: Vec<(usize, PoseGradient)>,
    pub(crate) intrinsics_gradients: Vec<(usize, IntrinsicsGradient)>,
    pub(crate) reduced: Reduced,
    pub(crate) frame: Frame,
    pub(crate) coloured: Coloured,
    pub(crate) loss: Loss,
    /// What the step under way has so far.
    pub(crate) step: StepBuffers,
    profile: Profile,
}

impl CpuLearner {
    pub(crate) fn new(
        workers: Workers,
        state: LearnerState,
        views: Arc<Vec<View>>,
    ) -> Result<Self, BackendError> {
        checks::views(&views)?;
        Ok(Self {
            workers,
            state,
            cameras: views.iter().map(|view| view.camera.clone()).collect(),
            camera_of: cameras_of(views.iter()),
            views,
            pose_gradients: Vec::new(),
            intrinsics_gradients: Vec::new(),
            reduced: Reduced::default(),
            frame: Frame::default(),
            coloured: Coloured::default(),
            loss: Loss::default(),
            step: StepBuffers::default(),
            profile: Profile::default(),
        })
    }

    fn drawing(&mut self) -> Drawing<'_> {
        Drawing {
            workers: &self.workers,
            scene: &self.state.gaussians,
            columns: self.state.columns.all_values(),
            frame: &mut self.frame,
        }
    }
}

impl Renderer for CpuLearner {
    fn count(&self) -> usize {
        self.state.gaussians.len()
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.drawing().render(camera, options)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        self.drawing().gradients(camera, options, cotangents)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        self.drawing().stage_times(camera, options, timed)
    }
}

impl Scored for CpuLearner {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.drawing().visibility(camera, options)
    }

    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.drawing().tile_counts(camera, options)
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        self.drawing().counts(camera, options)
    }
}

impl Profiled for CpuLearner {
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
}

/// Everything is done at once.
impl Deferred for CpuLearner {
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError> {
        self.refine(refine).map(Some)
    }
}

impl Posed for CpuLearner {
    fn pose_gradients(&mut self) -> Result<Vec<(usize, PoseGradient)>, BackendError> {
        Ok(std::mem::take(&mut self.pose_gradients))
    }

    fn intrinsics_gradients(&mut self) -> Result<Vec<(usize, IntrinsicsGradient)>, BackendError> {
        Ok(std::mem::take(&mut self.intrinsics_gradients))
    }

    fn move_cameras(&mut self, cameras: &[Camera]) -> Result<(), BackendError> {
        checks::moved(&self.cameras, cameras)?;
        self.cameras = cameras.to_vec();
        Ok(())
    }
}

impl Surrounded for CpuLearner {
    fn sky(&mut self) -> Result<Option<Sky>, BackendError> {
        Ok(Sky::of(&self.state.sky))
    }
}

impl Learner for CpuLearner {
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        read_ahead(&self.views, Ranks::ALONE, plan, plan.depth.is_some())?;
        take_step(self, plan)
    }

    fn last_loss(&mut self) -> Result<f64, BackendError> {
        Ok(self.step.loss())
    }

    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        let start = Instant::now();
        let mut report = densify(&mut self.state, refine);
        if let Refine::PruneFloaters {
            render,
            depth_share,
        } = refine
        {
            let (state, frame) = (&self.state, &mut self.frame);
            let keep = floaters::kept(
                &self.workers,
                state,
                frame,
                &self.cameras,
                render,
                *depth_share,
            )?;
            report.pruned = remove(&mut self.state, &keep);
            report.count = self.state.gaussians.len();
        }
        if let &Refine::ComputeColumn(column) = refine {
            let (gaussians, cameras) = (&self.state.gaussians, &self.cameras);
            let compute = || compute(column, gaussians, cameras);
            if let Some(values) = self.workers.pool.install(compute) {
                self.state.columns.set(column, values);
            }
        }
        if let &Refine::LimitScales { share, floor } = refine {
            let (gaussians, cameras) = (&mut self.state.gaussians, &self.cameras);
            self.workers
                .pool
                .install(|| limit_scales(gaussians, cameras, (share, floor)));
        }
        self.profile.refine += start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        let gaussians = self.state.gaussians.clone();
        Ok(self.state.columns.all_values().fuse(gaussians))
    }

    fn colours(&mut self) -> Result<ColourState, BackendError> {
        Ok(self.state.colours.clone())
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        Ok(self.state.clone())
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        checks::colours(&state.colours, &self.views)?;
        check(&state.gaussians)?;
        self.state = state.clone();
        Ok(())
    }
}
