//! Gradients of a frame, on the host: for who asks outside of training.

use super::both::Passes;
use super::kernels::Op;
use crate::device::error::failed;
use crate::device::queue::wrong_program;
use crate::device::{Address, Buffer};
use crate::ops::camera::KernelCamera;
use crate::ops::depth_sums::{self, AddDepthSumsParams, DepthColoursParams};
use crate::ops::project_backward::{self, WriteGradientsParams};
use crate::ops::scene::SceneAddresses;
use crate::ops::state;
use splatcore_core::backend::{Cotangents, RenderOptions};
use splatcore_core::{BackendError, Camera, Gaussians};

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
        self.training.by_depth = cotangents.beyond_image();
        let (view, _) = self.until_it_fits(|passes| passes.train(scene, camera, options, &[]))?;
        self.upload_gradient(&cotangents.image.data)?;
        let mut sums = self.backward(scene, &view, options)?;
        if cotangents.beyond_image() {
            self.depth_image(scene, &view)?;
            self.upload_gradient(&cotangents.of_channels())?;
            sums = self.depth_sums(scene, &view, options)?;
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
        state::gather(scene.count, scene.sh_degree, |k| &out[k])
    }

    /// After the backward pass of a frame: an image of the same lists with other colours
    /// ([`Cotangents::of_channels`]), inverse depth and alpha, in place of the frame's, on black.
    /// What [`Passes::depth_sums`] reads goes to `training.image_gradient`.
    ///
    /// # Errors
    /// If memory is short, and the sums are as before then; another rank does not answer or the
    /// device failed.
    pub fn depth_image(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let [colours, _] = self.training.loaded.get(Op::DepthSums)?;
        let room = self.work.splats_of(scene.count);
        self.training.splat_sums.keep(room)?;
        let (splats, counters) = (self.work.splats(), self.work.counters());
        let [order, ..] = self.sorted.pairs_of_splats(&self.work);
        let params = DepthColoursParams {
            order,
            splats,
            counters,
        };
        depth_sums::launch(self.queue(), colours, room, &params)?;
        let black = view.on_background([0.0; 3]);
        self.training.blend(&self.work, &self.sorted, &black)
    }

    /// Adds to the sums of a frame what the gradients by inverse depth and alpha make of places,
    /// shapes, opacities and depths. Returns the address of the sums. After
    /// [`Passes::depth_image`] of the same frame.
    ///
    /// # Errors
    /// As [`Passes::depth_image`].
    pub fn depth_sums(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<Address, BackendError> {
        let [_, add] = self.training.loaded.get(Op::DepthSums)?;
        let black = view.on_background([0.0; 3]);
        let of_depth = self.backward(scene, &black, options)?;
        let sums = self.training.splat_sums.kept();
        let [order, ..] = self.sorted.pairs_of_splats(&self.work);
        let params = AddDepthSumsParams {
            order,
            splats: self.work.splats(),
            of_depth,
            sums,
            counters: self.work.counters(),
        };
        let room = self.work.splats_of(scene.count);
        depth_sums::launch(self.queue(), add, room, &params)?;
        Ok(sums)
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
