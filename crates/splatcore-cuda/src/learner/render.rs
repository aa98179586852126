//! Images of the scene that learns, and what they cost: a learner is a renderer too.

use super::CudaLearner;
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::scene::SceneAddresses;
use crate::ops::state::SH;
use crate::passes::Passes;
use splatcore_core::backend::{
    Cotangents, FrameCounts, RenderOptions, Rendered, Renderer, Scored, StageTimes, TileCounts,
    Timed, Visibility,
};
use splatcore_core::{BackendError, Camera, Gaussians};

impl CudaLearner {
    /// Where the scene's arrays are at this moment; a refinement may move them.
    pub(super) fn scene_addresses(&self) -> SceneAddresses {
        let mut arrays = (self.state.groups.each_ref()).map(|group| group.parameters.address());
        let sharing = self.sharing.as_ref();
        if let Some(whole) = sharing.and_then(|sharing| sharing.whole.as_ref()) {
            arrays[SH] = whole.harmonics.address();
        }
        SceneAddresses {
            count: self.state.count,
            count_at: self.state.device_count.address(),
            sh_degree: self.state.sh_degree,
            half: self.state.has_half_harmonics(),
            is_spatial: false,
            arrays,
            shape: ShapeColumns::of(&self.state.columns),
        }
    }

    /// Something of the scene as it is once all steps and refinements are done.
    fn of_whole<T>(
        &mut self,
        mut what: impl FnMut(&mut Passes, SceneAddresses) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        self.finish()?;
        self.with_memory(|learner| {
            let scene = learner.scene_addresses();
            what(&mut learner.passes, scene)
        })
    }
}

impl Scored for CudaLearner {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.of_whole(|passes, scene| passes.visibility(scene, camera, options))
    }

    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.of_whole(|passes, scene| passes.tile_counts(scene, camera, options))
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        self.of_whole(|passes, scene| passes.counts(scene, camera, options))
    }
}

impl Renderer for CudaLearner {
    fn count(&self) -> usize {
        self.known
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.of_whole(|passes, scene| passes.render(scene, camera, options))
    }

    fn render_bytes(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Vec<u8>, BackendError> {
        self.of_whole(|passes, scene| passes.render_bytes(scene, camera, options))
    }

    fn finish(&mut self) -> Result<bool, BackendError> {
        self.whole()?;
        self.whole_harmonics().map(|()| true)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        self.of_whole(|passes, scene| passes.gradients(scene, camera, options, cotangents))
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        self.of_whole(|passes, scene| passes.stage_times(scene, camera, options, timed))
    }
}
