//! What is compared: the image of a view and its photo, as training sees both.

use super::CudaLearner;
use crate::device::Program;
use crate::ops::camera::KernelCamera;
use crate::ops::colour::ColouredFrame;
use crate::ops::photo::DevicePhoto;
use crate::ops::{colour, photo};
use splatcore_core::backend::RenderOptions;
use splatcore_core::colour::ColourModel;
use splatcore_core::{BackendError, Camera, reduce};

/// Which view is compared, and how.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a> {
    pub view: usize,
    /// Its place in the step.
    pub index: usize,
    /// What the sides of camera and photo are divided by.
    pub scale: u32,
    /// The colour model that the image goes through.
    pub colour: Option<ColourModel>,
    pub render: &'a RenderOptions,
}

/// An image and its photo, of one size, from the queue's present place on.
pub(super) struct Compared {
    /// `[3][height * width]` f32, after the colour model.
    pub image: u64,
    pub photo: DevicePhoto,
}

impl CudaLearner {
    /// Refuses a view that there is not.
    pub(super) fn check_view(&self, view: usize) -> Result<(), BackendError> {
        let views = self.photos.views().len();
        match view < views {
            true => Ok(()),
            false => Err(BackendError::Input(format!(
                "there is no view {view}; there are {views}"
            ))),
        }
    }

    /// The camera of a view whose sides are divided by `scale`.
    pub(super) fn camera_of(&self, view: usize, scale: u32) -> Result<Camera, BackendError> {
        self.check_view(view)?;
        reduce::check(scale)?;
        Ok(self.cameras[view].reduced(scale))
    }

    /// The programs that a comparison needs and that are not compiled, and these.
    pub(super) fn wanted(
        &self,
        comparison: &Comparison<'_>,
        mut more: Vec<Program>,
    ) -> Result<Vec<Program>, BackendError> {
        self.check_view(comparison.view)?;
        if let Some(model) = comparison.colour
            && !self.coloured.is_compiled(model)
        {
            more.push(colour::program(model));
        }
        let has_alpha = self.photos.views()[comparison.view].photo.has_alpha();
        if (comparison.scale != 1 || has_alpha) && !self.photo.is_compiled() {
            more.push(photo::program());
        }
        Ok(more)
    }

    /// Projects the Gaussians into a view. If kernels must be compiled for it, the programs `more`
    /// are too, at the same time.
    pub(super) fn projected(
        &mut self,
        comparison: &Comparison<'_>,
        more: Vec<Program>,
    ) -> Result<KernelCamera, BackendError> {
        let more = self.wanted(comparison, more)?;
        let camera = self.camera_of(comparison.view, comparison.scale)?;
        let scene = self.scene_addresses();
        let passes = &mut self.passes;
        passes.project(scene, &camera, comparison.render, &more)
    }

    /// Sends the image of the view that was rendered through its colour model and brings its photo:
    /// call [`super::photos::Photos::used`] once the launches that read it are in the queue.
    pub(super) fn compared(
        &mut self,
        comparison: &Comparison<'_>,
        camera: &KernelCamera,
    ) -> Result<Compared, BackendError> {
        let views = self.photos.views().clone();
        let view = &views[comparison.view];
        let (mut image, mut behind) = (self.passes.training.image.address(), 0);
        if let Some(model) = comparison.colour {
            let (frame, queue) = (self.coloured_frame(comparison, camera), self.passes.queue());
            let background = comparison.render.background;
            let device = (queue, &*self.kernels);
            [image, behind] = self.coloured.apply(device, model, &frame, background)?;
            queue.mark("colour")?;
        }
        let kept = self.photos.bring(comparison.view)?;
        let photo = self.photo.make(
            &self.kernels,
            kept,
            comparison.view,
            &view.photo,
            comparison.scale,
            comparison.render.background,
            behind,
        )?;
        Ok(Compared { image, photo })
    }

    /// The image of the view that was rendered, for its colour model.
    pub(super) fn coloured_frame(
        &self,
        comparison: &Comparison<'_>,
        camera: &KernelCamera,
    ) -> ColouredFrame {
        ColouredFrame {
            index: comparison.index,
            view: comparison.view,
            size: [camera.width, camera.height],
            image: self.passes.training.image.address(),
            counters: self.passes.work.counters(),
        }
    }
}
