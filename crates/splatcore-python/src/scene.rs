//! [`Scene`]: Gaussians, files of them, arrays of them.

use crate::arrays::{self, Side, check_finite, read, rows};
use crate::errors;
use crate::process::{detached, on_all_cores};
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use splatcore::core::sky::{COEFFICIENTS, Sky};
use splatcore::core::{Gaussians, sh};
use splatcore::data::scene::{Format, ReadOptions, WriteOptions, read_with, write};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

/// A set of 3D Gaussians, which does not change.
///
/// ``Scene(means, scales, rotations, opacities, sh)`` copies float32 arrays: ``means`` ``[n, 3]``
/// in world units, ``scales`` ``[n, 3]`` as natural logarithms, ``rotations`` ``[n, 4]`` as
/// quaternions w, x, y, z of any length but zero, ``opacities`` ``[n]`` before the sigmoid, ``sh``
/// ``[n, k, 3]`` with k of 1, 4, 9 or 16. NumPy arrays, or arrays with ``__dlpack__`` in the
/// processor's memory. ``antialiased`` says that the scene was trained with Mip-Splatting's filter
/// and is rendered with it. ``sky`` is what is behind the scene where no background is given: the
/// coefficients of its harmonics ``[16, 3]``, of the colour less 0.5.
///
/// The attributes of the same names are NumPy views of the scene's memory. They cost nothing, keep
/// the scene alive, and cannot be written: ``replace`` makes an edited scene.
#[pyclass(frozen, module = "splatcore")]
pub struct Scene {
    pub gaussians: Arc<Gaussians>,
    pub antialias: bool,
    pub sky: Option<Arc<Sky>>,
}

impl Scene {
    /// Wraps Gaussians, and the sky behind them.
    pub fn of(gaussians: Gaussians, antialias: bool, sky: Option<Sky>) -> Self {
        Self {
            gaussians: Arc::new(gaussians),
            antialias,
            sky: sky.map(Arc::new),
        }
    }
}

type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

#[pymethods]
impl Scene {
    #[new]
    #[pyo3(signature = (means, scales, rotations, opacities, sh, antialiased=false, sky=None))]
    fn new(
        means: &Bound<'_, PyAny>,
        scales: &Bound<'_, PyAny>,
        rotations: &Bound<'_, PyAny>,
        opacities: &Bound<'_, PyAny>,
        sh: &Bound<'_, PyAny>,
        antialiased: bool,
        sky: Argument<'_, '_>,
    ) -> PyResult<Self> {
        let means = rows_of("means", means, Side::Any("n"))?;
        let n = Side::Is(means.len());
        let (sh, sh_degree) = harmonics_of(sh, n)?;
        let gaussians = Gaussians {
            log_scales: rows_of("scales", scales, n)?,
            rotations: rotations_of(rotations, n)?,
            opacity_logits: opacities_of(opacities, n)?,
            means,
            sh,
            sh_degree,
        };
        let sky = sky.map(sky_of).transpose()?;
        Ok(Self::of(gaussians, antialiased, sky))
    }

    /// Reads a scene file of any format that splatcore reads; the content tells which. ``lod``
    /// chooses the level of a streamed SOG, 0 the finest. Gaussians with a value that is not finite
    /// are left out. That, and whatever else the reader noticed, is a ``UserWarning``. A scene in
    /// the folder of a run that learned a sky has that sky.
    #[staticmethod]
    #[pyo3(signature = (path, *, lod=None))]
    fn load(py: Python<'_>, path: PathBuf, lod: Option<u32>) -> PyResult<Self> {
        let options = ReadOptions {
            lod,
            ..ReadOptions::default()
        };
        let file = detached(py, || {
            on_all_cores(|| read_with(&path, &options)).map_err(|error| errors::data(&error))
        })?;
        if file.dropped > 0 {
            let what = "Gaussians are left out, a value of theirs is not finite";
            warn(py, &format!("{}: {} {what}", path.display(), file.dropped))?;
        }
        for note in &file.notes {
            warn(py, &format!("{}: {note}", path.display()))?;
        }
        let sky = splatcore::sky_behind(&path).map_err(errors::Error::new_err)?;
        Ok(Self::of(file.gaussians, file.antialiased, sky))
    }

    /// Writes the scene in the format that the name's ending tells. An existing file is replaced
    /// once the new one is complete. What the format cannot keep is a ``UserWarning``.
    ///
    /// ``keep_order`` keeps the order of the Gaussians where a format has one of its own:
    /// compressed PLY, .splat and SOG, but not streamed SOG, which refuses it. Other formats keep
    /// it anyway.
    /// ``spz_version`` is 2, 3 or 4. ``sog_iterations`` are rounds that improve the palette of SOG,
    /// ``sog_levels`` the levels of detail of a streamed SOG.
    #[pyo3(signature = (
        path, *, keep_order=false, spz_version=None, sog_iterations=None, sog_levels=None
    ))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        keep_order: bool,
        spz_version: Option<u32>,
        sog_iterations: Option<u32>,
        sog_levels: Option<u32>,
    ) -> PyResult<()> {
        let mut options = WriteOptions {
            antialiased: self.antialias,
            keep_order,
            ..WriteOptions::default()
        };
        if keep_order && Format::of_output(&path).is_ok_and(|f| f == Format::StreamedSog) {
            return Err(PyValueError::new_err(
                "keep_order=True is not for lod-meta.json, a streamed SOG, which has an order of \
                 its own; every other format keeps the order, .sog and meta.json too",
            ));
        }
        let (spz, sog) = (&mut options.spz, &mut options.sog);
        spz.version = within("spz_version", spz_version, spz.version, [2, 4])?;
        sog.iterations = within("sog_iterations", sog_iterations, sog.iterations, [0, 1000])?;
        sog.levels = within("sog_levels", sog_levels, sog.levels, [1, 16])?;
        let scene = &*self.gaussians;
        let written = detached(py, || {
            on_all_cores(|| write(&path, scene, &options, &|_, _, _| {}))
                .map_err(|error| errors::data(&error))
        })?;
        for note in &written.notes {
            warn(py, &format!("{}: {note}", path.display()))?;
        }
        Ok(())
    }

    /// A scene with some of the arrays replaced, the others copied.
    #[pyo3(signature = (
        *, means=None, scales=None, rotations=None, opacities=None, sh=None, antialiased=None,
        sky=None
    ))]
    fn replace(
        &self,
        means: Argument<'_, '_>,
        scales: Argument<'_, '_>,
        rotations: Argument<'_, '_>,
        opacities: Argument<'_, '_>,
        sh: Argument<'_, '_>,
        antialiased: Option<bool>,
        sky: Argument<'_, '_>,
    ) -> PyResult<Self> {
        let old = &*self.gaussians;
        let n = Side::Is(old.len());
        let (sh, sh_degree) = match sh {
            Some(sh) => harmonics_of(sh, n)?,
            None => (old.sh.clone(), old.sh_degree),
        };
        let gaussians = Gaussians {
            means: match means {
                Some(means) => rows_of("means", means, n)?,
                None => old.means.clone(),
            },
            log_scales: match scales {
                Some(scales) => rows_of("scales", scales, n)?,
                None => old.log_scales.clone(),
            },
            rotations: match rotations {
                Some(rotations) => rotations_of(rotations, n)?,
                None => old.rotations.clone(),
            },
            opacity_logits: match opacities {
                Some(opacities) => opacities_of(opacities, n)?,
                None => old.opacity_logits.clone(),
            },
            sh,
            sh_degree,
        };
        let sky = match sky {
            Some(sky) => Some(sky_of(sky)?),
            None => self.sky.as_deref().copied(),
        };
        let antialias = antialiased.unwrap_or(self.antialias);
        Ok(Self::of(gaussians, antialias, sky))
    }

    /// Centres in world units, float32 ``[n, 3]``.
    #[getter]
    fn means<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        view(&this, |scene| scene.means.as_flattened(), &[3])
    }

    /// Natural logarithms of the standard deviations along the Gaussian's own axes, float32
    /// ``[n, 3]``.
    #[getter]
    fn scales<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        view(&this, |scene| scene.log_scales.as_flattened(), &[3])
    }

    /// Quaternions w, x, y, z, Gaussian's axes to world, float32 ``[n, 4]``.
    #[getter]
    fn rotations<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        view(&this, |scene| scene.rotations.as_flattened(), &[4])
    }

    /// Opacities before the sigmoid, float32 ``[n]``.
    #[getter]
    fn opacities<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        view(&this, |scene| &scene.opacity_logits, &[])
    }

    /// Coefficients of the spherical harmonics, float32 ``[n, k, 3]``.
    #[getter]
    fn sh<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let k = this.get().gaussians.coefficients();
        view(&this, |scene| scene.sh.as_flattened(), &[k, 3])
    }

    /// Degree of the spherical harmonics, 0 to 3.
    #[getter]
    fn sh_degree(&self) -> u8 {
        self.gaussians.sh_degree
    }

    /// Whether the scene is rendered with Mip-Splatting's filter.
    #[getter]
    fn antialiased(&self) -> bool {
        self.antialias
    }

    /// Coefficients of the harmonics of the sky behind the scene, float32 ``[16, 3]``: its colour
    /// in a direction, less 0.5. ``None`` if there is none.
    #[getter]
    fn sky(&self, py: Python<'_>) -> PyResult<Option<Py<PyArrayDyn<f32>>>> {
        let sky = self.sky.as_ref();
        let array = |sky: &Arc<Sky>| {
            let values = sky.coefficients.as_flattened().to_vec();
            arrays::owned(py, values, &[COEFFICIENTS, 3])
        };
        sky.map(array).transpose()
    }

    fn __len__(&self) -> usize {
        self.gaussians.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<splatcore.Scene of {} Gaussians, sh_degree {}>",
            self.gaussians.len(),
            self.gaussians.sh_degree
        )
    }

    fn __getnewargs__<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let antialias = this.get().antialias;
        let arrays = (
            Self::means(this.clone())?,
            Self::scales(this.clone())?,
            Self::rotations(this.clone())?,
            Self::opacities(this.clone())?,
            Self::sh(this.clone())?,
            antialias,
            this.get().sky(this.py())?,
        );
        Ok(arrays.into_pyobject(this.py())?.into_any())
    }
}

/// A view of a scene's array, `[n, sides...]`.
fn view<'py>(
    this: &Bound<'py, Scene>,
    array: impl Fn(&Gaussians) -> &[f32],
    sides: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let scene = &*this.get().gaussians;
    let shape: Vec<usize> = [scene.len()].iter().chain(sides).copied().collect();
    // SAFETY: the scene object is frozen and keeps its Gaussians, which nothing changes.
    unsafe { arrays::view(this.clone().into_any(), array(scene), &shape) }
}

/// A sky's coefficients.
fn sky_of(value: &Bound<'_, PyAny>) -> PyResult<Sky> {
    let found: Vec<[f32; 3]> = rows_of("sky", value, Side::Is(COEFFICIENTS))?;
    let mut sky = Sky {
        coefficients: [[0.0; 3]; COEFFICIENTS],
    };
    sky.coefficients.copy_from_slice(&found);
    Ok(sky)
}

/// An argument of shape `[n, N]`, finite.
fn rows_of<const N: usize>(
    name: &str,
    value: &Bound<'_, PyAny>,
    n: Side,
) -> PyResult<Vec<[f32; N]>> {
    let found = rows(&read::<f32>(name, value, &[n, Side::Is(N)])?)?;
    check_finite(name, &found, 1)?;
    Ok(found)
}

fn rotations_of(value: &Bound<'_, PyAny>, n: Side) -> PyResult<Vec<[f32; 4]>> {
    let found = rows_of("rotations", value, n)?;
    match found.iter().position(|q| *q == [0.0; 4]) {
        None => Ok(found),
        Some(row) => Err(PyValueError::new_err(format!(
            "rotations must be quaternions, found zeros in row {row}"
        ))),
    }
}

fn opacities_of(value: &Bound<'_, PyAny>, n: Side) -> PyResult<Vec<f32>> {
    let array = read::<f32>("opacities", value, &[n])?;
    let found: Vec<[f32; 1]> = rows(&array)?;
    check_finite("opacities", &found, 1)?;
    Ok(found.into_flattened())
}

/// Coefficients and their degree.
fn harmonics_of(value: &Bound<'_, PyAny>, n: Side) -> PyResult<(Vec<[f32; 3]>, u8)> {
    let array = read::<f32>("sh", value, &[n, Side::Any("k"), Side::Is(3)])?;
    let k = array.shape()[1];
    let degree = (0..=sh::MAX_DEGREE).find(|&degree| sh::coefficients(degree) == k);
    let degree = degree.ok_or_else(|| {
        PyValueError::new_err(format!(
            "sh must have shape [n, k, 3] with k of 1, 4, 9 or 16, found {:?}",
            array.shape()
        ))
    })?;
    let found = rows(&array)?;
    check_finite("sh", &found, k)?;
    Ok((found, degree))
}

/// An option's value, if it was given and lies in a range.
fn within(name: &str, given: Option<u32>, default: u32, [least, most]: [u32; 2]) -> PyResult<u32> {
    match given {
        None => Ok(default),
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(value) => Err(PyValueError::new_err(format!(
            "{name} must be {least} to {most}, found {value}"
        ))),
    }
}

/// A `UserWarning` that points at the caller's line.
pub fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    // Text from files: a NUL would end it early.
    let message = CString::new(message.replace('\0', " "))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
}
