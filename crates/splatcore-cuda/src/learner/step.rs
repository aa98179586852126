//! What does a step launch? The image and its photo (`compared.rs`), their loss, its gradients,
//! Adam (`adam.rs`). Nothing here waits for the device.

use super::CudaLearner;
use super::compared::Comparison;
use super::floaters;
use crate::device::Program;
use crate::device::error::failed;
use crate::ops;
use crate::ops::adam::kind::AdamKind;
use crate::ops::camera::KernelCamera;
use crate::passes::InferencePass;
use splatcore_core::backend::{Statistic, StepPlan};
use splatcore_core::{BackendError, Choice, Pipeline};

impl CudaLearner {
    /// Puts a step into the queue.
    pub(super) fn launch(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.check_statistic(plan)?;
        self.passes.training.statistic = plan.statistics.unwrap_or_default();
        if plan.masks.is_some() {
            self.state.start_masks()?;
        }
        let scene = self.scene_addresses();
        let wanted = AdamKind::new(plan, &self.state);
        let missing = (self.adam.0 != Some(wanted)).then(|| wanted.program());
        let comparison = Comparison {
            view: plan.view,
            scale: plan.scale,
            exposure: plan.exposure.is_some(),
            render: &plan.render,
        };
        let mut more: Vec<Program> = missing.iter().cloned().collect();
        if self.adam.0.is_none() && self.passes.queue().device.compiles_ahead() {
            more.extend(self.later_programs(plan, wanted));
        }
        let compared = self.compared(comparison, more)?;
        let camera = compared.camera;
        if let Some(program) = &missing {
            self.adam = (Some(wanted), self.kernels.get(program).map_err(failed)?);
        }
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
                self.value.address(),
            )?;
        }
        self.photos.used()?;
        self.passes.queue().mark("loss")?;
        if plan.exposure.is_some() {
            self.through_exposure(&camera, plan.view)?;
        }
        // Of each splat; the first sum is the opacity's gradient.
        let sums = self.passes.backward(scene, &camera, &plan.render)?;
        self.adam(scene, &camera, sums, plan)?;
        self.passes.queue().mark("adam")?;
        match plan.exposure {
            Some(rate) => self.learn_exposure(&camera, plan.view, rate),
            None => Ok(()),
        }
    }

    /// As [`CudaLearner::launch`]; if memory is short for as many Gaussians as there may be, for as
    /// many as there are.
    pub(super) fn launch_or_synchronise(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        match self.launch(plan) {
            Err(BackendError::OutOfMemory { .. }) if self.guessed => {
                self.synchronise()?;
                self.launch(plan)
            }
            launched => launched,
        }
    }

    /// What steps with more spherical harmonics will want, images with all of them, and the
    /// search for floaters: without this a first run of 7,000 steps waits 2 s longer for its
    /// compiler (H200, 16 cores: 9.2 s, 6.8 with it, 5.4 once all is cached).
    fn later_programs(&self, plan: &StepPlan, adam: AdamKind) -> Vec<Program> {
        let (scene, stored) = (self.scene_addresses(), self.state.sh_degree);
        let mut options = plan.render.clone();
        let mut all = Vec::new();
        for degree in options.sh_degree.saturating_add(1)..=stored {
            options.sh_degree = degree;
            all.extend(self.passes.training.programs(scene, &options));
            all.push(adam.with_degree(degree).program());
        }
        options.sh_degree = stored;
        options.pipeline = Pipeline::MEASURED;
        for options in [&options, &floaters::with_depth(&options)] {
            all.extend(InferencePass::programs(scene, options));
        }
        all.push(ops::floaters::program());
        all
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

    /// The image's gradient becomes that of the rendered image, before the photo's transform of
    /// colours.
    fn through_exposure(&mut self, camera: &KernelCamera, view: usize) -> Result<(), BackendError> {
        self.exposed.backward(
            self.passes.queue(),
            &self.kernels,
            self.passes.training.image.address(),
            self.passes.training.image_gradient.address(),
            camera.pixels(),
            view,
            self.passes.work.counters(),
        )?;
        self.passes.queue().mark("exposure")
    }

    /// Adam's step on the photo's transform of colours.
    fn learn_exposure(
        &mut self,
        camera: &KernelCamera,
        view: usize,
        rate: f32,
    ) -> Result<(), BackendError> {
        let counters = self.passes.work.counters();
        let (queue, pixels) = (self.passes.queue(), camera.pixels());
        self.exposed
            .update(queue, &self.kernels, pixels, view, rate, counters)?;
        queue.mark("exposure")
    }
}
