//! Which Gaussians hang before what the views show? Launches `ops/floaters/floaters.cu`, which says
//! how and how fast. CPU twin: `splatcore_cpu`'s `floaters`.

use super::CudaLearner;
use crate::device::Buffer;
use crate::device::buffer::{device_error, failed};
use crate::frame::Purpose;
use crate::ops::floaters;
use crate::ops::floaters::FloatersParams;
use crate::ops::score::DeviceScores;
use crate::ops::state::MEANS;
use crate::renderer;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Blend;

/// As in the kernel file.
const THREADS: usize = 256;

/// How the views are rendered that floaters are polled for in: in f32, as what a training does
/// should not depend on what images for people leave out.
pub(super) fn with_depth(render: &RenderOptions) -> RenderOptions {
    let mut options = render.clone();
    options.inverse_depth = true;
    options.pipeline.blend = Blend::Subtile;
    options
}

impl CudaLearner {
    /// Verdicts of all views, as `largest` of scores that have nothing else: below 0 goes. Nothing
    /// is pending. Waits for the device once a view.
    pub(super) fn find_floaters(
        &mut self,
        render: &RenderOptions,
        share: f32,
    ) -> Result<DeviceScores, BackendError> {
        let n = self.state.count;
        let views = self.photos.views().clone();
        let device = self.frame.queue.device.clone();
        let array = |bytes| Buffer::new(&device, "verdicts on floaters", bytes);
        let scores = DeviceScores {
            views: views.len(),
            bad: array(0)?,
            weight: array(0)?,
            largest: array(n * size_of::<f32>())?,
        };
        scores.largest.fill(0, n * size_of::<f32>())?;
        let loaded = self.kernels.get(&floaters::program()).map_err(failed)?;
        let [floaters] = loaded[..] else {
            return Err(device_error(
                "the program of floaters has other kernels than asked for".into(),
            ));
        };
        let options = with_depth(render);
        for view in views.iter() {
            let scene = self.scene_addresses();
            let (camera, _) = renderer::forward(
                &mut self.frame,
                scene,
                &view.camera,
                &options,
                Purpose::Image,
            )?;
            self.frame.queue.launch(
                floaters,
                n.div_ceil(THREADS) as u32,
                THREADS as u32,
                &FloatersParams {
                    means: self.state.groups[MEANS].parameters.address(),
                    count: n as u32,
                    camera,
                    transmittance: self.frame.transmittance.address(),
                    inverse_depth: self.frame.inverse_depth.address(),
                    share,
                    verdicts: scores.largest.address(),
                },
            )?;
        }
        self.frame.forget()?;
        Ok(scores)
    }
}
