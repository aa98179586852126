//! Poses that are refined while the scene learns.

use super::Trainer;
use crate::error::TrainError;
use crate::observer::{Event, Observer};
use crate::poses::{EVERY, Fit, Fitted, fit};
use splatcore_core::backend::Backend;
use splatcore_core::{Camera, View};
use std::sync::Arc;

impl Trainer {
    /// Moves the cameras by what the steps since the last move have shown, every [`EVERY`] steps
    /// while poses are refined.
    pub(super) fn refine_poses(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let (step, schedule) = (self.step, &self.schedule);
        let begun = step.saturating_sub(EVERY - 1);
        let Some(poses) = &mut self.poses else {
            return Ok(());
        };
        if !step.is_multiple_of(EVERY) || !(begun..=step).any(|step| schedule.refines_poses(step)) {
            return Ok(());
        }
        poses.note(self.learner.pose_gradients()?);
        let limited = poses.step(schedule.pose_rate(step));
        self.learner.move_cameras(&poses.cameras())?;
        if !limited.is_empty() {
            let names = limited.iter().filter_map(|&view| self.views.get(view));
            let names: Vec<&str> = names.map(|view| view.name.as_str()).collect();
            observer.note(&Event::PoseLimits { names: &names });
        }
        Ok(())
    }

    /// The training photos' cameras as they are now, in the order of the views.
    pub fn cameras(&self) -> Vec<Camera> {
        match &self.poses {
            Some(poses) => poses.cameras(),
            None => self.views.iter().map(|view| view.camera.clone()).collect(),
        }
    }

    /// Poses of other photos, each where the scene as it is shows its photo with the lowest loss
    /// that was found from the pose as given ([`fit`]).
    ///
    /// # Errors
    /// What the backend reports.
    pub fn fit_poses(
        &mut self,
        backend: &dyn Backend,
        views: &Arc<Vec<View>>,
    ) -> Result<Vec<Fitted>, TrainError> {
        let scene = self.scene()?;
        let config = self.schedule.config();
        let how = Fit {
            render: self.schedule.render(self.step),
            ssim_weight: config.loss.ssim_weight as f32,
            extent: self.extent,
            settings: config.poses.clone(),
        };
        Ok(fit(backend, &scene, views, &how)?)
    }
}
