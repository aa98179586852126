//! The calls of a step ([`splatcore_core::backend::take_step`]): each puts its launches into the
//! queue, and none waits for the device.

use super::CudaLearner;
use super::compared::Comparison;
use super::floaters;
use super::sharing::share_sums;
use crate::device::Program;
use crate::device::error::failed;
use crate::ops;
use crate::ops::accumulate::FrameGradients;
use crate::ops::adam::kind::AdamKind;
use crate::ops::camera_gradients::{CameraFrame, CameraKind, Share};
use crate::ops::depth_loss::{self, DepthFrame};
use crate::ops::lens::LensKind;
use crate::ops::row_blocks::OwnRows;
use crate::ops::sky;
use crate::passes::InferencePass;
use splatcore_core::backend::{
    CameraGradients, Engine, Exchange, Guided, Ranks, Statistic, StepFrame, StepPlan, read_ahead,
    take_step,
};
use splatcore_core::depth::DepthPlan;
use splatcore_core::depth::normals::PixelRays;
use splatcore_core::{BackendError, Choice, Pipeline};

fn comparison<'a>(frame: StepFrame<'a>) -> Comparison<'a> {
    Comparison {
        view: frame.view(),
        index: frame.index,
        scale: frame.plan.scale,
        colour: frame.plan.colour.map(|plan| plan.model),
        render: &frame.plan.render,
    }
}

impl Exchange for CudaLearner {
    fn ranks(&self, plan: &StepPlan) -> Ranks {
        self.ranks_of(plan)
    }

    fn send_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        self.give_splats(first)
    }

    fn receive_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        self.gather_splats(first)
    }

    fn send_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        self.give_sums(first)
    }

    fn receive_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        self.take_sums(first)
    }

    fn exchange_losses(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.share_losses(plan)
    }
}

impl CameraGradients for CudaLearner {
    fn pose_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| {
            let (scene, of_frame) = (learner.scene_addresses(), learner.posed(frame)?);
            let (sharing, queue) = (learner.sharing.as_ref(), learner.passes.queue());
            let share: Share<'_> = &|at, bytes| share_sums(sharing, queue, at, bytes);
            let of = (scene, frame);
            let kernels = &learner.kernels;
            learner.poses.add(queue, kernels, of, &of_frame, share)
        })
    }

    fn intrinsics_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| {
            let (scene, of_frame) = (learner.scene_addresses(), learner.posed(frame)?);
            let (sharing, queue) = (learner.sharing.as_ref(), learner.passes.queue());
            let share: Share<'_> = &|at, bytes| share_sums(sharing, queue, at, bytes);
            let of = (scene, frame);
            let kernels = &learner.kernels;
            learner.intrinsics.add(queue, kernels, of, &of_frame, share)
        })
    }
}

impl Guided for CudaLearner {
    fn guide(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| learner.guide_by_depth(frame))
    }
}

impl Engine for CudaLearner {
    fn project(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| learner.project_frame(frame))
    }

    fn image(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (scene, camera) = (self.scene_addresses(), self.frame.camera()?);
        self.passes.image(scene, &camera)?;
        let (plan, given) = (frame.plan, frame.plan.render.sky.as_ref());
        if plan.sky.is_none() && given.is_none() {
            return Ok(());
        }
        let seen_by = self.camera_of(frame.view(), plan.scale)?;
        let given = given.filter(|_| plan.sky.is_none());
        self.in_step(|learner| learner.passes.put_sky(&seen_by, &camera, given))
    }

    fn compare(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| learner.compare_frame(frame))
    }

    fn backward(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (scene, camera) = (self.scene_addresses(), self.frame.camera()?);
        if frame.plan.sky.is_some() {
            let seen_by = self.camera_of(frame.view(), frame.plan.scale)?;
            self.in_step(|learner| {
                let passes = &mut learner.passes;
                passes.sky_backward(&seen_by, &camera, frame.index)
            })?;
        }
        // Of each splat; the first sum is the opacity's gradient.
        self.frame.sums = self.passes.backward(scene, &camera, &frame.plan.render)?;
        Ok(())
    }

    fn accumulate(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        self.in_step(|learner| learner.accumulate_frame(frame))
    }

    fn apply(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let (camera, scene) = (self.camera_of_frame(0)?, self.scene_addresses());
        self.adam(scene, &camera, plan)?;
        self.passes.queue().mark("adam")?;
        if let Some(sky) = &plan.sky {
            let counters = self.passes.work.counters();
            let (work, skies) = (&self.passes.work, &mut self.passes.skies);
            let device = (&work.queue, &*work.kernels);
            skies.update(device, sky.rate, plan.views.len(), counters)?;
        }
        let Some(colour) = &plan.colour else {
            return Ok(());
        };
        let (counters, queue) = (self.passes.work.counters(), self.passes.queue());
        for frame in plan.views.iter().copied().enumerate() {
            self.coloured
                .update((queue, &self.kernels), colour, frame, counters)?;
        }
        queue.mark("colour")
    }
}

impl CudaLearner {
    fn guide_by_depth(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let Some(plan) = frame.plan.depth.filter(|_| self.depths.knows(frame.view())) else {
            return Ok(());
        };
        let (scene, camera) = (self.scene_addresses(), self.frame.camera()?);
        let size = [camera.width, camera.height];
        self.depths.reserve(size)?;
        self.passes.depth_image(scene, &camera)?;
        let seen_by = self.camera_of(frame.view(), frame.plan.scale)?;
        let of_frame = DepthFrame {
            view: frame.view(),
            size,
            rays: PixelRays::of(&seen_by),
            image: self.passes.training.image.address(),
            gradient: self.passes.training.image_gradient.address(),
            value: self.values.address() + (size_of::<f64>() * frame.index) as u64,
            counters: self.passes.work.counters(),
        };
        let device = (self.passes.queue(), &*self.kernels);
        self.depths.launch(device, &plan, &of_frame)?;
        self.passes.queue().mark("depth_loss")?;
        let render = &frame.plan.render;
        self.frame.sums = self.passes.depth_sums(scene, &camera, render)?;
        self.passes.queue().mark("depth_sums")
    }

    fn project_frame(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let plan = frame.plan;
        let mut missing = None;
        if frame.index == 0 {
            missing = self.start_step(plan)?;
        }
        let mut more: Vec<Program> = missing.iter().map(|kind| kind.program()).collect();
        if let Some(DepthPlan { loss, .. }) = plan.depth
            && !self.depths.is_compiled(loss)
        {
            more.push(depth_loss::program(loss));
        }
        if plan.sky.is_some() && !self.passes.skies.is_compiled() {
            more.push(sky::program());
        }
        if let (None, Some(wanted)) = (self.adam.0, missing)
            && self.passes.queue().device.compiles_ahead()
        {
            more.extend(self.later_programs(plan, wanted));
        }
        match self.ranks_of(plan) {
            Ranks::ALONE => self.frame.camera = Some(self.projected(&comparison(frame), more)?),
            ranks => self.project_shard(frame, ranks, more)?,
        }
        if let Some(kind) = missing {
            let kernels = self.kernels.get(&kind.program()).map_err(failed)?;
            self.adam = (Some(kind), kernels);
        }
        Ok(())
    }

    fn compare_frame(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (plan, camera) = (frame.plan, self.frame.camera()?);
        let compared = self.compared(&comparison(frame), &camera)?;
        // SAFETY: image and gradient have the camera's size, which is the photo's.
        unsafe {
            self.loss.launch(
                compared.image,
                compared.photo.rgb,
                compared.photo.mask,
                compared.photo.counted,
                self.passes.work.counters(),
                camera.width,
                camera.height,
                plan.ssim_weight,
                self.passes.training.image_gradient.address(),
                self.values.address() + (size_of::<f64>() * frame.index) as u64,
            )?;
        }
        self.photos.used()?;
        self.passes.queue().mark("loss")?;
        let Some(colour) = plan.colour else {
            return Ok(());
        };
        // The image's gradient becomes that of the rendered image.
        let coloured = self.coloured_frame(&comparison(frame), &camera);
        let gradient = self.passes.training.image_gradient.address();
        let device = (self.passes.queue(), &*self.kernels);
        self.coloured
            .backward(device, colour.model, &coloured, gradient)?;
        self.passes.queue().mark("colour")
    }

    fn accumulate_frame(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let scene = self.scene_addresses();
        if frame.index == 0 {
            let own = self.rows_of_frame(0).0.count;
            self.batch.reserve(own, self.state.sh_degree)?;
        }
        let (camera, part) = match self.own_gradients(frame)? {
            Some(own) => own,
            None => {
                let camera = self.frame.camera()?;
                let sums = self.frame.sums;
                let part = FrameGradients {
                    splat_of: self.passes.splat_of(),
                    rows: self.passes.project_backward(scene, &camera, sums)?,
                    sh_degree: frame.plan.render.sh_degree,
                    counters: self.passes.work.counters(),
                    of: OwnRows::all(scene.count),
                    is_first: frame.index == 0,
                };
                (camera, part)
            }
        };
        let queue = self.passes.queue();
        self.batch.add(queue, &self.kernels, scene, &camera, &part)
    }
}

impl CudaLearner {
    /// What gradients of cameras read of a frame whose sums are made.
    fn posed(&mut self, frame: StepFrame<'_>) -> Result<CameraFrame, BackendError> {
        let scene = self.scene_addresses();
        let camera = self.camera_of_frame(frame.index)?;
        let (of, [splats, splat_of, sums]) = self.rows_of_frame(frame.index);
        let work = &self.passes.work;
        Ok(CameraFrame {
            camera,
            lens: work.kernel_lens(),
            splats: [splat_of, splats],
            sums,
            counters: work.counters(),
            kind: CameraKind::new(scene, frame, work.lens_kind()),
            of,
            most_rows: (self.sharing.as_ref()).map_or(of.count, |sharing| sharing.shards.rows(0)),
        })
    }

    /// Puts a step into the queue.
    pub(super) fn launch(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        take_step(self, plan)
    }

    /// As [`CudaLearner::launch`]; if memory is short for as many Gaussians as there may be, for as
    /// many as there are.
    pub(super) fn launch_or_synchronise(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        if !self.photos.resident() {
            // What is known of depths lies on the device.
            read_ahead(self.photos.views(), self.ranks_of(plan), plan, false)?;
        }
        if self.sharing.is_some() {
            // Others go on with a step that was begun; each call finds memory by itself.
            return self.launch(plan);
        }
        self.with_memory(|learner| match learner.launch(plan) {
            Err(BackendError::OutOfMemory { .. }) if learner.guessed => {
                learner.synchronise()?;
                learner.launch(plan)
            }
            launched => launched,
        })
    }

    /// What comes before a step's first frame. Returns which of Adam's kernels are to be loaded, if
    /// it is not those at hand.
    fn start_step(&mut self, plan: &StepPlan) -> Result<Option<AdamKind>, BackendError> {
        self.check_statistic(plan)?;
        self.check_moments(plan)?;
        plan.views
            .iter()
            .try_for_each(|&view| self.check_view(view))?;
        self.passes.training.statistic = plan.statistics.unwrap_or_default();
        self.passes.training.by_depth = plan.depth.is_some();
        self.state.start_columns(&plan.columns)?;
        if plan.sky.is_some() {
            self.passes.skies.start(plan.views.len())?;
        }
        self.values
            .reserve_exactly(size_of::<f64>() * plan.views.len())?;
        self.frames = plan.views.len();
        self.leaves_unseen = plan.sparse_adam;
        self.share_rows()?;
        let lens = plan.views.first().map(|&view| self.lens_kind(view));
        let lens = lens.unwrap_or_default();
        let wanted = AdamKind::new(plan, &self.state, lens, self.sharing.is_some());
        Ok((self.adam.0 != Some(wanted)).then_some(wanted))
    }

    /// From the own Gaussians to the splats of a frame.
    fn project_shard(
        &mut self,
        frame: StepFrame<'_>,
        ranks: Ranks,
        more: Vec<Program>,
    ) -> Result<(), BackendError> {
        if frame.index == 0 {
            self.prepare_round(frame, more)?;
        }
        if frame.index.is_multiple_of(ranks.count) {
            self.reserve_arrivals(frame.index)?;
        }
        self.project_own(frame)
    }

    /// Makes room for the frame of a round that is rendered here, and loads the kernels.
    pub(super) fn prepare_round(
        &mut self,
        first: StepFrame<'_>,
        more: Vec<Program>,
    ) -> Result<(), BackendError> {
        let (plan, frames) = (first.plan, first.plan.views.len());
        let ranks = self.ranks_of(plan);
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        let (set, strip_room) = (sharing.set_of(first.index), sharing.strip_room());
        let here = ranks.rendered(&ranks.round(first.index, frames), frames);
        let index = here.unwrap_or(first.index);
        let rendered = StepFrame { plan, index };
        let more = self.wanted(&comparison(rendered), more)?;
        let camera = self.camera_of(rendered.view(), plan.scale)?;
        let scene = self.scene_addresses();
        let team = here.map_or(0..0, |here| ranks.team(here, frames));
        let of_frame = (set, (team, strip_room));
        self.passes
            .prepare_shard(scene, &camera, &plan.render, &more, of_frame)
    }

    /// What steps with more spherical harmonics will want, images with all of them, and the
    /// search for floaters: without this a first run of 7,000 steps waits 2 s longer for its
    /// compiler (H200, 16 cores: 9.2 s, 6.8 with it, 5.4 once all is cached).
    fn later_programs(&self, plan: &StepPlan, adam: AdamKind) -> Vec<Program> {
        let (scene, stored) = (self.scene_addresses(), self.state.sh_degree);
        let lens = plan.views.iter().map(|&view| self.lens_kind(view));
        let lens = lens.max().unwrap_or_default();
        let mut options = plan.render.clone();
        let mut all = Vec::new();
        for degree in options.sh_degree.saturating_add(1)..=stored {
            options.sh_degree = degree;
            all.extend(self.passes.training.programs(scene, &options, lens));
            all.push(adam.with_degree(degree).program());
        }
        options.sh_degree = stored;
        options.pipeline = Pipeline::MEASURED;
        for options in [&options, &floaters::with_depth(&options)] {
            all.extend(InferencePass::programs(scene, options, lens));
        }
        all.push(ops::floaters::program(lens));
        all
    }

    /// What the camera of a view is.
    fn lens_kind(&self, view: usize) -> LensKind {
        let view = self.photos.views().get(view);
        view.map_or(LensKind::Pinhole, |view| LensKind::of(&view.camera))
    }

    /// A first moment that is not kept decays at once.
    fn check_moments(&self, plan: &StepPlan) -> Result<(), BackendError> {
        let [first, _] = plan.betas;
        if first == 0.0 || self.state.moments.keeps_first() {
            return Ok(());
        }
        Err(BackendError::Input(format!(
            "a step whose first moments decay by {first}, which this learner does not keep"
        )))
    }

    /// Absolute statistics need the sums of each tile.
    fn check_statistic(&self, plan: &StepPlan) -> Result<(), BackendError> {
        if plan.statistics != Some(Statistic::Absolute)
            || self.passes.training.has_pair_rows(plan.render.pipeline)
        {
            return Ok(());
        }
        Err(BackendError::Unsupported {
            backend: "cuda",
            what: format!(
                "absolute gradient statistics behind backward method '{}', which keeps no sums of \
                 each tile (subtile, splatcore and gaussian-parallel do)",
                plan.render.pipeline.backward
            ),
            depends_on: &[Choice::GradientStatistic, Choice::Pipeline],
        })
    }
}
