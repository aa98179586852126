//! How close an image comes to another.

use crate::arrays::{self, Side, is_of, read, rows, size, values};
use crate::process::{detached, on_all_cores};
use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splatcore::core::{Image, Photo, metrics};

/// Peak signal-to-noise ratio in dB, infinite for equal images.
///
/// ``image`` is float32 ``[height, width, 3]`` and is clamped to [0, 1]. ``photo`` is uint8 as a
/// dataset's photos are, or float32. With a photo of uint8, ``mask`` (uint8 or bool
/// ``[height, width]``) leaves out pixels where it is 0.
#[pyfunction]
#[pyo3(signature = (image, photo, mask=None))]
pub fn psnr(
    py: Python<'_>,
    image: &Bound<'_, PyAny>,
    photo: &Bound<'_, PyAny>,
    mask: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    measured(
        py,
        [image, photo],
        mask,
        metrics::psnr,
        metrics::psnr_between,
    )
}

/// Mean structural similarity (11x11 Gaussian window, sigma 1.5), 1 for equal images. Arguments as
/// for ``psnr``.
#[pyfunction]
#[pyo3(signature = (image, photo, mask=None))]
pub fn ssim(
    py: Python<'_>,
    image: &Bound<'_, PyAny>,
    photo: &Bound<'_, PyAny>,
    mask: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    measured(
        py,
        [image, photo],
        mask,
        metrics::ssim,
        metrics::ssim_between,
    )
}

fn measured(
    py: Python<'_>,
    [image, photo]: [&Bound<'_, PyAny>; 2],
    mask: Option<&Bound<'_, PyAny>>,
    to_photo: fn(&Image, &Photo) -> f64,
    to_image: fn(&Image, &Image) -> f64,
) -> PyResult<f64> {
    let image = arrays::image("image", image)?;
    let sides = [image.height as usize, image.width as usize];
    if sides.contains(&0) {
        return Err(PyValueError::new_err(format!(
            "image must have pixels, found shape [{}, {}, 3]",
            image.height, image.width
        )));
    }
    if !is_of::<u8>("photo", photo)? {
        if mask.is_some() {
            return Err(PyValueError::new_err(
                "mask needs a photo of uint8, found one of floats",
            ));
        }
        let other = arrays::image("photo", photo)?;
        check_equal(sides, [other.height as usize, other.width as usize])?;
        return detached(py, || Ok(on_all_cores(|| to_image(&image, &other))));
    }
    let wanted = [Side::Any("height"), Side::Any("width"), Side::Is(3)];
    let array = read::<u8>("photo", photo, &wanted)?;
    let (height, width) = size("photo", array.shape())?;
    check_equal(sides, [height as usize, width as usize])?;
    let photo = Photo {
        mask: mask.map(|mask| mask_of(mask, sides)).transpose()?,
        ..Photo::opaque(width, height, rows::<u8, 3>(&array)?.into_flattened())
    };
    detached(py, || Ok(on_all_cores(|| to_photo(&image, &photo))))
}

fn check_equal(image: [usize; 2], photo: [usize; 2]) -> PyResult<()> {
    match image == photo {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!(
            "photo must have the image's shape {image:?}, found {photo:?}"
        ))),
    }
}

fn mask_of(mask: &Bound<'_, PyAny>, [height, width]: [usize; 2]) -> PyResult<Vec<u8>> {
    let sides = [Side::Is(height), Side::Is(width)];
    let mask: Vec<u8> = match is_of::<bool>("mask", mask)? {
        true => {
            let mask = read::<bool>("mask", mask, &sides)?;
            values(&mask)?.iter().map(|&m| m.into()).collect()
        }
        false => values(&read::<u8>("mask", mask, &sides)?)?.to_vec(),
    };
    match mask.iter().all(|&m| m == 0) {
        true => Err(PyValueError::new_err(
            "mask must leave pixels to compare, found zeros alone",
        )),
        false => Ok(mask),
    }
}
