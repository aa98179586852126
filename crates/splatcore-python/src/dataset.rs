//! [`Dataset`]: posed photos.

use crate::arrays::{owned, three};
use crate::camera::Camera;
use crate::errors;
use crate::process::{detached, on_all_cores};
use crate::scene::warn;
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use splatcore::core::View;
use splatcore::data::dataset::{self, LoadOptions, OpenOptions, Split};
use splatcore::train::Config;
use splatcore::train::config::{Background, LineOrder, PhotoLens};
use std::path::PathBuf;

/// Posed photos: a folder with a COLMAP model, a transforms.json, or cameras of another program, or
/// the file of cameras.
#[pyclass(frozen, module = "splatcore")]
pub struct Dataset {
    pub inner: dataset::Dataset,
    /// What was given on loading, as settings of a run.
    pub given: Config,
}

/// An array that Python owns, or none.
type Array = Py<PyArrayDyn<u8>>;

#[pymethods]
impl Dataset {
    /// Opens a dataset. Photos are decoded when they are asked for.
    ///
    /// ``images`` is the folder of the photos in place of ``images``. ``max_size`` scales photos so
    /// that the longer side is at most so many pixels. Every ``test_every``-th photo by name is
    /// held out, 8 unless given, unless the files declare splits. Transparent photos stand on
    /// ``background``, three numbers from 0 to 1 or a name, black unless given. ``seed`` is for the
    /// points that a dataset without points gets. Photos through a lens are resampled to pinholes
    /// unless ``lens`` is ``"as-taken"``. ``readout_time`` is in how many seconds the camera reads
    /// a photo and ``readout_direction`` in which order, ``"top-to-bottom"`` unless given, where
    /// the files say when photos were taken and not this. ``train`` takes over what is given here.
    /// What is odd or missing is a ``UserWarning``.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, images=None, max_size=None, test_every=None, background=None, seed=None,
        lens=None, readout_time=None, readout_direction=None
    ))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        images: Option<String>,
        max_size: Option<u32>,
        test_every: Option<u32>,
        background: Option<&Bound<'_, PyAny>>,
        seed: Option<u64>,
        lens: Option<&str>,
        readout_time: Option<f64>,
        readout_direction: Option<&str>,
    ) -> PyResult<Self> {
        let given = Config {
            max_size,
            test_every,
            background: background.map(background_of).transpose()?,
            seed,
            lens: lens.map(lens_of).transpose()?,
            readout_time,
            readout_direction: readout_direction.map(order_of).transpose()?,
            ..Config::UNSET
        };
        // Wrong values are refused now, not when the run begins.
        let config = given.resolve().map_err(|error| errors::config(&error))?;
        let options = OpenOptions {
            images,
            seed: seed.unwrap_or_default(),
            readout: config.readout(),
            ..OpenOptions::default()
        };
        let inner = detached(py, || {
            on_all_cores(|| dataset::Dataset::open(&path, &options))
                .map_err(|error| errors::data(&error))
        })?;
        if readout_time.is_some() && !inner.tells_motion {
            return Err(PyValueError::new_err(
                "readout_time: the files do not say when photos were taken; leave it out, or find \
                 the motion by refine_motion",
            ));
        }
        for warning in &inner.warnings {
            warn(py, warning)?;
        }
        if let Some(first) = inner.missing.first() {
            let count = inner.missing.len();
            warn(
                py,
                &format!("{count} listed photos do not exist and are left out: {first}, ..."),
            )?;
        }
        Ok(Self { inner, given })
    }

    /// The folder of the dataset.
    #[getter]
    fn path(&self) -> PathBuf {
        self.inner.root.clone()
    }

    /// Names of the photos, sorted; cameras, images and splits are in this order.
    #[getter]
    fn names(&self) -> Vec<String> {
        let entries = self.inner.entries.iter();
        entries.map(|entry| entry.name.clone()).collect()
    }

    /// The photos' cameras, without lens distortion, at the size of ``image``.
    #[getter]
    fn cameras(&self, py: Python<'_>) -> PyResult<Vec<Camera>> {
        let (all, options) = (self.inner.select(Split::All, 0), self.options());
        if let Some(&place) = all.iter().find(|&&place| self.is_several(place, &options)) {
            return Err(several(&self.inner.entries[place].name));
        }
        let cameras = detached(py, || {
            on_all_cores(|| self.inner.cameras(&all, &options))
                .map_err(|error| errors::data(&error))
        })?;
        let cameras = cameras.into_iter();
        Ok(cameras.map(|camera| Camera { camera }).collect())
    }

    /// Numbers of the photos to train on.
    #[getter]
    fn train(&self) -> Vec<usize> {
        self.inner.select(Split::Train, self.test_every())
    }

    /// Numbers of the photos that are held out.
    #[getter]
    fn test(&self) -> Vec<usize> {
        self.inner.select(Split::Test, self.test_every())
    }

    /// The points to start from in world units, float32 ``[m, 3]``; random ones if the dataset has
    /// none.
    #[getter]
    fn points(&self, py: Python<'_>) -> PyResult<Py<PyArrayDyn<f32>>> {
        let points = &self.inner.points.positions;
        owned(py, points.as_flattened().to_vec(), &[points.len(), 3])
    }

    /// Colours of the points, uint8 ``[m, 3]``.
    #[getter]
    fn point_colours(&self, py: Python<'_>) -> PyResult<Array> {
        let colours = &self.inner.points.colours;
        owned(py, colours.as_flattened().to_vec(), &[colours.len(), 3])
    }

    /// Photo ``index`` without lens distortion, uint8 ``[height, width, 3]``; decoded anew each
    /// time.
    fn image(&self, py: Python<'_>, index: isize) -> PyResult<Array> {
        let photo = self.view(py, index)?.photo;
        let (height, width) = (photo.height as usize, photo.width as usize);
        owned(py, photo.rgb, &[height, width, 3])
    }

    /// The mask of photo ``index``, uint8 ``[height, width]``, 0 where the pixel does not count;
    /// ``None`` if all of them do.
    fn mask(&self, py: Python<'_>, index: isize) -> PyResult<Option<Array>> {
        let photo = self.view(py, index)?.photo;
        let (height, width) = (photo.height as usize, photo.width as usize);
        let mask = photo.mask.map(|mask| owned(py, mask, &[height, width]));
        mask.transpose()
    }

    fn __len__(&self) -> usize {
        self.inner.entries.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<splatcore.Dataset of {} photos and {} points in {}>",
            self.inner.entries.len(),
            self.inner.points.positions.len(),
            self.inner.root.display()
        )
    }
}

/// As `lens` of the settings.
fn lens_of(name: &str) -> PyResult<PhotoLens> {
    match name {
        "undistort" => Ok(PhotoLens::Undistort),
        "as-taken" => Ok(PhotoLens::AsTaken),
        _ => Err(PyValueError::new_err(format!(
            "lens={name:?}: it is \"undistort\" or \"as-taken\""
        ))),
    }
}

/// As `readout_direction` of the settings.
fn order_of(name: &str) -> PyResult<LineOrder> {
    match name {
        "top-to-bottom" => Ok(LineOrder::TopToBottom),
        "bottom-to-top" => Ok(LineOrder::BottomToTop),
        "left-to-right" => Ok(LineOrder::LeftToRight),
        "right-to-left" => Ok(LineOrder::RightToLeft),
        _ => Err(PyValueError::new_err(format!(
            "readout_direction={name:?}: it is \"top-to-bottom\", \"bottom-to-top\", \
             \"left-to-right\" or \"right-to-left\""
        ))),
    }
}

impl Dataset {
    fn test_every(&self) -> usize {
        let every = self.given.test_every;
        every.unwrap_or_else(|| Config::UNSET.complete().data.test_every) as usize
    }

    fn options(&self) -> LoadOptions {
        let background = self.given.background.unwrap_or(Background::Black);
        LoadOptions {
            max_size: self.given.max_size,
            background: background.colour(),
            keep_lens: self.given.lens == Some(PhotoLens::AsTaken),
            ..LoadOptions::default()
        }
    }

    /// Whether a photo is a panorama, which is loaded as several views.
    fn is_several(&self, place: usize, options: &LoadOptions) -> bool {
        self.inner.view_count(place, options) != 1
    }

    fn view(&self, py: Python<'_>, index: isize) -> PyResult<View> {
        let count = self.inner.entries.len();
        let from_end = index.checked_add_unsigned(count).unwrap_or(index);
        let place = usize::try_from(if index < 0 { from_end } else { index }).ok();
        let place = place.filter(|&place| place < count).ok_or_else(|| {
            PyIndexError::new_err(format!("there is no photo {index}; there are {count}"))
        })?;
        let options = self.options();
        if self.is_several(place, &options) {
            return Err(several(&self.inner.entries[place].name));
        }
        detached(py, || {
            let views = on_all_cores(|| self.inner.load_views(&[place], &options, &|_, _| {}));
            let mut views = views.map_err(|error| errors::data(&error))?;
            views
                .pop()
                .ok_or_else(|| errors::Error::new_err("the photo was not loaded"))
        })
    }
}

fn several(name: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{name} is a photo of 360 degrees, which has no camera of its own here; train takes it in \
         parts"
    ))
}

/// A colour of an argument: a name, `r,g,b`, or three numbers.
pub fn background_of(value: &Bound<'_, PyAny>) -> PyResult<Background> {
    let text = match value.extract::<String>() {
        Ok(text) => text,
        Err(_) => {
            let [r, g, b] = three("background", value)?;
            format!("{r},{g},{b}")
        }
    };
    text.parse()
        .map_err(|error| PyValueError::new_err(format!("background: {error}")))
}
