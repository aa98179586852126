//! A scene that learns on the CPU.

use crate::densify::{densify, remove};
use crate::exposure::{self, Exposed};
use crate::floaters;
use crate::frame::Frame;
use crate::limit_scales::limit_scales;
use crate::loss::Loss;
use crate::reduced::Reduced;
use crate::renderer::{check, counts, gradients, render, stage_times, tile_counts, visibility};
use crate::scene::Scene;
use crate::score::score;
use crate::smoothing::filters;
use crate::step::update;
use crate::workers::Workers;
use splatcore_core::backend::{
    BackendError, Deferred, FrameCounts, Learner, LearnerState, Profile, Profiled, Refine,
    RefineReport, RenderOptions, Rendered, Renderer, Scored, StageTimes, StepPlan, TileCounts,
    Timed, Visibility,
};
use splatcore_core::exposure::{Exposure, Exposures, IDENTITY};
use splatcore_core::learned_masks::LearnedMasks;
use splatcore_core::smoothing::fuse;
use splatcore_core::{Camera, Gaussians, Image, View, checks, reduce};
use std::sync::Arc;
use std::time::Instant;

/// Parameters, moments, statistics, photos and the buffers of a step.
pub struct CpuLearner {
    workers: Workers,
    state: LearnerState,
    views: Arc<Vec<View>>,
    reduced: Reduced,
    frame: Frame,
    exposed: Exposed,
    loss: Loss,
    last_loss: f64,
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
            views,
            reduced: Reduced::default(),
            frame: Frame::default(),
            exposed: Exposed::default(),
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

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        render(
            &self.workers,
            (&self.state.gaussians, &self.state.smoothing),
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
            &self.workers,
            (&self.state.gaussians, &self.state.smoothing),
            &mut self.frame,
            camera,
            options,
            image_gradient,
        )
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        stage_times(
            &self.workers,
            (&self.state.gaussians, &self.state.smoothing),
            &mut self.frame,
            camera,
            options,
            timed,
        )
    }
}

impl Scored for CpuLearner {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        let scene = (&self.state.gaussians, &self.state.smoothing[..]);
        visibility(&self.workers, scene, &mut self.frame, camera, options)
    }

    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        let scene = (&self.state.gaussians, &self.state.smoothing[..]);
        tile_counts(&self.workers, scene, &mut self.frame, camera, options)
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        counts(
            &self.workers,
            (&self.state.gaussians, &self.state.smoothing),
            &mut self.frame,
            camera,
            options,
        )
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
        reduce::check(plan.scale)?;
        let (level, pool) = (self.workers.level, self.workers.pool.clone());
        let transform = plan.exposure.map(|_| {
            let known = self.state.exposures.parameters.get(plan.view);
            known.copied().unwrap_or(IDENTITY)
        });
        let behind = exposure::background(transform.as_ref(), plan.render.background);
        let (camera, photo) = self.reduced.get(plan.view, view, plan.scale, behind);
        pool.install(|| {
            let (gaussians, smoothing) = (&self.state.gaussians, &self.state.smoothing);
            let scene = Scene::with_smoothing(gaussians, smoothing, plan.render.sh_degree);
            self.frame
                .forward(level, scene, camera, &plan.render, true)?;
            let (loss, exposed) = (&mut self.loss, &mut self.exposed);
            if let Some(transform) = &transform {
                self.frame
                    .timed("exposure", |frame| exposed.apply(transform, &frame.colour));
            }
            self.last_loss = self.frame.timed("loss", |frame| {
                let colour = match transform {
                    Some(_) => &exposed.image,
                    None => &frame.colour,
                };
                loss.fill(level, colour, &photo, plan.ssim_weight)
            });
            let of_transform = transform.map(|transform| {
                self.frame.timed("exposure", |frame| {
                    exposed.backward(&transform, &frame.colour, &mut loss.gradient)
                })
            });
            let gradient = self.loss.gradient.each_ref().map(|plane| plane.as_slice());
            self.frame.backward(level, camera, &plan.render, gradient)?;
            let state = &mut self.state;
            if plan.masks.is_some() && state.masks.is_empty() {
                state.masks = LearnedMasks::fresh(state.gaussians.len());
            }
            self.frame
                .timed("update", |frame| update(level, frame, state, camera, plan));
            if let (Some(rate), Some(gradient)) = (plan.exposure, of_transform) {
                let exposures = &mut self.state.exposures;
                if exposures.is_empty() {
                    *exposures = Exposures::fresh(views.len());
                }
                exposure::update(exposures, plan.view, &gradient, rate);
            }
            Ok(())
        })
    }

    fn last_loss(&mut self) -> Result<f64, BackendError> {
        Ok(self.last_loss)
    }

    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        let start = Instant::now();
        let scoring = match refine {
            Refine::Adc { consistency, .. } => {
                consistency.as_ref().map(|consistency| &consistency.scoring)
            }
            Refine::Prune { scoring, .. } => Some(scoring),
            _ => None,
        };
        let scores = match scoring {
            Some(scoring) => Some(score(
                &self.workers,
                &self.state,
                (&mut self.frame, &mut self.reduced, &mut self.exposed),
                &self.views,
                scoring,
            )?),
            None => None,
        };
        let mut report = densify(&mut self.state, refine, scores.as_ref());
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
                &self.views,
                render,
                *depth_share,
            )?;
            report.pruned = remove(&mut self.state, &keep);
            report.count = self.state.gaussians.len();
        }
        if *refine == Refine::SmoothingFilter {
            let (gaussians, views) = (&self.state.gaussians, &self.views);
            self.state.smoothing = self.workers.pool.install(|| filters(gaussians, views));
        }
        if let &Refine::LimitScales { share } = refine {
            let (gaussians, views) = (&mut self.state.gaussians, &self.views);
            self.workers
                .pool
                .install(|| limit_scales(gaussians, views, share));
        }
        self.profile.refine += start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        Ok(fuse(self.state.gaussians.clone(), &self.state.smoothing))
    }

    fn exposures(&mut self) -> Result<Vec<Exposure>, BackendError> {
        Ok(self.state.exposures.parameters.clone())
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        Ok(self.state.clone())
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        checks::exposures(&state.exposures, self.views.len())?;
        check(&state.gaussians)?;
        self.state = state.clone();
        Ok(())
    }
}
