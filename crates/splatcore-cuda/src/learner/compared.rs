//! What is compared: the image of a view and its photo, as training sees both. A step and a score
//! (`score.rs`) look the same way, so that a score judges what the steps before it could learn.

use super::CudaLearner;
use crate::device::Program;
use crate::frame::Purpose;
use crate::ops::camera::KernelCamera;
use crate::ops::photo::DevicePhoto;
use crate::ops::{exposure, photo};
use splatcore_core::backend::RenderOptions;
use splatcore_core::{BackendError, reduce};

/// How a view is polled at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub view: usize,
    /// What the sides of camera and photo are divided by.
    pub scale: u32,
    /// Whether the image goes through the photo's own transform of colours.
    pub exposure: bool,
    pub render: &'a RenderOptions,
}

/// A image and its photo, of one size, from the queue's present place on.
pub(super) struct Compared {
    pub camera: KernelCamera,
    /// `[3][height * width]` f32, after exposure.
    pub image: u64,
    pub photo: DevicePhoto,
}

impl CudaLearner {
    /// Renders a view and brings its photo: call [`super::photos::Photos::used`] once the launches
    /// that read it are in the queue. If kernels must be compiled for it, the programs `more` are
    /// too, at the same time.
    pub(super) fn compared(
        &mut self,
        look: Look<'_>,
        mut more: Vec<Program>,
    ) -> Result<Compared, BackendError> {
        let views = self.photos.views().clone();
        let view = views.get(look.view).ok_or_else(|| {
            BackendError::Input(format!(
                "there is no view {}; there are {}",
                look.view,
                views.len()
            ))
        })?;
        reduce::check(look.scale)?;
        if look.exposure && !self.exposed.is_compiled() {
            more.push(exposure::program());
        }
        if (look.scale != 1 || view.photo.alpha.is_some()) && !self.photo.is_compiled() {
            more.push(photo::program());
        }
        let reduced = (look.scale != 1).then(|| view.camera.reduced(look.scale));
        let camera = reduced.as_ref().unwrap_or(&view.camera);
        let scene = self.scene_addresses();
        let camera =
            self.frame
                .forward_with(scene, camera, look.render, Purpose::Training, &more)?;
        let (mut image, mut transform) = (self.frame.image.address(), 0);
        if look.exposure {
            let counters = self.frame.counters_address();
            let (queue, pixels) = (&self.frame.queue, camera.pixels());
            image =
                self.exposed
                    .expose(queue, &self.kernels, image, pixels, look.view, counters)?;
            queue.mark("exposure")?;
            transform = self.exposed.of(look.view);
        }
        let kept = self.photos.bring(look.view)?;
        let photo = self.photo.make(
            &self.kernels,
            kept,
            look.view,
            &view.photo,
            look.scale,
            look.render.background,
            transform,
        )?;
        Ok(Compared {
            camera,
            image,
            photo,
        })
    }
}
