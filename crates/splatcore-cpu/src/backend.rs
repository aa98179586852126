//! [`CpuBackend`]: the portable backend's face to the trainer and the commands.

use crate::frame::Frame;
use crate::learner::CpuLearner;
use crate::project::{Scene, Splat};
use crate::simd::Level;
use crate::step::{Rows, rows_backward};
use rayon::{ThreadPool, ThreadPoolBuilder};
use splatcore_core::backend::{
    BackendError, FrameCounts, Learner, LearnerState, MemoryPlan, RenderOptions, Rendered,
    Renderer, StageTimes,
};
use splatcore_core::pipeline::Blend;
use splatcore_core::precision::GRADIENT_IN_SINGLE;
use splatcore_core::{Backend, Camera, Gaussians, Image, Pipeline, Precision, View, checks, sh};
use std::sync::Arc;

/// SIMD and threads. See the crate's documentation.
#[derive(Clone)]
pub struct CpuBackend {
    pub(crate) level: Level,
    pub(crate) pool: Arc<ThreadPool>,
}

impl CpuBackend {
    /// The widest instruction set of this machine; as many threads as given, or as there are cores.
    pub fn new(threads: Option<usize>) -> Self {
        Self::with_simd(threads, Level::best())
    }

    /// A given instruction set, which must be one of [`Level::available`]; others fall back to the
    /// portable one.
    pub fn with_simd(threads: Option<usize>, level: Level) -> Self {
        let level = if Level::available().contains(&level) {
            level
        } else {
            Level::Portable
        };
        let threads = threads
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()))
            .unwrap_or(1)
            .max(1);
        let build = |threads| {
            ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|i| format!("splatcore-{i}"))
                .build()
        };
        // A system that refuses threads gets the calling thread alone.
        let pool = build(threads).or_else(|_| {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build()
        });
        let pool = match pool {
            Ok(pool) => Arc::new(pool),
            Err(error) => {
                unreachable!("a pool of the calling thread alone starts no thread: {error}")
            }
        };
        Self { level, pool }
    }

    /// Threads at work.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Instruction set at work.
    pub fn level(&self) -> Level {
        self.level
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
            self.level.name(),
            if threads == 1 { "" } else { "s" }
        )
    }

    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        check(scene)?;
        Ok(Box::new(CpuRenderer {
            backend: self.clone(),
            scene: scene.clone(),
            frame: Frame::default(),
        }))
    }

    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        check(scene)?;
        Ok(Box::new(CpuLearner::new(
            self.clone(),
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
        }
    }
}

/// Refuses arrays that do not belong together; the kernels rely on it.
pub(crate) fn check(scene: &Gaussians) -> Result<(), BackendError> {
    checks::scene(scene)?;
    let n = scene.len();
    if n >= u32::MAX as usize {
        return Err(BackendError::Input(format!(
            "{n} Gaussians are more than 32 bits can number"
        )));
    }
    Ok(())
}

/// A scene on the CPU.
pub struct CpuRenderer {
    pub(crate) backend: CpuBackend,
    pub(crate) scene: Gaussians,
    pub(crate) frame: Frame,
}

impl Renderer for CpuRenderer {
    fn count(&self) -> usize {
        self.scene.len()
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        let scene = (&self.scene, &[][..]);
        render(&self.backend, scene, &mut self.frame, camera, options)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        image_gradient: &Image,
    ) -> Result<Gaussians, BackendError> {
        gradients(
            &self.backend,
            (&self.scene, &[]),
            &mut self.frame,
            camera,
            options,
            image_gradient,
        )
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        let scene = (&self.scene, &[][..]);
        counts(&self.backend, scene, &mut self.frame, camera, options)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        backward: bool,
    ) -> Result<StageTimes, BackendError> {
        stage_times(
            &self.backend,
            (&self.scene, &[]),
            &mut self.frame,
            camera,
            options,
            backward,
        )
    }
}

pub(crate) fn render(
    backend: &CpuBackend,
    (scene, smoothing): (&Gaussians, &[f32]),
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
) -> Result<Rendered, BackendError> {
    let scene = Scene::with_smoothing(scene, smoothing, options.sh_degree);
    backend
        .pool
        .install(|| frame.forward(backend.level, scene, camera, options, true))?;
    Ok(frame.rendered(camera))
}

pub(crate) fn counts(
    backend: &CpuBackend,
    (scene, smoothing): (&Gaussians, &[f32]),
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
) -> Result<FrameCounts, BackendError> {
    let scene = Scene::with_smoothing(scene, smoothing, options.sh_degree);
    backend.pool.install(|| {
        frame.forward(backend.level, scene, camera, options, false)?;
        frame.count(backend.level, camera, options)
    })
}

pub(crate) fn gradients(
    backend: &CpuBackend,
    (scene, smoothing): (&Gaussians, &[f32]),
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
    image_gradient: &Image,
) -> Result<Gaussians, BackendError> {
    checks::image_gradient(image_gradient, camera)?;
    let planes = [0, 1, 2].map(|c: usize| {
        image_gradient
            .data
            .iter()
            .map(|p| p[c])
            .collect::<Vec<f32>>()
    });
    let planes = planes.each_ref().map(|plane| plane.as_slice());
    let view = Scene::with_smoothing(scene, smoothing, options.sh_degree);
    let mut out = Gaussians::zeros(scene.len(), scene.sh_degree);
    backend.pool.install(|| {
        frame.forward(backend.level, view, camera, options, true)?;
        frame.backward(backend.level, camera, options, planes)?;
        frame.timed("project_backward", |frame| {
            rows_backward(
                backend.level,
                frame,
                view,
                camera,
                options,
                &mut Rows::new(&mut out),
            );
        });
        Ok(())
    })?;
    Ok(out)
}

pub(crate) fn stage_times(
    backend: &CpuBackend,
    (scene, smoothing): (&Gaussians, &[f32]),
    frame: &mut Frame,
    camera: &Camera,
    options: &RenderOptions,
    backward: bool,
) -> Result<StageTimes, BackendError> {
    frame.collect_times();
    if backward {
        let ones = Image::filled(camera.width, camera.height, [1.0; 3]);
        gradients(backend, (scene, smoothing), frame, camera, options, &ones)?;
    } else {
        let view = Scene::with_smoothing(scene, smoothing, options.sh_degree);
        backend
            .pool
            .install(|| frame.forward(backend.level, view, camera, options, true))?;
    }
    Ok(frame.take_times())
}
