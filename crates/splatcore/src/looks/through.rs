//! A backend whose pictures are as photos show them.

use super::shown::Shown;
use splatcore_core::backend::{
    Cotangents, FrameCounts, MemoryPlan, RenderOptions, Rendered, Scored, StageTimes, TileCounts,
    Timed, Visibility,
};
use splatcore_core::pipeline::Blend;
use splatcore_core::{
    Backend, BackendError, Camera, Gaussians, Learner, Pipeline, Precision, Renderer, View,
};
use std::sync::Arc;

/// The backend, its images in a look, if there is one.
pub fn through(inner: Box<dyn Backend>, look: Option<Shown>) -> Box<dyn Backend> {
    match look {
        Some(look) => Box::new(Through { inner, look }),
        None => inner,
    }
}

struct Through {
    inner: Box<dyn Backend>,
    look: Shown,
}

impl Backend for Through {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        let (inner, look) = (self.inner.renderer(scene)?, self.look.clone());
        Ok(Box::new(ThroughRenderer { inner, look }))
    }
    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        self.inner.learner(scene, views)
    }
    fn precision(&self, blend: Blend) -> Precision {
        self.inner.precision(blend)
    }
    fn gradient_tolerance(&self, pipeline: Pipeline) -> f64 {
        self.inner.gradient_tolerance(pipeline)
    }
    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan {
        self.inner.memory_plan(gaussians, sh_degree, largest_view)
    }
}

struct ThroughRenderer {
    inner: Box<dyn Renderer>,
    look: Shown,
}

impl Renderer for ThroughRenderer {
    fn count(&self) -> usize {
        self.inner.count()
    }
    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        let mut rendered = self.inner.render(camera, options)?;
        rendered.image = self.look.image(&rendered.image);
        Ok(rendered)
    }
    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        self.inner.gradients(camera, options, cotangents)
    }
    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        self.inner.stage_times(camera, options, timed)
    }
}

impl Scored for ThroughRenderer {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.inner.visibility(camera, options)
    }
    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.inner.tile_counts(camera, options)
    }
    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        self.inner.counts(camera, options)
    }
    fn change(&mut self, change: &mut dyn FnMut(&mut Gaussians)) -> Result<bool, BackendError> {
        self.inner.change(change)
    }
}
