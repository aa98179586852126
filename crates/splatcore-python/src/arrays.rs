//! Arrays in and out.
//!
//! In: NumPy arrays, and whatever has `__dlpack__` in the processor's memory (torch, JAX, CuPy's
//! host arrays), of the exact type and shape that an argument wants. They are copied once, so
//! nothing here points into memory of somebody else's. Out: arrays that Python owns; and views of
//! memory that an object keeps, which hold on to the object and cannot be written.

use numpy::ndarray::{ArrayView, IxDyn};
use numpy::{
    Element, IntoPyArray, PyArray, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyFrozenSet, PyList, PySet, PyTuple};
use splatcore::core::Image;

/// Devices of DLPack whose memory the processor reads: `kDLCPU` and `kDLCUDAHost`.
const READABLE: [i32; 2] = [1, 3];

/// What a side of an array must be.
#[derive(Clone, Copy)]
pub enum Side {
    /// Anything; the name stands in messages.
    Any(&'static str),
    /// This.
    Is(usize),
}

/// Loads all of NumPy's C interface when it is first wanted. The crate `numpy` would load it then
/// too, but a failure, be it Ctrl-C, would be a panic.
///
/// # Errors
/// NumPy cannot be imported or is too old, or what a signal's handler raised meanwhile.
pub fn need_numpy(py: Python<'_>) -> PyResult<()> {
    static LOADED: PyOnceLock<()> = PyOnceLock::new();
    let load = || {
        numpy::get_array_module(py)?;
        let array = PyArray::<f32, _>::from_vec(py, Vec::new());
        let borrowed = array.try_readwrite();
        borrowed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        numpy::dtype::<f32>(py).is_equiv_to(&array.dtype());
        Ok(())
    };
    LOADED.get_or_try_init(py, load).copied()
}

/// An array of an argument: of type `T`, C-contiguous, aligned.
///
/// # Errors
/// `TypeError` if it is no array or of another type, `ValueError` if it has another shape or lies
/// on a device. Each names the argument, what was expected and what was found.
pub fn read<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
    sides: &[Side],
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let py = value.py();
    let array = in_numpy(name, value)?;
    let (wanted, found) = (numpy::dtype::<T>(py), array.dtype());
    if !found.is_equiv_to(&wanted) {
        return Err(PyTypeError::new_err(format!(
            "{name} must be {wanted}, found {found}; convert it with .astype(numpy.{wanted})"
        )));
    }
    check_shape(name, array.shape(), sides)?;
    let numpy = py.import("numpy")?;
    let plain = numpy.call_method1("require", (array, py.None(), ("C", "A")))?;
    let plain = plain.cast_into::<PyArrayDyn<T>>()?;
    plain
        .try_readonly()
        .map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// Whether an argument is an array of this type, in NumPy or by DLPack.
pub fn is_of<T: Element>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = in_numpy(name, value)?;
    Ok(array.dtype().is_equiv_to(&numpy::dtype::<T>(value.py())))
}

/// The argument as a NumPy array, without a copy.
fn in_numpy<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    need_numpy(value.py())?;
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let kind = value.get_type().name()?;
    if !value.hasattr("__dlpack__")? || !value.hasattr("__dlpack_device__")? {
        return Err(PyTypeError::new_err(format!(
            "{name} must be a NumPy array, or an array with __dlpack__, found {kind}"
        )));
    }
    let device = value.call_method0("__dlpack_device__")?;
    let (device, number): (i32, i32) = device.extract()?;
    if !READABLE.contains(&device) {
        return Err(PyValueError::new_err(format!(
            "{name} must lie in the processor's memory, found a {kind} on DLPack device \
             ({device}, {number}); copy it there first, with .cpu() for torch"
        )));
    }
    let array = value.py().import("numpy")?.getattr("from_dlpack")?;
    let array = array.call1((value,)).map_err(|error| {
        let raised = PyTypeError::new_err(format!(
            "{name}: this {kind} does not give its memory: {}",
            error.value(value.py())
        ));
        raised.set_cause(value.py(), Some(error));
        raised
    })?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

fn check_shape(name: &str, found: &[usize], sides: &[Side]) -> PyResult<()> {
    let fits = found.len() == sides.len()
        && found.iter().zip(sides).all(|(found, side)| match side {
            Side::Any(_) => true,
            Side::Is(wanted) => found == wanted,
        });
    if fits {
        return Ok(());
    }
    let sides: Vec<String> = sides
        .iter()
        .map(|side| match side {
            Side::Any(name) => (*name).to_owned(),
            Side::Is(wanted) => wanted.to_string(),
        })
        .collect();
    Err(PyValueError::new_err(format!(
        "{name} must have shape [{}], found {found:?}",
        sides.join(", ")
    )))
}

/// The rows of an argument of shape `[n, N]` or `[.., .., N]`.
pub fn rows<T: Element + Copy, const N: usize>(
    array: &PyReadonlyArrayDyn<'_, T>,
) -> PyResult<Vec<[T; N]>> {
    Ok(values(array)?.as_chunks().0.to_vec())
}

/// All values of an argument, in C order.
pub fn values<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    let slice = array.as_slice();
    slice.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Refuses NaN and infinity; a Gaussian has so many of the rows.
///
/// # Errors
/// `ValueError` with the argument's name and the number of the Gaussian.
pub fn check_finite<const N: usize>(name: &str, rows: &[[f32; N]], of_each: usize) -> PyResult<()> {
    let defect = rows
        .iter()
        .position(|row| row.iter().any(|v| !v.is_finite()));
    match defect {
        None => Ok(()),
        Some(row) => Err(PyValueError::new_err(format!(
            "{name} must be finite, found {:?} in row {}",
            rows[row],
            row / of_each.max(1)
        ))),
    }
}

/// An image of an argument `[height, width, 3]` of float32.
pub fn image(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Image> {
    let sides = [Side::Any("height"), Side::Any("width"), Side::Is(3)];
    let array = read::<f32>(name, value, &sides)?;
    let (height, width) = size(name, array.shape())?;
    Ok(Image {
        width,
        height,
        data: rows(&array)?,
    })
}

/// Height and width, the first two sides of a shape.
pub fn size(name: &str, shape: &[usize]) -> PyResult<(u32, u32)> {
    let side = |i: usize| {
        u32::try_from(shape.get(i).copied().unwrap_or_default()).map_err(|_| {
            PyValueError::new_err(format!("{name} must be an image, found {shape:?} values"))
        })
    };
    Ok((side(0)?, side(1)?))
}

/// An array that Python owns, without a copy.
pub fn owned<T: Element>(
    py: Python<'_>,
    data: Vec<T>,
    shape: &[usize],
) -> PyResult<Py<PyArrayDyn<T>>> {
    need_numpy(py)?;
    Ok(data.into_pyarray(py).reshape(shape)?.unbind())
}

/// A view of `data`, which `owner` keeps; it cannot be written.
///
/// # Safety
/// `data` must stay where it is and as it is while `owner` lives.
pub unsafe fn view<'py, T: Element>(
    owner: Bound<'py, PyAny>,
    data: &[T],
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    need_numpy(owner.py())?;
    let data = ArrayView::from_shape(IxDyn(shape), data)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    // SAFETY: the array holds on to `owner`, with which, the caller says, `data` lives.
    let array = unsafe { PyArray::borrow_from_array(&data, owner) };
    let writable = array.try_readwrite();
    let writable = writable.map_err(|error| PyValueError::new_err(error.to_string()))?;
    drop(writable.make_nonwriteable());
    Ok(array)
}

/// Three numbers: a position, a direction, a colour.
///
/// # Errors
/// `TypeError` or `ValueError` with the argument's name.
pub fn three(name: &str, value: &Bound<'_, PyAny>) -> PyResult<[f64; 3]> {
    let wanted = || PyTypeError::new_err(format!("{name} must be three numbers, found {value}"));
    // Bytes give numbers too, and sets give theirs in no order.
    let kinds = [
        value.is_instance_of::<PyBytes>(),
        value.is_instance_of::<PyByteArray>(),
        value.is_instance_of::<PySet>(),
        value.is_instance_of::<PyFrozenSet>(),
    ];
    if kinds.contains(&true) {
        return Err(wanted());
    }
    let mut numbers = Vec::new();
    for item in value.try_iter().map_err(|_| wanted())? {
        numbers.push(item?.extract::<f64>().map_err(|_| wanted())?);
        if numbers.len() > 3 {
            break;
        }
    }
    match numbers.as_slice() {
        &[a, b, c] if [a, b, c].iter().all(|v| v.is_finite()) => Ok([a, b, c]),
        _ => Err(PyValueError::new_err(format!(
            "{name} must be three finite numbers, found {value}"
        ))),
    }
}

/// Three numbers from 0 to 1.
///
/// # Errors
/// As [`three`], and `ValueError` for a number outside of this range.
pub fn colour(name: &str, value: &Bound<'_, PyAny>) -> PyResult<[f32; 3]> {
    let colour = three(name, value)?.map(|v| v as f32);
    match colour.iter().all(|v| (0.0..=1.0).contains(v)) {
        true => Ok(colour),
        false => Err(PyValueError::new_err(format!(
            "{name} must be three numbers from 0 to 1, found {value}"
        ))),
    }
}

/// A 4x4 matrix: nested sequences, or an array of float32 or float64.
///
/// # Errors
/// As [`read`].
pub fn matrix(name: &str, value: &Bound<'_, PyAny>) -> PyResult<[[f64; 4]; 4]> {
    let nested = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    let value = &match nested {
        true => {
            let numpy = value.py().import("numpy")?;
            numpy.call_method1("asarray", (value, "float64"))?
        }
        false => value.clone(),
    };
    let sides = [Side::Is(4), Side::Is(4)];
    let rows: Vec<[f64; 4]> = match is_of::<f32>(name, value)? {
        true => {
            let rows: Vec<[f32; 4]> = rows(&read::<f32>(name, value, &sides)?)?;
            rows.iter().map(|row| row.map(f64::from)).collect()
        }
        false => rows(&read::<f64>(name, value, &sides)?)?,
    };
    Ok(std::array::from_fn(|i| rows[i]))
}
