//! Gradients of a frame, on the host: for who asks outside of training.

use super::both::Passes;
use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::device::{Address, Buffer};
use crate::ops::camera::KernelCamera;
use crate::ops::depth_sums::{self, AddDepthSumsParams, DepthColoursParams, OF_DEPTH};
use crate::ops::project_backward::{self, WriteGradientsParams};
use crate::ops::scene::SceneAddresses;
use crate::ops::state;
use splatcore_core::backend::{Cotangents, RenderOptions};
use splatcore_core::camera::normalize;
use splatcore_core::{BackendError, Camera, Gaussians};

/// `splat_of` of a Gaussian without a splat, without the bit that says that it is in view.
const NO_SPLAT: u32 = 0x7fff_ffff;

impl Passes {
    /// Gradients of all parameters by those of a frame's image, transmittance and inverse depth.
    ///
    /// # Errors
    /// If they do not belong to one size, or as [`Passes::train`].
    pub fn gradients(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        cotangents.check(camera)?;
        let (view, _) = self.until_it_fits(|passes| passes.train(scene, camera, options, &[]))?;
        self.upload_gradient(&cotangents.image.data)?;
        let mut sums = self.backward(scene, &view, options)?;
        if cotangents.beyond_image() {
            sums = self.add_depth_sums(scene, &view, options, cotangents)?;
        }
        let gradients = self.project_backward(scene, &view, sums)?;
        let queue = self.queue();
        let widths = state::widths(scene.sh_degree);
        let mut out = Vec::with_capacity(5);
        for (name, width) in state::GROUPS.into_iter().zip(widths) {
            out.push(Buffer::new(&queue.device, name, 4 * width * scene.count)?);
        }
        let in_use = options.sh_degree.min(scene.sh_degree);
        let program = project_backward::write_gradients(in_use, scene.sh_degree);
        let [kernel] = self.work.kernels.get(&program).map_err(failed)?[..] else {
            return Err(wrong_program(program.name()));
        };
        let params = WriteGradientsParams {
            scene_means: scene.arrays[0],
            splat_of: self.splat_of(),
            gradients,
            count: scene.count as u32,
            camera: view,
            means: out[0].address(),
            log_scales: out[1].address(),
            rotations: out[2].address(),
            opacity_logits: out[3].address(),
            sh: out[4].address(),
        };
        project_backward::launch_write(queue, kernel, &params)?;
        let mut gradients = state::gather(scene.count, scene.sh_degree, |k| &out[k])?;
        if cotangents.beyond_image() {
            self.add_depth_gradients(scene, camera, &mut gradients.means)?;
        }
        Ok(gradients)
    }

    /// Adds to the sums of a frame, of which the backward pass ran, what the gradients of
    /// transmittance and inverse depth make of places, shapes and opacities: by an image of the
    /// same lists with other colours ([`Cotangents::of_channels`]). Returns the address of the
    /// sums. The frame's image is gone then.
    fn add_depth_sums(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Address, BackendError> {
        let program = depth_sums::program();
        let kernels = self.work.kernels.get(&program).map_err(failed)?;
        let [colours, add] = kernels[..] else {
            return Err(wrong_program(program.name()));
        };
        let (splat_rows, counters) = (self.work.splats(), self.work.counters());
        let splats = self.work.splats_of(scene.count);
        let params = DepthColoursParams {
            splats: splat_rows,
            counters,
        };
        depth_sums::launch(self.queue(), colours, splats, &params)?;
        let black = RenderOptions {
            background: [0.0; 3],
            ..options.clone()
        };
        let black_view = view.on_background(black.background);
        self.training.keep_sums(splats)?;
        self.training.blend(&self.work, &self.sorted, &black_view)?;
        self.upload_gradient(&cotangents.of_channels())?;
        let of_depth = self.backward(scene, &black_view, &black)?;
        let sums = self.training.kept_sums();
        let params = AddDepthSumsParams {
            splats: splat_rows,
            of_depth,
            sums,
            counters,
        };
        depth_sums::launch(self.queue(), add, splats, &params)?;
        Ok(sums)
    }

    /// Adds dL/dz of each splat to the gradient of its mean.
    fn add_depth_gradients(
        &self,
        scene: SceneAddresses,
        camera: &Camera,
        means: &mut [[f32; 3]],
    ) -> Result<(), BackendError> {
        let splat_of = self.sorted.read_splat_of(means.len())?;
        let sums = self
            .training
            .read_kept_sums(self.work.splats_of(means.len()))?;
        let forward = camera.forward().map(|axis| axis as f32);
        // Depth is z, or the distance from the camera.
        let places = match camera.lens.depth_is_distance() {
            true => self.read_means(scene)?,
            false => Vec::new(),
        };
        let eye = camera.position();
        for (i, (mean, word)) in means.iter_mut().zip(splat_of).enumerate() {
            // The index of one without a splat is beyond them all.
            let Some(row) = sums.get((word & NO_SPLAT) as usize) else {
                continue;
            };
            let outwards = places
                .get(i)
                .and_then(|place| normalize(std::array::from_fn(|k| f64::from(place[k]) - eye[k])));
            let by_mean = outwards.map_or(forward, |axis| axis.map(|v| v as f32));
            for (gradient, axis) in mean.iter_mut().zip(by_mean) {
                *gradient += row[OF_DEPTH] * axis;
            }
        }
        Ok(())
    }

    /// The means of the scene, in the order in which it lies on the device.
    fn read_means(&self, scene: SceneAddresses) -> Result<Vec<[f32; 3]>, BackendError> {
        let device = &self.queue().device;
        let copy = Buffer::new(device, state::GROUPS[0], 12 * scene.count)?;
        // SAFETY: both hold so many means.
        unsafe { device.copy(copy.address(), scene.arrays[0], 12 * scene.count) }
            .map_err(failed)?;
        copy.to_vec(scene.count)
    }

    fn upload_gradient(&mut self, image: &[[f32; 3]]) -> Result<(), BackendError> {
        let pixels = image.len();
        let mut planes = vec![0.0f32; 3 * pixels];
        for (i, pixel) in image.iter().enumerate() {
            for c in 0..3 {
                planes[c * pixels + i] = pixel[c];
            }
        }
        let gradient = &mut self.training.image_gradient;
        gradient.reserve(12 * pixels)?;
        gradient.write(0, &planes)
    }
}
