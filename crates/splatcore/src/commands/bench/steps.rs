//! Whole training steps, for their time alone: all learning rates are zero, so that the scene stays
//! what it is.

use super::samples::{Samples, add, median};
use crate::cameras::NamedCamera;
use splatcore_core::backend::{
    Backend, BackendError, Learner, RenderOptions, Renderer, StageTimes, Statistic, StepPlan,
};
use splatcore_core::{Gaussians, Photo, View};
use splatcore_papers::StagesMs;
use std::sync::Arc;
use std::time::Instant;

/// A learner at the scene, with a photo for each camera.
pub struct Steps {
    learner: Box<dyn Learner>,
    views: usize,
    taken: u32,
}

impl Steps {
    /// Uploads scene and photos. A camera that has no photo of its size gets a negative of what
    /// `renderer` renders with `options`: an error in every pixel.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn new(
        backend: &dyn Backend,
        renderer: &mut dyn Renderer,
        scene: &Gaussians,
        cameras: &[NamedCamera],
        options: &RenderOptions,
    ) -> Result<Self, BackendError> {
        let mut views = Vec::with_capacity(cameras.len());
        for NamedCamera {
            name,
            camera,
            photo,
            ..
        } in cameras
        {
            let fits =
                |photo: &&Photo| (photo.width, photo.height) == (camera.width, camera.height);
            let photo = match photo.as_ref().filter(fits) {
                Some(photo) => photo.clone(),
                None => {
                    let mut rgb = renderer.render(camera, options)?.image.to_bytes();
                    rgb.iter_mut().for_each(|v| *v = 255 - *v);
                    Photo::opaque(camera.width, camera.height, rgb)
                }
            };
            views.push(View {
                name: name.clone(),
                camera: camera.clone(),
                photo,
            });
        }
        Ok(Self {
            views: views.len(),
            learner: backend.learner(scene, Arc::new(views))?,
            taken: 0,
        })
    }

    fn plan(&mut self, view: usize, options: &RenderOptions) -> StepPlan {
        self.taken += 1;
        StepPlan {
            statistics: Some(Statistic::Mean),
            ..StepPlan::of(self.taken, vec![view], options.clone())
        }
    }

    /// Takes one step.
    pub fn step(&mut self, view: usize, options: &RenderOptions) -> Result<(), BackendError> {
        let plan = self.plan(view, options);
        self.learner.step(&plan)
    }

    /// Milliseconds a step, by the wall clock of steps that follow one another without a wait; and
    /// those of its stages, measured apart.
    pub fn time(
        &mut self,
        options: &RenderOptions,
        passes: u32,
        tick: &mut dyn FnMut(),
    ) -> Result<(f64, StagesMs), BackendError> {
        let mut seconds = Vec::new();
        self.wait()?;
        for _ in 0..passes {
            let start = Instant::now();
            for view in 0..self.views {
                self.step(view, options)?;
            }
            self.wait()?;
            seconds.push(start.elapsed().as_secs_f64());
            tick();
        }
        let mut samples = Samples::default();
        for _ in 0..passes {
            let mut pass = StageTimes::new();
            for view in 0..self.views {
                let plan = self.plan(view, options);
                add(&mut pass, self.learner.timed_step(&plan)?);
            }
            samples.push(pass);
            tick();
        }
        let views = self.views as f64;
        Ok((median(&mut seconds) * 1e3 / views, samples.medians(views)))
    }

    /// Waits for the device; the loss is there only when the step is done.
    fn wait(&mut self) -> Result<(), BackendError> {
        self.learner.finish()?;
        self.learner.last_loss().map(drop)
    }
}
