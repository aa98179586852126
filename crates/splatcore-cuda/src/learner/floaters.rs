//! Which Gaussians hang before what the views show? Launches `ops/floaters/floaters.cu`, which says
//! how and how fast. CPU twin: `splatcore_cpu`'s `floaters`.

use super::CudaLearner;
use crate::device::Buffer;
use crate::device::error::{device_error, failed};
use crate::ops::floaters::{self, FloatersParams};
use crate::ops::state::MEANS;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Blend;

/// How the views are rendered in which floaters are searched for: in f32, as what a training does
/// should not depend on what images for people leave out.
pub(super) fn with_depth(render: &RenderOptions) -> RenderOptions {
    let mut options = render.clone();
    options.inverse_depth = true;
    options.pipeline.blend = Blend::Subtile;
    options
}

impl CudaLearner {
    /// Verdicts of all views, `[n]` f32: below 0 goes. Nothing is pending. Waits for the device
    /// once a view.
    pub(super) fn find_floaters(
        &mut self,
        render: &RenderOptions,
        share: f32,
    ) -> Result<Buffer, BackendError> {
        let n = self.state.count;
        let cameras = self.cameras.clone();
        let device = self.passes.queue().device.clone();
        let bytes = n * size_of::<f32>();
        let verdicts = Buffer::new(&device, "verdicts on floaters", bytes)?;
        verdicts.fill(0, bytes)?;
        let options = with_depth(render);
        for camera in &cameras {
            let scene = self.scene_addresses();
            let camera = self.passes.infer_fully(scene, camera, &options)?;
            let program = floaters::program(self.passes.work.lens_kind());
            let loaded = self.kernels.get(&program).map_err(failed)?;
            let [kernel] = loaded[..] else {
                return Err(device_error(
                    "the program of floaters has other kernels than asked for".into(),
                ));
            };
            floaters::launch(
                self.passes.queue(),
                kernel,
                &FloatersParams {
                    means: self.state.groups[MEANS].parameters.address(),
                    count: n as u32,
                    camera,
                    transmittance: self.passes.inference.transmittance.address(),
                    inverse_depth: self.passes.inference.inverse_depth.address(),
                    share,
                    verdicts: verdicts.address(),
                    lens: self.passes.work.kernel_lens(),
                },
            )?;
        }
        self.passes.work.reset_counters()?;
        Ok(verdicts)
    }
}
