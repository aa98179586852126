//! [`Camera`]: a pinhole, or of a dataset one with a lens.

use crate::arrays::{matrix, owned, three};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core;

/// A camera in OpenCV axes: x right, y down, z forward. The centre of the first pixel is at (0.5,
/// 0.5). It is a pinhole, unless it comes from a dataset whose photos keep their lens.
///
/// ``Camera(width, height, fx, fy, cx, cy, world_to_camera)``: size, focal lengths and principal
/// point in pixels; ``world_to_camera`` is 4x4, an array or nested lists, and takes a world point
/// (x, y, z, 1) to the camera's axes.
#[pyclass(frozen, eq, module = "splatcore")]
#[derive(Clone, PartialEq)]
pub struct Camera {
    pub camera: core::Camera,
}

impl Camera {
    /// Checks and wraps.
    fn checked(camera: core::Camera) -> PyResult<Self> {
        match camera.defect() {
            None => Ok(Self { camera }),
            Some(defect) => Err(PyValueError::new_err(format!("camera: {defect}"))),
        }
    }

    fn rows(&self) -> [[f64; 4]; 4] {
        rows(&self.camera)
    }
}

/// A camera's pose as a matrix world to camera.
pub fn rows(camera: &core::Camera) -> [[f64; 4]; 4] {
    let (r, t) = (&camera.rotation, &camera.translation);
    std::array::from_fn(|i| match i {
        3 => [0.0, 0.0, 0.0, 1.0],
        _ => [r[i][0], r[i][1], r[i][2], t[i]],
    })
}

#[pymethods]
impl Camera {
    #[new]
    fn new(
        width: u32,
        height: u32,
        fx: f64,
        fy: f64,
        cx: f64,
        cy: f64,
        world_to_camera: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let rows = matrix("world_to_camera", world_to_camera)?;
        if rows[3] != [0.0, 0.0, 0.0, 1.0] {
            return Err(PyValueError::new_err(format!(
                "world_to_camera must end in the row [0, 0, 0, 1], found {:?}",
                rows[3]
            )));
        }
        Self::checked(core::Camera {
            width,
            height,
            fx,
            fy,
            cx,
            cy,
            rotation: std::array::from_fn(|i| [rows[i][0], rows[i][1], rows[i][2]]),
            translation: std::array::from_fn(|i| rows[i][3]),
            lens: core::Lens::Pinhole,
            shutter: None,
        })
    }

    /// A camera at ``eye`` that looks at ``target``, with ``up`` pointing up in the image.
    /// ``fov_y`` is the vertical field of view in radians. Scenes made from photos mostly have y
    /// pointing down, hence the default of ``up``.
    #[staticmethod]
    #[pyo3(signature = (eye, target, width, height, *, up=None, fov_y=0.8))]
    fn look_at(
        eye: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        width: u32,
        height: u32,
        up: Option<&Bound<'_, PyAny>>,
        fov_y: f64,
    ) -> PyResult<Self> {
        if !(fov_y > 0.0 && fov_y < std::f64::consts::PI) {
            return Err(PyValueError::new_err(format!(
                "fov_y must be radians between 0 and pi, found {fov_y}"
            )));
        }
        let up = up.map_or(Ok([0.0, -1.0, 0.0]), |up| three("up", up))?;
        let (eye, target) = (three("eye", eye)?, three("target", target)?);
        let camera = core::Camera::look_at(eye, target, up, fov_y, width, height);
        Self::checked(camera)
    }

    /// The model of the lens, ``"pinhole"`` if there is none.
    #[getter]
    fn lens(&self) -> &'static str {
        self.camera.lens.name()
    }

    /// Width in pixels.
    #[getter]
    fn width(&self) -> u32 {
        self.camera.width
    }

    /// Height in pixels.
    #[getter]
    fn height(&self) -> u32 {
        self.camera.height
    }

    /// Focal length along x in pixels.
    #[getter]
    fn fx(&self) -> f64 {
        self.camera.fx
    }

    /// Focal length along y in pixels.
    #[getter]
    fn fy(&self) -> f64 {
        self.camera.fy
    }

    /// Principal point in pixels, x.
    #[getter]
    fn cx(&self) -> f64 {
        self.camera.cx
    }

    /// Principal point in pixels, y.
    #[getter]
    fn cy(&self) -> f64 {
        self.camera.cy
    }

    /// The pose, float64 ``[4, 4]``; a new array each time.
    #[getter]
    fn world_to_camera(&self, py: Python<'_>) -> PyResult<Py<PyArrayDyn<f64>>> {
        owned(py, self.rows().as_flattened().to_vec(), &[4, 4])
    }

    /// Where the camera stands in the world.
    #[getter]
    fn position(&self) -> (f64, f64, f64) {
        let [x, y, z] = self.camera.position();
        (x, y, z)
    }

    /// The same view stretched to another size, as a photo is that is resized.
    fn resized(&self, width: u32, height: u32) -> PyResult<Self> {
        Self::checked(self.camera.resized(width, height))
    }

    fn __repr__(&self) -> String {
        let (c, [x, y, z]) = (&self.camera, self.camera.position());
        format!(
            "<splatcore.Camera {}x{}, fx {:.1}, fy {:.1}, at ({x:.3}, {y:.3}, {z:.3})>",
            c.width, c.height, c.fx, c.fy
        )
    }

    #[allow(clippy::type_complexity)]
    fn __getnewargs__(&self) -> (u32, u32, f64, f64, f64, f64, [[f64; 4]; 4]) {
        let c = &self.camera;
        (c.width, c.height, c.fx, c.fy, c.cx, c.cy, self.rows())
    }
}
