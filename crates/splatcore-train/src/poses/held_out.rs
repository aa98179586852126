//! The poses of photos that were not trained on: fitted to a finished scene, which stands still.

use super::Poses;
use crate::config::PoseSettings;
use crate::schedule::log_linear;
use splatcore_core::backend::{
    BETAS, Backend, BackendError, LearningRates, RenderOptions, StepPlan,
};
use splatcore_core::{Camera, Gaussians, View};
use std::sync::Arc;

/// Steps for each photo.
pub const ROUNDS: u32 = 100;
/// Rates of the first and of the last of them, radians: enough for the way from one limit to the
/// other, and at the end far below a pixel.
const RATES: [f64; 2] = [2e-3, 2e-5];

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
}

/// Cameras of the views in their order, each by itself where the scene shows its photo best, after
/// [`ROUNDS`] steps. The scene is not changed: all its rates are zero.
///
/// # Errors
/// What the backend reports.
pub fn fit(
    backend: &dyn Backend,
    scene: &Gaussians,
    views: &Arc<Vec<View>>,
    fit: &Fit,
) -> Result<Vec<Camera>, BackendError> {
    let given = views.iter().map(|view| view.camera.clone()).collect();
    let mut poses = Poses::new(given, Vec::new(), fit.extent, fit.settings.clone());
    let shown = |&view: &usize| views[view].photo.counted_pixels() > 0;
    let fitted: Vec<usize> = (0..views.len()).filter(shown).collect();
    if scene.is_empty() || fitted.is_empty() {
        return Ok(poses.cameras());
    }
    let mut learner = backend.learner(scene, Arc::clone(views))?;
    let mut step = 0;
    for round in 0..ROUNDS {
        for &view in &fitted {
            step += 1;
            learner.step(&plan(fit, step, view))?;
        }
        poses.note(learner.pose_gradients()?);
        let done = f64::from(round) / f64::from(ROUNDS - 1);
        poses.step(log_linear(RATES[0], RATES[1], done));
        learner.move_cameras(&poses.cameras())?;
    }
    Ok(poses.cameras())
}

/// A step that moves nothing.
fn plan(fit: &Fit, step: u32, view: usize) -> StepPlan {
    StepPlan {
        step,
        bias_correction: true,
        betas: BETAS,
        views: vec![view],
        render: fit.render.clone(),
        rates: LearningRates::default(),
        ssim_weight: fit.ssim_weight,
        opacity_regulariser: 0.0,
        scale_regulariser: 0.0,
        sh_regulariser: 0.0,
        sparse_adam: false,
        scale: 1,
        statistics: None,
        noise: None,
        colour: None,
        masks: None,
        pose_gradients: true,
        seed: 0,
    }
}
