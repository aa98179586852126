//! A scene on the CPU, and what a renderer and a learner both do with one.

use crate::depth_backward::backward_depth;
use crate::frame::Frame;
use crate::rows::{Rows, rows_backward};
use crate::scene::Scene;
use crate::workers::Workers;
use splatcore_core::backend::{
    BackendError, Cotangents, FrameCounts, RenderOptions, Rendered, Renderer, Scored, StageTimes,
    TileCounts, Timed, Visibility,
};
use splatcore_core::columns::Values;
use splatcore_core::{Camera, Gaussians, Image, checks};
use std::time::Instant;

/// A scene on the CPU.
pub struct CpuRenderer {
    workers: Workers,
    scene: Gaussians,
    frame: Frame,
}

impl CpuRenderer {
    pub(crate) fn new(workers: Workers, scene: Gaussians) -> Self {
        Self {
            workers,
            scene,
            frame: Frame::default(),
        }
    }

    fn drawing(&mut self) -> Drawing<'_> {
        Drawing {
            workers: &self.workers,
            scene: &self.scene,
            columns: Values::default(),
            frame: &mut self.frame,
        }
    }
}

impl Renderer for CpuRenderer {
    fn count(&self) -> usize {
        self.scene.len()
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.drawing().render(camera, options)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        self.drawing().gradients(camera, options, cotangents)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        self.drawing().stage_times(camera, options, timed)
    }
}

impl Scored for CpuRenderer {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.drawing().visibility(camera, options)
    }

    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.drawing().tile_counts(camera, options)
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        self.drawing().counts(camera, options)
    }

    fn change(&mut self, change: &mut dyn FnMut(&mut Gaussians)) -> Result<bool, BackendError> {
        let count = self.scene.len();
        change(&mut self.scene);
        // The kernels rely on the arrays' lengths.
        let changed = match self.scene.len() {
            now if now == count => check(&self.scene),
            now => Err(BackendError::Input(format!(
                "{count} Gaussians became {now} where they were only to be changed"
            ))),
        };
        if changed.is_err() {
            self.scene = Gaussians::zeros(0, 0);
        }
        changed.map(|()| true)
    }
}

/// Refuses arrays that do not belong together; the kernels rely on it.
pub(crate) fn check(scene: &Gaussians) -> Result<(), BackendError> {
    checks::scene(scene)?;
    let n = scene.len();
    if n >= u32::MAX as usize {
        return Err(BackendError::Input(format!(
            "{n} Gaussians are more than 32 bits can number"
        )));
    }
    Ok(())
}

/// A scene to draw, with its columns and the buffers of a frame.
pub(crate) struct Drawing<'a> {
    pub workers: &'a Workers,
    pub scene: &'a Gaussians,
    pub columns: Values<'a>,
    pub frame: &'a mut Frame,
}

impl Drawing<'_> {
    /// As [`Frame::forward`], in the thread pool.
    fn forward(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        blend: bool,
    ) -> Result<(), BackendError> {
        let scene = Scene::with_columns(self.scene, self.columns, options.sh_degree);
        let level = self.workers.level;
        let pass = || self.frame.forward(level, scene, camera, options, blend);
        self.workers.pool.install(pass)
    }

    pub fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.forward(camera, options, true)?;
        Ok(self.frame.rendered(camera))
    }

    pub fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        self.forward(camera, options, false)?;
        let count = || self.frame.count(self.workers.level, camera, options);
        self.workers.pool.install(count)
    }

    pub fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.forward(camera, options, false)?;
        let visibility = || self.frame.visibility(camera, options, self.scene.len());
        Ok(self.workers.pool.install(visibility))
    }

    pub fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.forward(camera, options, false)?;
        Ok(self.frame.tile_counts(camera))
    }

    pub fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        let (scene, frame) = (self.scene, &mut *self.frame);
        cotangents.check(camera)?;
        let level = self.workers.level;
        let view = Scene::with_columns(scene, self.columns, options.sh_degree);
        let mut out = Gaussians::zeros(scene.len(), scene.sh_degree);
        self.workers.pool.install(|| {
            frame.forward(level, view, camera, options, true)?;
            let image = planes(&cotangents.image.data);
            let image = image.each_ref().map(|plane| plane.as_slice());
            frame.backward(level, camera, options, image)?;
            if cotangents.beyond_image() {
                let channels = |_: &_| planes(&cotangents.of_channels());
                backward_depth(level, frame, camera, options, channels)?;
            }
            frame.timed("project_backward", |frame| {
                let rows = &mut Rows::new(&mut out);
                rows_backward(level, frame, view, camera, options, rows);
            });
            Ok::<(), BackendError>(())
        })?;
        Ok(out)
    }

    pub fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        match timed {
            Timed::Frame => {
                let start = Instant::now();
                self.forward(camera, options, true)?;
                return Ok(vec![("frame", start.elapsed().as_secs_f64())]);
            }
            Timed::Stages => {
                self.frame.collect_times();
                self.forward(camera, options, true)?;
            }
            Timed::TrainingStages => {
                self.frame.collect_times();
                let ones = Image::filled(camera.width, camera.height, [1.0; 3]);
                self.gradients(camera, options, &ones.into())?;
            }
        }
        Ok(self.frame.take_times())
    }
}

/// A plane a channel.
fn planes(pixels: &[[f32; 3]]) -> [Vec<f32>; 3] {
    [0, 1, 2].map(|c: usize| pixels.iter().map(|p| p[c]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Backend;

    /// What is changed is drawn as if it had been so from the beginning; a scene whose arrays do
    /// not belong together any more is given up.
    #[test]
    fn a_scene_is_changed_where_it_lies() {
        let backend = crate::CpuBackend::new(Some(1));
        let mut scene = Gaussians::zeros(2, 0);
        scene.means = vec![[0.0, 0.0, 4.0], [0.5, 0.0, 5.0]];
        scene.log_scales.fill([-1.0; 3]);
        scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
        let camera = Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 0.8, 32, 32);
        let options = RenderOptions::default();
        let mut renderer = backend.renderer(&scene).unwrap();
        let before = renderer.render(&camera, &options).unwrap();
        let mut change = |copy: &mut Gaussians| copy.opacity_logits[1] = 3.0;
        assert!(matches!(renderer.change(&mut change), Ok(true)));
        change(&mut scene);
        let want = backend.renderer(&scene).unwrap().render(&camera, &options);
        let after = renderer.render(&camera, &options).unwrap();
        assert!(after == want.unwrap() && after != before);
        assert!(renderer.change(&mut |copy| copy.sh.clear()).is_err());
        assert_eq!(renderer.count(), 0);
        renderer.render(&camera, &options).unwrap();
    }
}
