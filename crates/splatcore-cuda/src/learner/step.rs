//! What does a step launch? The picture and its photo (`compared.rs`), their loss, its gradients, Adam (`adam.rs`). Nothing
//! here waits for the device.

use super::CudaLearner;
use super::adam::AdamKind;
use super::compared::Look;
use crate::camera::KernelCamera;
use crate::device::buffer::failed;
use splatcore_core::BackendError;
use splatcore_core::backend::{Statistic, StepPlan};

impl CudaLearner {
    /// Puts a step into the queue.
    pub(super) fn launch(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.check_statistic(plan)?;
        self.frame.statistic = plan.statistics.unwrap_or_default();
        let scene = self.scene_addresses();
        let wanted = AdamKind::new(plan, &self.state);
        let missing = (self.adam.0 != Some(wanted)).then(|| wanted.program());
        let look = Look {
            view: plan.view,
            scale: plan.scale,
            exposure: plan.exposure.is_some(),
            render: &plan.render,
        };
        let compared = self.compared(look, missing.iter().cloned().collect())?;
        let camera = compared.camera;
        if let Some(program) = &missing {
            self.adam = (Some(wanted), self.kernels.get(program).map_err(failed)?);
        }
        // SAFETY: image and gradient have the camera's size, which is the photo's.
        unsafe {
            self.loss.launch(
                compared.image,
                compared.photo.rgb,
                compared.photo.mask,
                compared.photo.counted,
                self.frame.counters_address(),
                camera.size[0],
                camera.size[1],
                plan.ssim_weight,
                self.frame.image_gradient.address(),
                self.value.address(),
            )?;
        }
        self.photos.used()?;
        self.frame.queue.mark("loss")?;
        if plan.exposure.is_some() {
            self.through_exposure(&camera, plan.view)?;
        }
        let sums = self.frame.backward_to_slots(scene, &camera, &plan.render)?;
        self.adam(scene, &camera, sums, plan)?;
        self.frame.queue.mark("adam")?;
        match plan.exposure {
            Some(rate) => self.learn_exposure(&camera, plan.view, rate),
            None => Ok(()),
        }
    }

    /// Absolute statistics need the sums of each tile.
    fn check_statistic(&self, plan: &StepPlan) -> Result<(), BackendError> {
        if plan.statistics != Some(Statistic::Absolute) || self.frame.has_pair_rows(&plan.render) {
            return Ok(());
        }
        Err(BackendError::Unsupported {
            backend: "cuda",
            what: format!(
                "absolute gradient statistics behind backward method '{}', which keeps no sums of each tile; use \
                 --densify-statistic mean, or a pipeline that ends in subtile, splatcore or gaussian-parallel",
                plan.render.pipeline.backward
            ),
        })
    }

    /// The image's gradient becomes that of the rendered image, before the photo's transform of colours.
    fn through_exposure(&mut self, camera: &KernelCamera, view: usize) -> Result<(), BackendError> {
        self.exposed.backward(
            &self.frame.queue,
            &self.kernels,
            self.frame.image.address(),
            self.frame.image_gradient.address(),
            camera.pixels(),
            view,
            self.frame.counters_address(),
        )?;
        self.frame.queue.mark("exposure")
    }

    /// Adam's step on the photo's transform of colours.
    fn learn_exposure(&mut self, camera: &KernelCamera, view: usize, rate: f32) -> Result<(), BackendError> {
        let counters = self.frame.counters_address();
        let (queue, pixels) = (&self.frame.queue, camera.pixels());
        self.exposed
            .update(queue, &self.kernels, pixels, view, rate, counters)?;
        queue.mark("exposure")
    }
}
