//! Cameras that are refined while the scene learns: poses and intrinsics.

use super::Trainer;
use crate::error::TrainError;
use crate::intrinsics::{Intrinsics, LensChange};
use crate::motion;
use crate::observer::{Event, Observer};
use crate::poses::{EVERY, Fit, Fitted, Poses, fit};
use splatcore_core::backend::{Backend, BackendError};
use splatcore_core::{Camera, Tracks, View};
use std::sync::Arc;

impl Trainer {
    /// Moves the cameras by what the steps since the last move have shown, every [`EVERY`] steps
    /// while they are refined.
    pub(super) fn refine_cameras(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let (step, schedule) = (self.step, &self.schedule);
        let since = step.saturating_sub(EVERY - 1)..=step;
        if !step.is_multiple_of(EVERY) {
            return Ok(());
        }
        let poses = self.poses.as_mut();
        let poses = poses.filter(|_| since.clone().any(|step| schedule.refines_poses(step)));
        let lenses = self.intrinsics.as_mut();
        let lenses = lenses.filter(|_| since.clone().any(|step| schedule.refines_intrinsics(step)));
        if poses.is_none() && lenses.is_none() {
            return Ok(());
        }
        let (mut limited, mut limited_lenses) = (Vec::new(), Vec::new());
        if let Some(poses) = poses {
            poses.note(self.learner.pose_gradients()?);
            limited = poses.step(schedule.pose_rate(step), schedule.pose_share(step));
        }
        if let Some(lenses) = lenses {
            lenses.note(self.learner.intrinsics_gradients()?);
            limited_lenses = lenses.step(schedule.intrinsics_rates(step));
        }
        self.show_cameras()?;
        let names = |views: &[usize]| -> Vec<&str> {
            let those = views.iter().filter_map(|&view| self.views.get(view));
            those.map(|view| view.name.as_str()).collect()
        };
        if !limited.is_empty() {
            observer.note(&Event::PoseLimits {
                names: &names(&limited),
            });
        }
        if !limited_lenses.is_empty() {
            observer.note(&Event::IntrinsicsLimits {
                names: &names(&limited_lenses),
            });
        }
        Ok(())
    }

    /// Lets points of the dataset's model hold the photos that show them while poses are refined,
    /// one of `tracks` for each view; also after [`Trainer::resume`], as a checkpoint has none. A
    /// fresh run begins with the poses that the points say where the dataset's do not fit them.
    ///
    /// # Errors
    /// [`BackendError::Input`] if there are more or fewer than views; what the backend reports.
    pub fn hold_poses_by(&mut self, tracks: Vec<Tracks>) -> Result<(), TrainError> {
        let (held, views) = (tracks.len(), self.views.len());
        if held != views {
            let problem = format!("tracks of {held} photos, and there are {views}");
            return Err(BackendError::Input(problem).into());
        }
        if let Some(poses) = &mut self.poses {
            poses.hold_by(tracks);
            if self.step == 0 {
                poses.begin_by_points();
            }
            if poses.are_held() {
                self.show_cameras()?;
            }
        }
        Ok(())
    }

    /// Computes what the next move of poses needs of the points that photos show.
    pub(super) fn prepare_poses(&mut self, views: &[usize]) {
        let refines = self.schedule.refines_poses(self.step);
        if let Some(poses) = self.poses.as_mut().filter(|_| refines) {
            poses.prepare(views);
        }
    }

    /// Looks for the motions of all cameras when a round is due.
    pub(super) fn find_motion(&mut self) -> Result<(), TrainError> {
        let due = self.schedule.motion_rounds(self.step);
        let found = self.motion.as_ref().map(|motion| motion.state().rounds);
        if found.is_none_or(|rounds| rounds >= due) {
            return Ok(());
        }
        self.learner.finish()?;
        self.poll()?;
        let options = self.measured()?;
        let cameras = self.cameras();
        if let Some(motion) = &mut self.motion {
            let views = self.order.order.iter().map(|&view| view as usize);
            let views = views.map(|view| {
                let photo = motion::compared(&*self.views[view].photo.held()?, &options);
                Ok((view, cameras[view].clone(), photo))
            });
            motion.round(due, &mut *self.learner, &options, views)?;
        }
        self.show_cameras()
    }

    /// Lets the learner know the cameras as they are now, where they change.
    pub(super) fn show_cameras(&mut self) -> Result<(), TrainError> {
        if !self.refines_cameras() {
            return Ok(());
        }
        let cameras = self.cameras();
        self.learner.move_cameras(&cameras)?;
        if let Some(poses) = &mut self.poses {
            poses.see(cameras);
        }
        Ok(())
    }

    /// Cameras of other photos, each with the motion by which the scene as it is shows its photo
    /// best ([`motion::fit`]).
    ///
    /// # Errors
    /// What the backend reports.
    pub fn fit_motions(
        &mut self,
        views: &[View],
        progress: &dyn Fn(usize),
    ) -> Result<Vec<Camera>, TrainError> {
        let (renderer, options) = self.renderer()?;
        Ok(motion::fit(renderer, &options, views, progress)?)
    }

    /// Whether cameras change while the scene learns.
    pub(super) fn refines_cameras(&self) -> bool {
        self.poses.is_some() || self.intrinsics.is_some() || self.motion.is_some()
    }

    /// The training photos' cameras as they are now, in the order of the views.
    pub fn cameras(&self) -> Vec<Camera> {
        let given = || self.views.iter().map(|view| view.camera.clone()).collect();
        let mut cameras = self.poses.as_ref().map_or_else(given, Poses::cameras);
        if let Some(intrinsics) = &self.intrinsics {
            intrinsics.apply(&mut cameras);
        }
        if let Some(motion) = &self.motion {
            motion.apply(&mut cameras);
        }
        cameras
    }

    /// What has become of the lenses of the training photos; nothing if they are not refined. With
    /// [`LensChange::of`] other photos are seen through them too.
    pub fn lenses(&self) -> Vec<LensChange> {
        self.intrinsics
            .as_ref()
            .map_or_else(Vec::new, Intrinsics::changes)
    }

    /// Poses of other photos, each where the scene as it is shows its photo with the lowest loss
    /// that was found from the pose as given and from where points of the dataset's model say
    /// ([`fit`]; `tracks` are those of each view, or empty); `progress` hears how many rounds are
    /// done.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn fit_poses(
        &mut self,
        backend: &dyn Backend,
        views: &Arc<Vec<View>>,
        tracks: &[Tracks],
        progress: &dyn Fn(u32),
    ) -> Result<Vec<Fitted>, TrainError> {
        let scene = self.scene()?;
        let lenses = self.lenses();
        let through = |view: &View| View {
            camera: LensChange::of(&lenses, &view.camera),
            ..view.clone()
        };
        let views = &match lenses.is_empty() {
            true => Arc::clone(views),
            false => Arc::new(views.iter().map(through).collect()),
        };
        let render = self.shown()?;
        let config = self.schedule.config();
        let how = Fit {
            render,
            ssim_weight: config.loss.ssim_weight as f32,
            extent: self.extent,
            settings: config.poses.clone(),
            tracks: tracks.to_vec(),
        };
        Ok(fit(backend, &scene, views, &how, progress)?)
    }
}
