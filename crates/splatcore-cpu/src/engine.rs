//! The calls of a training step ([`splatcore_core::backend::take_step`]) on the CPU.

use crate::camera::KernelCamera;
use crate::colour;
use crate::depth_backward::backward_depth;
use crate::depth_loss::depth_loss;
use crate::intrinsics_gradient::intrinsics_gradient;
use crate::learner::CpuLearner;
use crate::pose_gradient::pose_gradient;
use crate::scene::Scene;
use crate::sky::under_sky;
use crate::step::{Source, update};
use splatcore_core::backend::{
    BackendError, CameraGradients, Engine, Exchange, Guided, LearnerState, StepFrame, StepPlan,
};
use splatcore_core::colour::Look;
use splatcore_core::sky;
use splatcore_core::{View, reduce};

impl CpuLearner {
    /// The Gaussians as a step sees them.
    fn scene<'a>(state: &'a LearnerState, plan: &StepPlan) -> Scene<'a> {
        let degree = plan.render.sh_degree;
        Scene::with_columns(&state.gaussians, state.columns.all_values(), degree)
    }

    /// The colour model that a frame goes through, if the plan learns it.
    fn look(&self, frame: StepFrame<'_>) -> Option<Look> {
        let (view, colours) = (frame.view(), &self.state.colours);
        let plan = frame.plan.colour?;
        Some(Look::of(plan.model, colours, view, self.camera_of[view]))
    }
}

fn view_of<'a>(views: &'a [View], frame: StepFrame<'_>) -> Result<&'a View, BackendError> {
    let (view, count) = (frame.view(), views.len());
    let missing = || BackendError::Input(format!("there is no view {view}; there are {count}"));
    views.get(view).ok_or_else(missing)
}

/// Alone.
impl Exchange for CpuLearner {}

impl CameraGradients for CpuLearner {
    fn pose_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (plan, camera, level) = (frame.plan, self.step.camera()?, self.workers.level);
        let (stored, scene) = (
            self.state.gaussians.sh_degree,
            Self::scene(&self.state, plan),
        );
        let gradient = self.workers.pool.install(|| {
            self.frame.timed("pose_gradient", |frame| {
                pose_gradient(level, frame, scene, &camera, stored, &plan.render)
            })
        });
        self.pose_gradients.push((frame.view(), gradient));
        Ok(())
    }

    fn intrinsics_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (plan, camera, level) = (frame.plan, self.step.camera()?, self.workers.level);
        let scene = Self::scene(&self.state, plan);
        let gradient = self.workers.pool.install(|| {
            self.frame.timed("intrinsics_gradient", |frame| {
                intrinsics_gradient(level, frame, scene, &camera, &plan.render)
            })
        });
        self.intrinsics_gradients.push((frame.view(), gradient));
        Ok(())
    }
}

impl Guided for CpuLearner {
    fn guide(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (views, camera, level) = (self.views.clone(), self.step.camera()?, self.workers.level);
        let Some(plan) = frame.plan.depth else {
            return Ok(());
        };
        let Some(map) = view_of(&views, frame)?.photo.depths()? else {
            return Ok(());
        };
        let (rendered, mut loss) = (&mut self.frame, 0.0);
        self.workers.pool.install(|| {
            let options = &frame.plan.render;
            backward_depth(level, rendered, &camera, options, |planes| {
                let (value, gradients) = depth_loss(&plan, &map, &camera, planes);
                loss = value;
                gradients
            })
        })?;
        if let Some(last) = self.step.losses.last_mut() {
            *last += loss;
        }
        Ok(())
    }
}

impl Engine for CpuLearner {
    fn project(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let plan = frame.plan;
        view_of(&self.views, frame)?;
        reduce::check(plan.scale)?;
        if frame.index == 0 {
            (self.step.losses, self.step.colours) = (Vec::new(), Vec::new());
            self.step.skies.clear();
            if plan.sky.is_some() && self.state.sky.rows() == 0 {
                self.state.sky = sky::fresh();
            }
        }
        let camera = self.cameras[frame.view()].reduced(plan.scale);
        let (workers, scene) = (&self.workers, Self::scene(&self.state, plan));
        let project = || {
            self.frame
                .project(workers.level, scene, &camera, &plan.render)
        };
        workers.pool.install(project)?;
        self.step.camera = Some(camera);
        Ok(())
    }

    fn image(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (camera, plan) = (self.step.camera()?, frame.plan);
        let (level, learned) = (self.workers.level, plan.sky.is_some());
        let under_sky = learned.then(|| under_sky(&self.state, &plan.render));
        let render = under_sky.as_ref().unwrap_or(&plan.render);
        self.workers.pool.install(|| {
            self.frame.lists(level, &camera, render)?;
            self.frame.image(level, &camera, render)
        })
    }

    fn compare(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (plan, views, level) = (frame.plan, self.views.clone(), self.workers.level);
        let (view, look) = (view_of(&views, frame)?, self.look(frame));
        let (camera, index) = (self.step.camera()?, frame.view());
        let behind = colour::background(look.as_ref(), plan.render.background);
        let photo = self.reduced.get(index, view, plan.scale, behind)?;
        let (loss, coloured, rendered) = (&mut self.loss, &mut self.coloured, &mut self.frame);
        self.workers.pool.install(|| {
            if let Some(look) = &look {
                rendered.timed("colour", |frame| {
                    coloured.apply(look, &camera, &frame.colour)
                });
            }
            self.step.losses.push(rendered.timed("loss", |frame| {
                let colour = match look {
                    Some(_) => &coloured.image,
                    None => &frame.colour,
                };
                loss.fill(level, colour, &photo, plan.ssim_weight)
            }));
            if let Some(look) = &look {
                let gradients = rendered.timed("colour", |frame| {
                    coloured.backward(look, &camera, &frame.colour, &mut loss.gradient)
                });
                self.step.colours.push((index, gradients));
            }
        });
        Ok(())
    }

    fn backward(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (camera, render) = (self.step.camera()?, &frame.plan.render);
        let gradient = self.loss.gradient.each_ref().map(|plane| plane.as_slice());
        let (level, rendered) = (self.workers.level, &mut self.frame);
        let skies = &mut self.step.skies;
        self.workers.pool.install(|| {
            if frame.plan.sky.is_some() {
                skies.push(
                    rendered.timed("sky", |frame| frame.sky_gradient(level, &camera, gradient)),
                );
            }
            rendered.backward(level, &camera, render, gradient)
        })
    }

    fn accumulate(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (plan, gaussians) = (frame.plan, &self.state.gaussians);
        let camera = KernelCamera::new(&self.step.camera()?, &plan.render);
        let batch = &mut self.step.batch;
        if frame.index == 0 {
            batch.start(gaussians.len(), gaussians.sh_degree);
        }
        let (level, scene) = (self.workers.level, Self::scene(&self.state, plan));
        let statistic = plan.statistics.unwrap_or_default();
        self.workers.pool.install(|| {
            self.frame.timed("accumulate", |frame| {
                batch.add(level, frame, scene, &camera, statistic)
            })
        });
        Ok(())
    }

    fn apply(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let camera = KernelCamera::new(&self.step.camera()?, &plan.render);
        let (state, step, level) = (&mut self.state, &self.step, self.workers.level);
        state.columns.start(&plan.columns, state.gaussians.len());
        self.workers.pool.install(|| {
            self.frame.timed("update", |frame| {
                let source = match plan.views.len() {
                    1 => Source::Frame(frame, &camera),
                    _ => Source::Batch(&step.batch),
                };
                update(level, source, state, plan)
            })
        });
        if let Some(plan) = &plan.colour {
            let (colours, cameras) = (&mut state.colours, &self.camera_of);
            let update = || colour::update(colours, cameras, plan, &step.colours);
            self.workers.pool.install(update);
        }
        if let Some(plan) = &plan.sky {
            let share = 1.0 / step.skies.len() as f64;
            let number = |k| share * step.skies.iter().map(|sky| sky[k]).sum::<f64>();
            let gradient: Vec<f64> = (0..sky::NUMBERS).map(number).collect();
            colour::adam(&mut state.sky, 0, &gradient, plan.rate, Vec::new());
        }
        Ok(())
    }
}
