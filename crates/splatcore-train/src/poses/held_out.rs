//! The poses of photos that were not trained on: fitted to a finished scene, which stands still.

use super::{Offset, Poses};
use crate::config::PoseSettings;
use crate::schedule::log_linear;
use splatcore_core::backend::{Backend, BackendError, RenderOptions, StepPlan};
use splatcore_core::{Camera, Gaussians, PoseGradient, Tracks, View};
use std::sync::Arc;

/// Steps for each photo at most.
pub const ROUNDS: u32 = 100;
/// Rates of the first and of the last of them, radians: enough for the way from one limit to the
/// other, and at the end far below a pixel.
const RATES: [f64; 2] = [2e-3, 2e-5];
/// After so many steps without a lower loss a pose goes back to the best one that it had, and on
/// from there with rates of half the size. The first rate is several pixels of a large photo: too
/// far for a photo whose pose is right.
const PATIENCE: u32 = 5;
/// A search whose rate has shrunk to less than this share is over: its steps are below a tenth of a
/// pixel, and none of them was better.
const MIN_SHARE: f64 = 1.0 / 64.0;

/// How poses are fitted.
#[derive(Clone, Debug)]
pub struct Fit {
    /// How the scene is rendered, by a pipeline that is trained.
    pub render: RenderOptions,
    /// Share of structural similarity in the loss, as in training.
    pub ssim_weight: f32,
    /// Extent of the training cameras, world units.
    pub extent: f64,
    /// How far poses may go.
    pub settings: PoseSettings,
    /// Points of the dataset's model that the photos show, one for each view; empty if nothing is
    /// known. A photo most of whose points are out of their places is tried where these say, too.
    pub tracks: Vec<Tracks>,
}

/// What became of a photo's pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The camera of the lowest loss that was seen.
    pub camera: Camera,
    /// Loss of the photo with the pose as given, and with that of `camera`; not a number if no
    /// pixel counts.
    pub losses: [f64; 2],
}

/// A pose on its way.
struct Search {
    poses: Poses,
    best: Fitted,
    offset: Offset,
    /// Steps since the loss was the lowest.
    since: u32,
    /// Share of the rate.
    share: f64,
    /// Where the points say that the photo was taken, until it was tried.
    by_points: Option<Offset>,
}

impl Search {
    fn new(given: &Camera, tracks: Option<&Tracks>, fit: &Fit) -> Self {
        Self {
            poses: Poses::new(
                vec![given.clone()],
                Vec::new(),
                fit.extent,
                fit.settings.clone(),
            ),
            best: Fitted {
                camera: given.clone(),
                losses: [f64::NAN; 2],
            },
            offset: Offset::NONE,
            since: 0,
            share: 1.0,
            by_points: tracks.and_then(|tracks| by_points(given, tracks, fit)),
        }
    }

    /// Whether its steps have become too small to matter.
    fn is_over(&self) -> bool {
        self.share < MIN_SHARE
    }

    /// Hears loss and gradient of the present pose, and moves on.
    fn step(&mut self, loss: f64, gradient: PoseGradient, rate: f64) {
        let [given, lowest] = &mut self.best.losses;
        if given.is_nan() {
            (*given, *lowest) = (loss, loss);
        } else if loss < *lowest {
            *lowest = loss;
            self.best.camera = self.poses.cameras().swap_remove(0);
            self.offset = self.poses.state().values[0];
            self.since = 0;
        } else {
            self.since += 1;
        }
        // What the way from the pose as given would tell is not asked for.
        if let Some(offset) = self.by_points.take() {
            self.poses.begin_at(0, offset);
            self.since = 0;
            return;
        }
        if self.since == PATIENCE {
            self.poses.begin_at(0, self.offset);
            (self.since, self.share) = (0, 0.5 * self.share);
            return;
        }
        self.poses.note(vec![(0, gradient)]);
        self.poses.step(self.share * rate, 0.0);
    }
}

/// Where the points of a photo say that it was taken, if its pose is off and the limits allow it.
fn by_points(given: &Camera, tracks: &Tracks, fit: &Fit) -> Option<Offset> {
    let (given, settings) = (vec![given.clone()], fit.settings.clone());
    let mut poses = Poses::new(given, Vec::new(), fit.extent, settings);
    poses.hold_by(vec![tracks.clone()]);
    poses.begin_by_points();
    Some(poses.state().values[0]).filter(|offset| *offset != Offset::NONE)
}

/// Poses of the views in their order, each by itself where the scene shows its photo with the
/// lowest loss of [`ROUNDS`] steps, or of fewer once small steps help no more. The pose as given is
/// the first that is looked at: none gets a higher loss. The scene is not changed: all its rates
/// are zero. `progress` hears after each round how many are done.
///
/// # Errors
/// What the backend reports.
pub fn fit(
    backend: &dyn Backend,
    scene: &Gaussians,
    views: &Arc<Vec<View>>,
    fit: &Fit,
    progress: &dyn Fn(u32),
) -> Result<Vec<Fitted>, BackendError> {
    let search = |(i, view): (usize, &View)| Search::new(&view.camera, fit.tracks.get(i), fit);
    let mut searches: Vec<Search> = views.iter().enumerate().map(search).collect();
    let shown = |&view: &usize| views[view].photo.counted_pixels() > 0;
    let mut fitted: Vec<usize> = (0..views.len()).filter(shown).collect();
    if !scene.is_empty() && !fitted.is_empty() {
        let mut learner = backend.learner(scene, Arc::clone(views))?;
        let mut step = 0;
        for round in 0..ROUNDS {
            let done = f64::from(round) / f64::from(ROUNDS - 1);
            let rate = log_linear(RATES[0], RATES[1], done);
            for &view in &fitted {
                step += 1;
                learner.step(&plan(fit, step, view))?;
                let loss = learner.last_loss()?;
                for (view, gradient) in learner.pose_gradients()? {
                    searches[view].step(loss, gradient, rate);
                }
            }
            let now = |search: &Search| search.poses.cameras().swap_remove(0);
            let cameras: Vec<Camera> = searches.iter().map(now).collect();
            learner.move_cameras(&cameras)?;
            progress(round + 1);
            fitted.retain(|&view| !searches[view].is_over());
            if fitted.is_empty() {
                break;
            }
        }
    }
    Ok(searches.into_iter().map(|search| search.best).collect())
}

/// A step that moves nothing.
fn plan(fit: &Fit, step: u32, view: usize) -> StepPlan {
    StepPlan {
        ssim_weight: fit.ssim_weight,
        pose_gradients: true,
        ..StepPlan::of(step, vec![view], fit.render.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SETTINGS;
    use super::*;

    /// A search ends when no step has helped for long, and not while steps help.
    #[test]
    fn a_search_that_stands_still_ends() {
        let camera = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48);
        let fit = Fit {
            render: RenderOptions::default(),
            ssim_weight: 0.2,
            extent: 1.0,
            settings: SETTINGS,
            tracks: Vec::new(),
        };
        let gradient = || PoseGradient {
            rotation: [1.0, 0.0, 0.0],
            translation: [0.0, 1.0, 0.0],
        };
        let steps_of = |losses: &dyn Fn(u32) -> f64| {
            let mut search = Search::new(&camera, None, &fit);
            let over = (0..ROUNDS).find(|&step| {
                search.step(losses(step), gradient(), RATES[0]);
                search.is_over()
            });
            over.map(|last| last + 1)
        };
        assert_eq!(steps_of(&|_| 0.5), Some(1 + 7 * PATIENCE));
        assert_eq!(steps_of(&|step| 0.5 - 1e-3 * f64::from(step)), None);
        // One good step gives it as many more.
        let late = steps_of(&|step| if step == 20 { 0.4 } else { 0.5 });
        assert!(late > Some(1 + 7 * PATIENCE), "{late:?}");
    }
}
