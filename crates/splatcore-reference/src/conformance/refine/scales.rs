//! The limit on scales.

use super::super::outcome::{Outcome, ensure, said};
use super::super::scenes::views;
use super::state;
use splatcore_core::Camera;
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::scale_limit::scale_limit;
use std::sync::Arc;

/// Each Gaussian's scales are capped at a share of its distance from the nearest camera, also where
/// no camera looks, unless a floor allows them; all else stays.
pub fn scales_keep_to_their_limit(backend: &dyn Backend) -> Outcome {
    let mut before = state(66, 150);
    // Behind the cameras, too.
    for mean in before.gaussians.means.iter_mut().step_by(7) {
        *mean = mean.map(|v| -9.0 * v);
    }
    for floor in [0.0, 0.07] {
        limited(backend, &before, floor)?;
    }
    Ok(())
}

fn limited(backend: &dyn Backend, before: &LearnerState, floor: f32) -> Outcome {
    let views = Arc::new(views());
    let cameras: Vec<Camera> = views.iter().map(|view| view.camera.clone()).collect();
    let mut learner = backend.learner(&before.gaussians, views).map_err(said)?;
    learner.restore(before).map_err(said)?;
    let share = 0.02;
    let report = learner
        .refine(&Refine::LimitScales { share, floor })
        .map_err(said)?;
    ensure(report.count == 150, || format!("{report:?}"))?;
    let mut after = learner.snapshot().map_err(said)?;
    let (mut capped, mut nearest) = ([0; 2], [0; 3]);
    for (i, &mean) in before.gaussians.means.iter().enumerate() {
        let limit = scale_limit(mean, &cameras, share, floor);
        for k in 0..3 {
            let (old, new) = (
                before.gaussians.log_scales[i][k],
                after.gaussians.log_scales[i][k],
            );
            // Below the limit nothing moves; roundings decide at the limit itself.
            let right = (new - old.min(limit)).abs() < 1e-5 && (old > limit - 1e-5 || new == old);
            ensure(right, || {
                format!(
                    "log scale {k} of Gaussian {i} went from {old} to {new}, its limit is {limit}"
                )
            })?;
            capped[usize::from(old > limit)] += 1;
        }
        nearest[(0..3)
            .find(|&c| scale_limit(mean, &cameras[c..=c], share, floor) == limit)
            .unwrap_or(0)] += 1;
    }
    ensure(
        capped.iter().chain(&nearest).all(|&count| count > 10),
        || format!("tests too little: {capped:?} scales, {nearest:?} Gaussians by camera"),
    )?;
    after.gaussians.log_scales = before.gaussians.log_scales.clone();
    ensure(after == *before, || {
        "a limit on scales changed something else".into()
    })
}
