//! [`CpuBackend`]: the portable backend's face to the trainer and the commands.

use crate::learner::CpuLearner;
use crate::project::Splat;
use crate::renderer::{CpuRenderer, check};
use crate::simd::Level;
use crate::workers::Workers;
use splatcore_core::backend::{BackendError, Learner, LearnerState, MemoryPlan, Renderer};
use splatcore_core::pipeline::Blend;
use splatcore_core::precision::GRADIENT_IN_SINGLE;
use splatcore_core::{Backend, Gaussians, Pipeline, Precision, View, sh};
use std::sync::Arc;

/// SIMD and threads. See the crate's documentation.
#[derive(Clone)]
pub struct CpuBackend {
    workers: Workers,
}

impl CpuBackend {
    /// The widest instruction set of this machine; as many threads as given, or as there are cores.
    pub fn new(threads: Option<usize>) -> Self {
        Self::with_simd(threads, Level::best())
    }

    /// A given instruction set, which must be one of [`Level::available`]; others fall back to the
    /// portable one.
    pub fn with_simd(threads: Option<usize>, level: Level) -> Self {
        Self {
            workers: Workers::new(threads, level),
        }
    }

    /// Threads at work.
    pub fn threads(&self) -> usize {
        self.workers.pool.current_num_threads()
    }

    /// Instruction set at work.
    pub fn level(&self) -> Level {
        self.workers.level
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> String {
        let threads = self.threads();
        format!(
            "CPU, {}, {threads} thread{}",
            self.level().name(),
            if threads == 1 { "" } else { "s" }
        )
    }

    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        check(scene)?;
        Ok(Box::new(CpuRenderer::new(
            self.workers.clone(),
            scene.clone(),
        )))
    }

    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        check(scene)?;
        Ok(Box::new(CpuLearner::new(
            self.workers.clone(),
            LearnerState::fresh(scene.clone()),
            views,
        )?))
    }

    fn precision(&self, _: Blend) -> Precision {
        Precision::Single
    }

    fn gradient_tolerance(&self, _: Pipeline) -> f64 {
        GRADIENT_IN_SINGLE
    }

    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan {
        let n = gaussians as u64;
        let parameters = n * 4 * (11 + 3 * sh::coefficients(sh_degree) as u64);
        let pixels = largest_view[0] as u64 * largest_view[1] as u64;
        // Splats, flags, depth keys and order; some 4 pairs a Gaussian with their slots; planes of
        // image, loss and gradient.
        let working = n * (size_of::<Splat>() as u64 + 1 + 16 + 8 + 8 + 4 * (8 + 4 + 36))
            + pixels * 4 * (4 + 3 + 8);
        MemoryPlan {
            parameters,
            moments: 2 * parameters,
            working,
            host: 0,
        }
    }
}
