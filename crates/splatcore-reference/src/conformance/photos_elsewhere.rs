//! Photos whose pixels are not held: steps are those of photos that are held, and a
//! photo that cannot be read stops a step before it moves anything.

use super::depth_guide::{ALL_KINDS, guided, scene_and_depths};
use super::determinism::state_bits;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::transparent_views;
use super::step::{plan, scene_and};
use splatcore_core::backend::{Backend, BackendError, StepPlan};
use splatcore_core::depth::{DepthLoss, DepthMap};
use splatcore_core::image::PhotoSource;
use splatcore_core::{Gaussians, Learner, Photo, Pipeline, View};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A source that has the photos in memory, and gives so many of them.
#[derive(Debug)]
pub struct Stock {
    photos: Vec<Arc<Photo>>,
    /// How many it still gives.
    pub left: AtomicUsize,
}

impl PhotoSource for Stock {
    fn pixels(&self, index: usize) -> Result<Arc<Photo>, String> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(format!("photo {index} is gone"));
        }
        self.left.store(left - 1, Ordering::Relaxed);
        Ok(Arc::clone(&self.photos[index]))
    }

    fn depths(&self, index: usize) -> Result<Arc<DepthMap>, String> {
        let depths = self.photos[index].depth.clone();
        depths.ok_or_else(|| format!("photo {index} has no depths"))
    }

    fn expect(&self, _: &[usize], _: &[usize], _: bool) {}
}

/// The views without their pixels, and their source.
pub fn elsewhere(views: &[View]) -> (Vec<View>, Arc<Stock>) {
    let photos = views.iter().map(|view| Arc::new(view.photo.clone()));
    let stock = Arc::new(Stock {
        photos: photos.collect(),
        left: AtomicUsize::new(usize::MAX),
    });
    let released = |(index, view): (usize, &View)| View {
        photo: view.photo.clone().released(stock.clone(), index),
        ..view.clone()
    };
    (views.iter().enumerate().map(released).collect(), stock)
}

fn learner(
    backend: &dyn Backend,
    scene: &Gaussians,
    views: Vec<View>,
) -> Result<Box<dyn Learner>, String> {
    backend.learner(scene, Arc::new(views)).map_err(said)
}

/// Steps of one photo and of several, at each scale, with masks and alpha, or with depths.
pub fn steps_are_those_of_held_photos(backend: &dyn Backend) -> Outcome {
    gather([
        same_as_held(backend, scene_and(57, transparent_views()), None),
        same_as_held(
            backend,
            scene_and_depths(58, ALL_KINDS),
            Some(DepthLoss::Log),
        ),
    ])
}

fn same_as_held(
    backend: &dyn Backend,
    (scene, views): (Gaussians, Arc<Vec<View>>),
    depths: Option<DepthLoss>,
) -> Outcome {
    let ends = [views.to_vec(), elsewhere(&views).0].map(|views| {
        let count = views.len();
        let mut learner = learner(backend, &scene, views)?;
        for step in 1..=6 {
            let view = step as usize % count;
            let mut plan = match depths {
                Some(loss) => StepPlan {
                    step,
                    ..guided(Pipeline::AUTO, loss, &[view])
                },
                None => plan(Pipeline::AUTO, step, view),
            };
            plan.scale = [1, 2, 4][step as usize % 3];
            if step > 3 {
                plan.views.push((step as usize + 1) % count);
            }
            plan.upcoming = vec![(step as usize + 2) % count, 0];
            learner.step(&plan).map_err(said)?;
        }
        let loss = learner.last_loss().map_err(said)?.to_bits();
        let state = learner.snapshot().map_err(said)?;
        Ok::<_, String>((state_bits(&state), loss))
    });
    let [held, read] = ends;
    ensure(held? == read?, || {
        "photos that are not held give another state".into()
    })
}

/// A photo that is gone is an error of its own, and the step moves nothing.
pub fn a_photo_that_is_gone_stops_a_step(backend: &dyn Backend) -> Outcome {
    let (scene, views) = scene_and(57, transparent_views());
    let (views, stock) = elsewhere(&views);
    let mut learner = learner(backend, &scene, views)?;
    learner.step(&plan(Pipeline::AUTO, 1, 0)).map_err(said)?;
    let before = state_bits(&learner.snapshot().map_err(said)?);
    stock.left.store(0, Ordering::Relaxed);
    let mut both = plan(Pipeline::AUTO, 2, 0);
    both.views.push(1);
    match learner.step(&both) {
        // A backend that keeps all photos on its device reads none.
        Ok(()) => return Ok(()),
        Err(BackendError::Photo(error)) => {
            ensure(error.to_string().contains("is gone"), || error.to_string())?;
        }
        Err(other) => return Err(said(other)),
    }
    let after = state_bits(&learner.snapshot().map_err(said)?);
    ensure(before == after, || {
        "a step whose photo is gone moves Gaussians".into()
    })?;
    stock.left.store(usize::MAX, Ordering::Relaxed);
    learner.step(&both).map_err(said)
}
