//! Cameras with lenses and rolling shutters, and what a projection takes: a camera model's name, or
//! such cameras.

use crate::camera::rows;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core::lens::{FThetaCamera, Reference};
use splatcore::core::shutter::Readout;
use splatcore::core::{Camera, Lens};
use splatcore::cuda::tensors::projection as on_card;
use splatcore::tensors::projection::{CameraModel, Model};
use std::sync::Arc;

/// Adds the class.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Cameras>()
}

/// An f-theta lens: whether the polynomial goes from pixels to angles, its coefficients, that of
/// power 0 first, c, d, e of the linear map, and the largest angle in radians.
#[derive(FromPyObject)]
struct FTheta(bool, Vec<f64>, [f64; 3], f64);

/// Cameras with lenses or rolling shutters, in the order of ``[B, C]``, for ``camera_model``.
///
/// ``viewmats`` are matrices world to camera, four rows of four, ``intrinsics`` (fx, fy, cx, cy);
/// ``model`` is ``"pinhole"``, ``"ortho"``, ``"fisheye"`` or ``"ftheta"``. ``radial`` (k1 to k6, or
/// k1 to k4 of a fisheye), ``tangential`` (p1, p2) and ``thin_prism`` (s1 to s4) are None or have a
/// list for each camera. ``readout`` is ``"top-to-bottom"`` and so on, with ``last_viewmats``: the
/// poses when the last line is read.
#[pyclass(frozen, module = "splatcore._splatcore.tensors")]
pub struct Cameras(Arc<[Camera]>);

#[pymethods]
impl Cameras {
    #[new]
    #[pyo3(signature = (
        size, viewmats, intrinsics, model, radial=None, tangential=None, thin_prism=None,
        ftheta=None, readout=None, last_viewmats=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "what a camera of gsplat's is made of"
    )]
    fn new(
        size: [u32; 2],
        viewmats: Vec<[[f64; 4]; 4]>,
        intrinsics: Vec<[f64; 4]>,
        model: &str,
        radial: Option<Vec<Vec<f64>>>,
        tangential: Option<Vec<[f64; 2]>>,
        thin_prism: Option<Vec<[f64; 4]>>,
        ftheta: Option<FTheta>,
        readout: Option<&str>,
        last_viewmats: Option<Vec<[[f64; 4]; 4]>>,
    ) -> PyResult<Self> {
        let readout = readout.map(order).transpose()?;
        let one = |i: usize| -> PyResult<Camera> {
            let lens = Coefficients {
                radial: of(&radial, i, "radial_coeffs")?.cloned(),
                tangential: of(&tangential, i, "tangential_coeffs")?.copied(),
                thin_prism: of(&thin_prism, i, "thin_prism_coeffs")?.copied(),
            };
            let numbers = intrinsics.get(i).ok_or_else(|| missing("Ks"))?;
            let camera = lens.camera(size, *numbers, model, ftheta.as_ref())?;
            let at = |pose, name: &str| possible(placed(&camera, pose), i, name);
            let first = at(&viewmats[i], "")?;
            match (readout, of(&last_viewmats, i, "viewmats_rs")?) {
                (Some(readout), Some(last)) => {
                    let last = at(last, "viewmats_rs: ")?;
                    possible(Camera::rolling(&first, &last, readout), i, "")
                }
                _ => Ok(first),
            }
        };
        let cameras: Vec<Camera> = (0..viewmats.len()).map(one).collect::<PyResult<_>>()?;
        Ok(Self(cameras.into()))
    }

    /// Their poses in the middle of the read-out, as ``viewmats``.
    fn viewmats(&self) -> Vec<[[f64; 4]; 4]> {
        self.0.iter().map(rows).collect()
    }
}

fn missing(name: &str) -> PyErr {
    PyValueError::new_err(format!("{name} must be given for every camera"))
}

/// What is given of a camera, if anything is given.
fn of<'a, T>(all: &'a Option<Vec<T>>, i: usize, name: &str) -> PyResult<Option<&'a T>> {
    match all {
        None => Ok(None),
        Some(all) => all.get(i).map(Some).ok_or_else(|| missing(name)),
    }
}

fn order(name: &str) -> PyResult<Readout> {
    Ok(match name {
        "top-to-bottom" => Readout::TopToBottom,
        "bottom-to-top" => Readout::BottomToTop,
        "left-to-right" => Readout::LeftToRight,
        "right-to-left" => Readout::RightToLeft,
        other => {
            return Err(PyValueError::new_err(format!(
                "readout must be \"top-to-bottom\", \"bottom-to-top\", \"left-to-right\" or \
                 \"right-to-left\", found {other:?}"
            )));
        }
    })
}

/// The camera at a pose.
fn placed(camera: &Camera, m: &[[f64; 4]; 4]) -> Camera {
    Camera {
        rotation: [0, 1, 2].map(|i| [m[i][0], m[i][1], m[i][2]]),
        translation: [0, 1, 2].map(|i| m[i][3]),
        ..camera.clone()
    }
}

/// A camera that can be; of an error, `name` says in which argument it is.
fn possible(camera: Camera, i: usize, name: &str) -> PyResult<Camera> {
    match camera.defect() {
        Some(defect) => Err(PyValueError::new_err(format!("camera {i}: {name}{defect}"))),
        None => Ok(camera),
    }
}

/// A camera's coefficients, by gsplat's names.
struct Coefficients {
    radial: Option<Vec<f64>>,
    tangential: Option<[f64; 2]>,
    thin_prism: Option<[f64; 4]>,
}

impl Coefficients {
    fn camera(
        self,
        [width, height]: [u32; 2],
        [fx, fy, cx, cy]: [f64; 4],
        model: &str,
        ftheta: Option<&FTheta>,
    ) -> PyResult<Camera> {
        let pinhole = Camera {
            fx,
            fy,
            cx,
            cy,
            ..Camera::pinhole(width, height, 1.0)
        };
        if let (Some(ftheta), "ftheta") = (ftheta, model) {
            self.none(model)?;
            return ftheta.camera(pinhole);
        }
        let lens = match model {
            "pinhole" => Lens::OpenCv {
                k: self.radial("pinhole")?,
                p: self.tangential.unwrap_or_default(),
                s: self.thin_prism.unwrap_or_default(),
            }
            .simplified(),
            "fisheye" => {
                let k = self.radial("fisheye")?;
                Self {
                    radial: None,
                    ..self
                }
                .none(model)?;
                Lens::Fisheye {
                    k,
                    p: [0.0; 2],
                    s: [0.0; 2],
                }
            }
            "ortho" => {
                self.none(model)?;
                Lens::Orthographic
            }
            "ftheta" => return Err(missing("ftheta_coeffs")),
            other => {
                return Err(PyValueError::new_err(format!(
                    "camera_model must be \"pinhole\", \"ortho\", \"fisheye\" or \"ftheta\", found \
                     {other:?}"
                )));
            }
        };
        Ok(Camera { lens, ..pinhole })
    }

    /// Radial coefficients, so many as the model has; zeros if there are none.
    fn radial<const N: usize>(&self, model: &str) -> PyResult<[f64; N]> {
        let Some(given) = &self.radial else {
            return Ok([0.0; N]);
        };
        given.as_slice().try_into().map_err(|_| {
            PyValueError::new_err(format!(
                "radial_coeffs must have {N} numbers a camera with camera_model=\"{model}\", found \
                 {}",
                given.len()
            ))
        })
    }

    /// An error if there are coefficients.
    fn none(self, model: &str) -> PyResult<()> {
        let named = [
            ("radial_coeffs", self.radial.is_some()),
            ("tangential_coeffs", self.tangential.is_some()),
            ("thin_prism_coeffs", self.thin_prism.is_some()),
        ];
        match named.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => Err(PyValueError::new_err(format!(
                "{name} must be None with camera_model=\"{model}\", which has no such terms"
            ))),
        }
    }
}

impl FTheta {
    fn camera(&self, camera: Camera) -> PyResult<Camera> {
        let Self(from_pixels, polynomial, linear, max_angle) = self;
        let wrong = |what: &str| PyValueError::new_err(format!("ftheta_coeffs must have {what}"));
        let numbers = polynomial.iter().chain(linear).chain([max_angle]);
        if !numbers.into_iter().all(|v| v.is_finite()) {
            return Err(wrong("finite numbers"));
        }
        let [c, d, e] = *linear;
        if c <= 0.0 || c - d * e == 0.0 {
            return Err(wrong("a linear_cde with an inverse and a positive c"));
        }
        if *max_angle <= 0.0 {
            return Err(wrong("a positive max_angle"));
        }
        let lens = FThetaCamera {
            reference: match from_pixels {
                true => Reference::PixelsToAngle,
                false => Reference::AngleToPixels,
            },
            polynomial: polynomial.clone(),
            linear: *linear,
            max_angle: (*max_angle < std::f64::consts::PI).then_some(*max_angle),
        };
        lens.camera(camera).map_err(|(has, wants)| {
            PyValueError::new_err(format!(
                "ftheta_coeffs: the reference polynomial has {has}, but needs {wants}"
            ))
        })
    }
}

/// A camera model by its name.
///
/// # Errors
/// `ValueError` if there is none of this name.
fn camera(model: &str) -> PyResult<CameraModel> {
    match model {
        "pinhole" => Ok(CameraModel::Pinhole),
        "ortho" => Ok(CameraModel::Ortho),
        "fisheye" => Ok(CameraModel::Fisheye),
        other => Err(PyValueError::new_err(format!(
            "camera_model must be \"pinhole\", \"ortho\" or \"fisheye\", found {other:?}"
        ))),
    }
}

/// The same on a card.
fn camera_on_card(model: &str) -> PyResult<on_card::CameraModel> {
    Ok(match camera(model)? {
        CameraModel::Pinhole => on_card::CameraModel::Pinhole,
        CameraModel::Ortho => on_card::CameraModel::Ortho,
        CameraModel::Fisheye => on_card::CameraModel::Fisheye,
    })
}

/// What a projection takes as ``camera_model``.
pub enum ModelArgument {
    Named(String),
    Through(Arc<[Camera]>),
}

impl<'py> FromPyObject<'_, 'py> for ModelArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(cameras) = object.cast::<Cameras>() {
            return Ok(Self::Through(cameras.get().0.clone()));
        }
        object.extract().map(Self::Named)
    }
}

impl ModelArgument {
    /// As the CPU takes it.
    pub fn on_cpu(&self) -> PyResult<Model<'_>> {
        Ok(match self {
            Self::Named(name) => Model::Ewa(camera(name)?),
            Self::Through(cameras) => Model::Unscented(cameras),
        })
    }

    /// As a card takes it.
    pub fn on_card(&self) -> PyResult<on_card::Model<'_>> {
        Ok(match self {
            Self::Named(name) => on_card::Model::Ewa(camera_on_card(name)?),
            Self::Through(cameras) => on_card::Model::Unscented(cameras),
        })
    }
}
