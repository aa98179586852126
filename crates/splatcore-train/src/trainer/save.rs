//! Checkpoints of a run.

use super::Trainer;
use crate::checkpoint::Checkpoint;
use crate::error::TrainError;
use crate::observer::{Event, Observer};
use splatcore_core::backend::BackendError;
use std::time::Instant;

impl Trainer {
    /// After memory ran out, or a photo could not be read: the state goes to disk if the learner
    /// still gives it. A photo of which the step was left out comes next when the run is resumed; a
    /// round of densification that failed stays undone.
    pub(super) fn save_what_there_is(
        &mut self,
        error: BackendError,
        observer: &mut dyn Observer,
    ) -> TrainError {
        let sound = self.learner.last_loss().is_ok_and(f64::is_finite);
        for view in self.learner.take_skipped_views().into_iter().rev() {
            self.order.put_back(view);
        }
        let saved = sound
            && self.path.is_some()
            && self.step > 0
            && self.save(observer).is_ok()
            && self.wait_saved(observer).is_ok();
        match saved {
            true => TrainError::Saved {
                step: self.step,
                source: error,
            },
            false => TrainError::Backend(error),
        }
    }

    /// Takes a snapshot and starts to write it.
    pub(super) fn save(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let Some(path) = self.path.clone() else {
            if self.together.is_some() {
                // Another process saves, for which all give it their part of the state.
                self.learner.finish()?;
                self.learner.give_snapshot()?;
            }
            return Ok(());
        };
        let start = Instant::now();
        // One at a time: two snapshots and a third in the making would take too much memory.
        match self.wait_saved(observer) {
            // The one that begins now takes its place, and hours of training are worth more than a
            // copy of them.
            Err(TrainError::Data(error)) => observer.note(&Event::NotSaved(&error)),
            waited => waited?,
        }
        // Others give their part every time.
        if self.together.is_some() || !self.saver.holds(self.step, &path) {
            let checkpoint = self.checkpoint()?;
            let scene = &checkpoint.state.gaussians;
            if !(0..scene.len()).any(|i| scene.is_sound(i)) {
                return Err(TrainError::Diverged { step: self.step });
            }
            self.saver.start(checkpoint, path);
        }
        self.spent.checkpoint += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Waits until the checkpoint that is being written, if any, is on disk.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn wait_saved(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        if let Some(step) = self.saver.wait()? {
            observer.note(&Event::Saved { step });
        }
        Ok(())
    }

    /// Everything needed to go on from here.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, TrainError> {
        if let Some(poses) = &mut self.poses {
            poses.note(self.learner.pose_gradients()?);
        }
        if let Some(intrinsics) = &mut self.intrinsics {
            intrinsics.note(self.learner.intrinsics_gradients()?);
        }
        Ok(Checkpoint {
            step: self.step,
            poses: self.poses.as_ref().map(|poses| poses.state().clone()),
            intrinsics: (self.intrinsics.as_ref()).map(|lenses| lenses.state().clone()),
            motion: self.motion.as_ref().map(|motion| motion.state().clone()),
            state: self.learner.snapshot()?,
            order: self.order.clone(),
            smoothed_loss: self.smoothed_loss,
            samples: self.samples,
            curve: self.curve.clone(),
            seconds: self.seconds,
            config: self.schedule.config().to_toml()?,
            backend: self.backend.clone(),
            photos: self.photos.photos.clone(),
            cameras: Some(self.photos.cameras.clone()),
            pixels: Some(self.photos.contents().pixels.clone()),
            depths: self.photos.contents().depths.clone(),
            course: self.schedule.course().copied(),
            spending: self.spending(),
        })
    }
}
