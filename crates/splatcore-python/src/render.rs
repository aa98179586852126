//! [`Renderer`]: a scene on a backend; and which backend that is.

use crate::arrays::{Side, colour, image, read, values};
use crate::camera::Camera;
use crate::errors;
use crate::process::{Home, current, detached};
use crate::rendering::{Gradients, Rendering};
use crate::scene::Scene;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core::backend::{Cotangents, RenderOptions};
use splatcore::core::sky::Sky;
use splatcore::core::with_depth::render_with_depth;
use splatcore::core::{self, Backend, sh};
use splatcore::cpu::CpuBackend;
use splatcore::cuda::{CudaBackend, Options};
use splatcore::train::config::BackendChoice;
use std::sync::{Arc, Mutex, PoisonError};

/// A scene on the processor or on a card, ready to render any camera.
///
/// ``backend`` is "auto" (a card if there is one), "cpu" or "cuda"; ``threads`` is for the
/// processor, ``device`` the number of a card. The renderer has a copy of the scene. It may be used
/// from several threads, one at a time, and only in the process that made it.
#[pyclass(frozen, module = "splatcore")]
pub struct Renderer {
    renderer: Mutex<Box<dyn core::Renderer>>,
    home: Home,
    count: usize,
    antialias: bool,
    sky: Option<Arc<Sky>>,
    name: &'static str,
    description: String,
}

/// What an argument `pipeline` or the like says that was not given.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

#[pymethods]
impl Renderer {
    #[new]
    #[pyo3(signature = (scene, backend="auto", *, threads=None, device=None))]
    fn new(
        py: Python<'_>,
        scene: &Bound<'_, Scene>,
        backend: &str,
        threads: Option<usize>,
        device: Option<usize>,
    ) -> PyResult<Self> {
        let choice = choice_of(backend)?;
        let scene = scene.get();
        let gaussians = &*scene.gaussians;
        detached(py, || {
            let options = Options {
                device,
                ..Options::default()
            };
            let backend = open(choice, threads, options)?;
            let renderer = backend.renderer(gaussians);
            Ok(Self {
                renderer: Mutex::new(renderer.map_err(|error| errors::backend(&error))?),
                home: Home::here(),
                count: gaussians.len(),
                antialias: scene.antialias,
                sky: scene.sky.clone(),
                name: backend.name(),
                description: backend.describe(),
            })
        })
    }

    /// Renders one camera.
    ///
    /// ``background`` is three numbers from 0 to 1; if it is left out, what is behind the scene is
    /// its sky, or black. ``depth`` asks for depth too, ``pipeline``
    /// names kernels as the command line does. ``sh_degree`` limits the harmonics that are used.
    /// ``antialiased`` is the scene's own unless given.
    #[pyo3(signature = (
        camera, *, background=None, depth=false, pipeline="auto", sh_degree=None, antialiased=None
    ))]
    fn render(
        &self,
        py: Python<'_>,
        camera: &Bound<'_, Camera>,
        background: Argument<'_, '_>,
        depth: bool,
        pipeline: &str,
        sh_degree: Option<u8>,
        antialiased: Option<bool>,
    ) -> PyResult<Rendering> {
        let mut options = options_of(background, pipeline, sh_degree)?;
        options.antialias = antialiased.unwrap_or(self.antialias);
        options.sky = self.sky.clone().filter(|_| background.is_none());
        let camera = &camera.get().camera;
        let rendered = self.with(py, |renderer| {
            render_with_depth(renderer, camera, &options, depth)
        })?;
        Rendering::of(py, rendered)
    }

    /// Gradients of a scalar with respect to every parameter of the scene.
    ///
    /// ``image_gradient`` is the scalar's gradient with respect to the rendered image, float32
    /// ``[height, width, 3]``; ``alpha_gradient`` and ``depth_gradient`` those with respect to
    /// ``alpha`` and ``depth`` of a ``Rendering``, float32 ``[height, width]``, 0 if left out. The
    /// other arguments are those of ``render``. Gaussians that the camera does not see have zeros.
    #[pyo3(signature = (
        camera, image_gradient, *, alpha_gradient=None, depth_gradient=None, background=None,
        pipeline="auto", sh_degree=None, antialiased=None
    ))]
    fn gradients(
        &self,
        py: Python<'_>,
        camera: &Bound<'_, Camera>,
        image_gradient: &Bound<'_, PyAny>,
        alpha_gradient: Option<&Bound<'_, PyAny>>,
        depth_gradient: Option<&Bound<'_, PyAny>>,
        background: Argument<'_, '_>,
        pipeline: &str,
        sh_degree: Option<u8>,
        antialiased: Option<bool>,
    ) -> PyResult<Gradients> {
        let mut options = options_of(background, pipeline, sh_degree)?;
        options.antialias = antialiased.unwrap_or(self.antialias);
        options.sky = self.sky.clone().filter(|_| background.is_none());
        let camera = &camera.get().camera;
        let gradient = image("image_gradient", image_gradient)?;
        if [gradient.width, gradient.height] != [camera.width, camera.height] {
            return Err(PyValueError::new_err(format!(
                "image_gradient must have shape [{}, {}, 3], the camera's, found [{}, {}, 3]",
                camera.height, camera.width, gradient.height, gradient.width
            )));
        }
        let sides = [camera.height, camera.width].map(|side| Side::Is(side as usize));
        let plane = |name, value: Option<&Bound<'_, PyAny>>| -> PyResult<Option<Vec<f32>>> {
            let array = value.map(|value| read::<f32>(name, value, &sides));
            array
                .transpose()?
                .map(|array| Ok(values(&array)?.to_vec()))
                .transpose()
        };
        let alpha = plane("alpha_gradient", alpha_gradient)?;
        let depth = plane("depth_gradient", depth_gradient)?;
        let found = self.with(py, |renderer| {
            let mut cotangents = Cotangents::from(gradient);
            if let Some(alpha) = alpha {
                cotangents.add_alpha(&alpha);
            }
            if let Some(depth) = depth {
                let with_depth = options.clone().with_inverse_depth(true);
                cotangents.add_depth(&renderer.render(camera, &with_depth)?, &depth)?;
            }
            renderer.gradients(camera, &options, &cotangents)
        })?;
        Gradients::of(py, found)
    }

    /// "cpu" or "cuda".
    #[getter]
    fn backend(&self) -> &'static str {
        self.name
    }

    /// Number of Gaussians.
    fn __len__(&self) -> usize {
        self.count
    }

    fn __repr__(&self) -> String {
        format!(
            "<splatcore.Renderer of {} Gaussians on {}>",
            self.count, self.description
        )
    }
}

impl Renderer {
    /// Runs this with the renderer, without Python's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn core::Renderer) -> Result<T, core::BackendError> + Send,
    ) -> PyResult<T> {
        self.home.check("Renderer")?;
        detached(py, || {
            // A renderer makes all of a frame anew, so one in which a panic ended is as good.
            let renderer = self.renderer.lock();
            let mut renderer = renderer.unwrap_or_else(PoisonError::into_inner);
            work(&mut **renderer).map_err(|error| errors::backend(&error))
        })
    }
}

/// Renders one camera: ``Renderer(scene, backend).render(camera, ...)``. For more than one camera
/// of a scene make the renderer once.
#[pyfunction]
#[pyo3(signature = (
    scene, camera, *, backend="auto", background=None, depth=false, pipeline="auto",
    sh_degree=None, antialiased=None
))]
pub fn render(
    py: Python<'_>,
    scene: &Bound<'_, Scene>,
    camera: &Bound<'_, Camera>,
    backend: &str,
    background: Argument<'_, '_>,
    depth: bool,
    pipeline: &str,
    sh_degree: Option<u8>,
    antialiased: Option<bool>,
) -> PyResult<Rendering> {
    let renderer = Renderer::new(py, scene, backend, None, None)?;
    renderer.render(
        py,
        camera,
        background,
        depth,
        pipeline,
        sh_degree,
        antialiased,
    )
}

/// The options that rendering and gradients share.
pub fn options_of(
    background: Argument<'_, '_>,
    pipeline: &str,
    sh_degree: Option<u8>,
) -> PyResult<RenderOptions> {
    let mut options = RenderOptions {
        pipeline: pipeline
            .parse()
            .map_err(|error| PyValueError::new_err(format!("pipeline: {error}")))?,
        ..RenderOptions::default()
    };
    if let Some(background) = background {
        options.background = colour("background", background)?;
    }
    if let Some(degree) = sh_degree {
        if degree > sh::MAX_DEGREE {
            return Err(PyValueError::new_err(format!(
                "sh_degree must be 0 to {}, found {degree}",
                sh::MAX_DEGREE
            )));
        }
        options.sh_degree = degree;
    }
    Ok(options)
}

fn choice_of(backend: &str) -> PyResult<BackendChoice> {
    match backend {
        "auto" => Ok(BackendChoice::Auto),
        "cpu" => Ok(BackendChoice::Cpu),
        "cuda" => Ok(BackendChoice::Cuda),
        other => Err(PyValueError::new_err(format!(
            "backend must be \"auto\", \"cpu\" or \"cuda\", found {other:?}"
        ))),
    }
}

/// Opens a backend; the default ones are made once a process.
///
/// # Errors
/// A card that was asked for cannot be had; no threads, or more than [`MAX_THREADS`].
pub fn open(
    choice: BackendChoice,
    threads: Option<usize>,
    options: Options,
) -> PyResult<Box<dyn Backend>> {
    if let Some(threads) = threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
        return Err(PyValueError::new_err(format!(
            "threads must be 1 to {MAX_THREADS}, found {threads}"
        )));
    }
    let cpu = || -> Box<dyn Backend> {
        Box::new(match threads {
            Some(threads) => CpuBackend::new(Some(threads)),
            None => current().cpu.get_or_init(|| CpuBackend::new(None)).clone(),
        })
    };
    let cuda = || match options == Options::default() {
        true => current()
            .cuda
            .get_or_init(|| CudaBackend::open(options).map_err(|error| error.to_string()))
            .clone(),
        false => CudaBackend::open(options).map_err(|error| error.to_string()),
    };
    let wanted = |reason: String| {
        errors::Error::new_err(format!(
            "the CUDA backend cannot be used: {reason}; or compute on the processor with \
             backend=\"cpu\""
        ))
    };
    match (choice, options.device) {
        (BackendChoice::Cpu, Some(device)) => Err(PyValueError::new_err(format!(
            "device={device} names an NVIDIA card and backend=\"cpu\" uses none; leave one out"
        ))),
        (BackendChoice::Cpu, None) => Ok(cpu()),
        (BackendChoice::Cuda, _) | (_, Some(_)) => Ok(Box::new(cuda().map_err(wanted)?)),
        (BackendChoice::Auto, None) => Ok(match cuda() {
            Ok(card) => Box::new(card),
            Err(_) => cpu(),
        }),
    }
}

/// Thousands of threads take minutes to start, and the result is the same.
const MAX_THREADS: usize = 256;
