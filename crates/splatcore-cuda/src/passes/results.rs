//! Frames that the host waits for: rendered again with more room if they overflowed, and brought to
//! the host.

use super::both::Passes;
use crate::device::error::failed;
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::scene::SceneAddresses;
use rayon::prelude::*;
use splatcore_core::backend::{
    FrameCounts, RenderOptions, Rendered, StageTimes, StripCounts, Timed,
};
use splatcore_core::pipeline::Blend;
use splatcore_core::{BackendError, Camera, Image, image};

/// Pixels that a thread of the host turns into bytes in one go.
const PIXELS: usize = 1 << 14;

/// Red, green and blue planes as bytes, a pixel after the other.
fn interleaved(planes: &[f32]) -> Vec<u8> {
    let pixels = planes.len() / 3;
    let (red, rest) = planes.split_at(pixels);
    let (green, blue) = rest.split_at(pixels);
    let mut bytes = vec![0; 3 * pixels];
    let runs = bytes.par_chunks_mut(3 * PIXELS).enumerate();
    runs.for_each(|(run, bytes)| {
        let first = run * PIXELS;
        for (i, pixel) in bytes.chunks_exact_mut(3).enumerate() {
            let i = first + i;
            pixel.copy_from_slice(&image::to_bytes([red[i], green[i], blue[i]]));
        }
    });
    bytes
}

impl Passes {
    /// Launches a frame by `launch`, and again with more room while it overflows.
    pub(super) fn until_it_fits(
        &mut self,
        mut launch: impl FnMut(&mut Self) -> Result<KernelCamera, BackendError>,
    ) -> Result<(KernelCamera, Counters), BackendError> {
        loop {
            self.work.reset_counters()?;
            let view = launch(self)?;
            let counters = self.counters()?;
            if counters.overflowed == 0 {
                return Ok((view, counters));
            }
            // Also if there is no room: the next frame may need less.
            self.make_room(&counters)?;
        }
    }

    /// As [`Passes::infer`], but the image is complete.
    ///
    /// # Errors
    /// As there.
    pub fn infer_fully(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<KernelCamera, BackendError> {
        self.until_it_fits(|passes| passes.infer(scene, camera, options))
            .map(|(view, _)| view)
    }

    /// An image on the host.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn render(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.infer_fully(scene, camera, options)?;
        self.rendered(camera, options)
    }

    /// The last image on the host.
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn rendered(
        &self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        let pixels = camera.width as usize * camera.height as usize;
        let inference = &self.inference;
        let planes: Vec<f32> = inference.image.to_vec(3 * pixels)?;
        let data = (0..pixels).map(|i| [planes[i], planes[pixels + i], planes[2 * pixels + i]]);
        Ok(Rendered {
            image: Image {
                width: camera.width,
                height: camera.height,
                data: data.collect(),
            },
            transmittance: inference.transmittance.to_vec(pixels)?,
            inverse_depth: match options.inverse_depth {
                true => Some(inference.inverse_depth.to_vec(pixels)?),
                false => None,
            },
        })
    }

    /// An image on the host as bytes, `[height][width][3]`.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn render_bytes(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Vec<u8>, BackendError> {
        self.infer_fully(scene, camera, options)?;
        self.rendered_bytes(camera)
    }

    /// The last image on the host, as [`Passes::render_bytes`].
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn rendered_bytes(&mut self, camera: &Camera) -> Result<Vec<u8>, BackendError> {
        let pixels = camera.width as usize * camera.height as usize;
        self.planes.resize(3 * pixels, 0.0);
        self.inference.image.read(0, &mut self.planes)?;
        Ok(interleaved(&self.planes))
    }

    /// Counts of a frame.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn counts(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        let (_, counters) = self.until_it_fits(|passes| passes.count(scene, camera, options))?;
        // Batches of 16 hide which fragments a pixel of `splatcore` still wants.
        let counts = options.pipeline.blend != Blend::Splatcore;
        Ok(FrameCounts {
            visible: counters.visible.into(),
            pairs: counters.pairs,
            fragments_evaluated: counts.then_some(counters.evaluated),
            fragments_blended: counts.then_some(counters.blended),
            strips: (options.pipeline.blend == Blend::Scalar).then_some(StripCounts {
                visited: counters.warps_visited,
                blended: counters.warps_blended,
            }),
        })
    }

    /// Seconds from one event to another about a frame. The frame in front of it keeps the device
    /// busy until the host has launched all of this one.
    fn frame_time(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<StageTimes, BackendError> {
        loop {
            self.work.reset_counters()?;
            self.infer(scene, camera, options)?;
            let mut marks = self.queue().first_mark()?;
            self.infer(scene, camera, options)?;
            marks.add("frame")?;
            let counters = self.counters()?;
            if counters.overflowed == 0 {
                return marks.times();
            }
            self.make_room(&counters)?;
        }
    }

    /// Seconds of what is timed.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn stage_times(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        if timed == Timed::Frame {
            return self.frame_time(scene, camera, options);
        }
        let backward = timed == Timed::TrainingStages;
        let forward = |passes: &mut Self| match backward {
            true => passes.train(scene, camera, options, &[]),
            false => passes.infer(scene, camera, options),
        };
        // Room for the pairs first, so that nothing is measured that stopped halfway.
        if !self.has_room() || self.counters()?.overflowed != 0 {
            self.until_it_fits(forward)?;
        }
        if backward {
            // Any gradient will do that is nowhere zero: four bytes of 0x3f are a float of 0.75. An
            // upload would take longer than the step.
            let bytes = 12 * camera.width as usize * camera.height as usize;
            let gradient = &mut self.training.image_gradient;
            gradient.reserve(bytes)?;
            gradient.fill(0x3f, bytes)?;
        }
        loop {
            self.work.reset_counters()?;
            self.queue().device.synchronize().map_err(failed)?;
            self.queue().start_marks()?;
            let done = forward(self).and_then(|view| match backward {
                true => {
                    let sums = self.backward(scene, &view, options)?;
                    self.project_backward(scene, &view, sums).map(drop)
                }
                false => Ok(()),
            });
            // Whatever happened: later frames leave no marks.
            let times = self.queue().take_times();
            done?;
            let (times, counters) = (times?, self.counters()?);
            if counters.overflowed == 0 {
                return Ok(times);
            }
            self.make_room(&counters)?;
        }
    }
}
