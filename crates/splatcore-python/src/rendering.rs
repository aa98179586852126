//! What rendering gives: arrays that Python owns.

use crate::arrays::{image, owned, rows, values};
use crate::camera::Camera;
use crate::errors;
use crate::process::detached;
use crate::scene::Scene;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core::backend::Rendered;
use splatcore::core::{Gaussians, pose_gradient};
use splatcore::data::file::write_png;
use std::path::PathBuf;

/// A rendered view.
#[pyclass(frozen, get_all, module = "splatcore")]
pub struct Rendering {
    /// Colours, float32 ``[height, width, 3]``, background included. Values are those of photos,
    /// sRGB-encoded from 0 to 1; a scene may go beyond 1.
    image: Py<PyArrayDyn<f32>>,
    /// How much of the background the scene hides, float32 ``[height, width]``.
    alpha: Py<PyArrayDyn<f32>>,
    /// Depth along the view axis in world units, float32 ``[height, width]``, 0 where nothing is;
    /// ``None`` if it was not asked for. The inverse of the mean inverse depth of the Gaussians'
    /// centres.
    depth: Option<Py<PyArrayDyn<f32>>>,
}

impl Rendering {
    /// Hands a backend's buffers to Python.
    pub fn of(py: Python<'_>, rendered: Rendered) -> PyResult<Self> {
        let (w, h) = (
            rendered.image.width as usize,
            rendered.image.height as usize,
        );
        let depth = rendered.depth();
        let alpha = rendered.transmittance.iter().map(|t| 1.0 - t).collect();
        Ok(Self {
            image: owned(py, rendered.image.data.into_flattened(), &[h, w, 3])?,
            alpha: owned(py, alpha, &[h, w])?,
            depth: depth.map(|depth| owned(py, depth, &[h, w])).transpose()?,
        })
    }
}

#[pymethods]
impl Rendering {
    /// Writes the image as an 8-bit PNG.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let image = image("image", self.image.bind(py))?;
        detached(py, || {
            write_png(&path, &image).map_err(|error| errors::data(&error))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.image.bind(py).getattr("shape")?;
        Ok(format!("<splatcore.Rendering of shape {shape}>"))
    }
}

/// Gradients with respect to the parameters of a scene, arrays of the scene's shapes.
#[pyclass(frozen, get_all, module = "splatcore")]
pub struct Gradients {
    /// Float32 ``[n, 3]``.
    means: Py<PyArrayDyn<f32>>,
    /// With respect to the logarithms, float32 ``[n, 3]``.
    scales: Py<PyArrayDyn<f32>>,
    /// Float32 ``[n, 4]``.
    rotations: Py<PyArrayDyn<f32>>,
    /// With respect to the values before the sigmoid, float32 ``[n]``.
    opacities: Py<PyArrayDyn<f32>>,
    /// Float32 ``[n, k, 3]``.
    sh: Py<PyArrayDyn<f32>>,
}

impl Gradients {
    /// Hands a backend's buffers to Python.
    pub fn of(py: Python<'_>, found: Gaussians) -> PyResult<Self> {
        let (n, k) = (found.len(), found.coefficients());
        Ok(Self {
            means: owned(py, found.means.into_flattened(), &[n, 3])?,
            scales: owned(py, found.log_scales.into_flattened(), &[n, 3])?,
            rotations: owned(py, found.rotations.into_flattened(), &[n, 4])?,
            opacities: owned(py, found.opacity_logits, &[n])?,
            sh: owned(py, found.sh.into_flattened(), &[n, k, 3])?,
        })
    }
}

#[pymethods]
impl Gradients {
    /// Gradient with respect to the camera's pose: three numbers per radian about each of the
    /// camera's axes (x right, y down, z forward), and three per world unit along them, of a small
    /// motion that follows ``world_to_camera``.
    ///
    /// ``scene``, ``camera`` and ``sh_degree`` are those of the call of ``Renderer.gradients``.
    #[pyo3(signature = (scene, camera, sh_degree=None))]
    fn pose(
        &self,
        py: Python<'_>,
        scene: &Bound<'_, Scene>,
        camera: &Bound<'_, Camera>,
        sh_degree: Option<u8>,
    ) -> PyResult<([f64; 3], [f64; 3])> {
        let scene = &scene.get().gaussians;
        let found = Gaussians {
            means: rows(&self.means.bind(py).readonly())?,
            log_scales: rows(&self.scales.bind(py).readonly())?,
            rotations: rows(&self.rotations.bind(py).readonly())?,
            opacity_logits: values(&self.opacities.bind(py).readonly())?.to_vec(),
            sh: rows(&self.sh.bind(py).readonly())?,
            sh_degree: scene.sh_degree,
        };
        if found.len() != scene.len() || found.sh.len() != scene.sh.len() {
            return Err(PyValueError::new_err(format!(
                "scene has {} Gaussians and {} harmonics, the gradients have {} and {}",
                scene.len(),
                scene.sh.len(),
                found.len(),
                found.sh.len()
            )));
        }
        let degree = sh_degree.unwrap_or(scene.sh_degree);
        let camera = &camera.get().camera;
        let pose = detached(py, || Ok(pose_gradient(scene, &found, camera, degree)))?;
        Ok((pose.rotation, pose.translation))
    }
}
