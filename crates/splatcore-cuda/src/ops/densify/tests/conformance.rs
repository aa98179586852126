//! The conformance suite's checks of refinements, on the kernels alone.

use super::*;
use splatcore_core::backend::{
    Cotangents, Deferred, FrameCounts, MemoryPlan, Posed, Profiled, RenderOptions, Rendered,
    Scored, StageTimes, StepPlan, Surrounded, TileCounts, Timed, Visibility,
};
use splatcore_core::sky::Sky;
use splatcore_core::{Backend, Camera, Learner, Renderer, View};
use splatcore_reference::conformance::{Outcome, refine};

/// A backend that can only refine.
struct OnlyRefines(Arc<dyn Device>);

struct Refined {
    device: Arc<dyn Device>,
    densify: Densify,
    state: State,
}

fn no<T>() -> Result<T, BackendError> {
    Err(BackendError::Unsupported {
        backend: "cuda",
        what: "rendering in this test".into(),
        depends_on: &[],
    })
}

impl Backend for OnlyRefines {
    fn name(&self) -> &'static str {
        "cuda"
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
    fn renderer(&self, _: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        no()
    }
    fn learner(
        &self,
        scene: &Gaussians,
        _: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        Ok(Box::new(Refined {
            device: self.0.clone(),
            densify: Densify::new(&Kernels::new(self.0.clone()))?,
            state: State::upload(&self.0, &LearnerState::fresh(scene.clone()))?,
        }))
    }
    fn memory_plan(&self, _: usize, _: u8, _: [u32; 2]) -> MemoryPlan {
        MemoryPlan::default()
    }
}

impl Scored for Refined {
    fn visibility(&mut self, _: &Camera, _: &RenderOptions) -> Result<Visibility, BackendError> {
        no()
    }
    fn tile_counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<TileCounts, BackendError> {
        no()
    }
    fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
        no()
    }
}

impl Renderer for Refined {
    fn count(&self) -> usize {
        self.state.count
    }
    fn render(&mut self, _: &Camera, _: &RenderOptions) -> Result<Rendered, BackendError> {
        no()
    }
    fn gradients(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        no()
    }
    fn stage_times(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: Timed,
    ) -> Result<StageTimes, BackendError> {
        no()
    }
}

impl Profiled for Refined {
    fn timed_step(&mut self, _: &StepPlan) -> Result<StageTimes, BackendError> {
        no()
    }
}

impl Deferred for Refined {
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError> {
        self.refine(refine).map(Some)
    }
}

impl Posed for Refined {}

impl Surrounded for Refined {
    fn sky(&mut self) -> Result<Option<Sky>, BackendError> {
        no()
    }
}

impl Learner for Refined {
    fn step(&mut self, _: &StepPlan) -> Result<(), BackendError> {
        no()
    }
    fn last_loss(&mut self) -> Result<f64, BackendError> {
        no()
    }
    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        self.densify.refine(&mut self.state, refine, None)
    }
    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        self.state.scene(None)
    }
    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        self.state.download(None)
    }
    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        self.state = State::upload(&self.device, state)?;
        Ok(())
    }
}

#[test]
fn the_conformance_suite_agrees() {
    let Some(device) = device() else { return };
    let backend = OnlyRefines(device);
    type Check = fn(&dyn Backend) -> Outcome;
    let checks: [(&str, Check); 6] = [
        ("adc clones and splits", refine::adc_clones_and_splits),
        (
            "adc prunes and respects the limit",
            refine::adc_prunes_and_respects_the_limit,
        ),
        ("opacity reset caps", refine::opacity_reset_caps),
        ("mcmc relocates", refine::mcmc_relocates),
        ("mcmc grows", refine::mcmc_grows),
        (
            "growth stays in the region",
            refine::growth_stays_in_the_region,
        ),
    ];
    let wrong: Vec<String> = checks
        .iter()
        .filter_map(|(name, check)| {
            check(&backend)
                .err()
                .map(|message| format!("{name}: {message}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
