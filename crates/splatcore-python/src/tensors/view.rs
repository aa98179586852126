//! The memory of an argument: a torch tensor's, read through torch's table or the tensor's methods,
//! or a NumPy array's.

use super::element::{Device, Element};
use super::exchange::{Described, described};
use crate::arrays;
use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Mutex;

/// Contiguous values.
#[derive(Debug)]
pub struct View {
    pub name: &'static str,
    pub shape: Vec<usize>,
    pub element: Element,
    pub device: Device,
    /// Of the first value; null only if there is none.
    pub pointer: *mut u8,
    read_only: bool,
}

impl View {
    /// Reads an argument.
    ///
    /// # Errors
    /// `TypeError` if it is no tensor, or one of a type that no function takes; `ValueError` if it
    /// is not contiguous, or lies where nothing reads it.
    pub fn new(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        arrays::need_numpy(value.py())?;
        let view = match value.cast::<PyUntypedArray>() {
            Ok(array) => Self::of_numpy(name, array)?,
            Err(_) => {
                refuse_negative(name, value)?;
                match described(value) {
                    Some(found) => Self::of_description(name, found),
                    None => Self::of_torch(name, value)?,
                }
            }
        };
        let empty = view.shape.contains(&0);
        if view.bytes().is_none() || (!empty && view.pointer.is_null()) {
            return Err(PyValueError::new_err(format!(
                "{name} must have memory for its shape {:?}, found none",
                view.shape
            )));
        }
        if !empty && view.pointer.addr() % view.element.size() != 0 {
            return Err(PyValueError::new_err(format!(
                "{name} must be aligned to its {}, found address {:#x}; copy it first",
                view.element,
                view.pointer.addr()
            )));
        }
        Ok(view)
    }

    fn of_numpy(name: &'static str, array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let dtype = array.dtype();
        let element = match (dtype.kind(), dtype.itemsize()) {
            (b'f', 4) => Some(Element::F32),
            (b'f', 8) => Some(Element::F64),
            (b'i', 4) => Some(Element::I32),
            (b'i', 8) => Some(Element::I64),
            (b'b', 1) => Some(Element::Bool),
            _ => None,
        };
        let element = element
            .filter(|_| dtype.is_native_byteorder() != Some(false))
            .ok_or_else(|| no_type(name, &dtype))?;
        if !array.is_c_contiguous() {
            return Err(not_contiguous(name, "numpy.ascontiguousarray(...)"));
        }
        // SAFETY: the array is alive, and so are its fields.
        let (pointer, flags) = unsafe {
            let fields = _PyArray_GET_ITEM_DATA(array.as_array_ptr());
            ((*fields).data.cast::<u8>(), (*fields).flags)
        };
        Ok(Self {
            name,
            shape: array.shape().to_vec(),
            element,
            device: Device::Cpu,
            pointer,
            read_only: flags & NPY_ARRAY_WRITEABLE == 0,
        })
    }

    fn of_description(name: &'static str, found: Described) -> Self {
        Self {
            name,
            shape: found.shape,
            element: found.element,
            device: found.device,
            pointer: found.pointer,
            read_only: false,
        }
    }

    fn of_torch(name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let Ok(dtype) = value.getattr(intern!(py, "dtype")) else {
            return Err(no_tensor(name, value));
        };
        let Ok(contiguous) = value.call_method0(intern!(py, "is_contiguous")) else {
            return Err(no_tensor(name, value));
        };
        let element = torch_element(name, &dtype)?;
        let device = torch_device(name, value)?;
        if !contiguous.is_truthy()? {
            return Err(not_contiguous(name, ".contiguous()"));
        }
        let shape = value.getattr(intern!(py, "shape"))?;
        let shape = shape
            .cast::<PyTuple>()
            .map_err(|_| no_tensor(name, value))?;
        let sides = shape.iter_borrowed().map(|side| side.extract());
        let pointer = value.call_method0(intern!(py, "data_ptr"))?;
        Ok(Self {
            name,
            shape: sides.collect::<PyResult<_>>()?,
            element,
            device,
            pointer: std::ptr::with_exposed_provenance_mut(pointer.extract()?),
            read_only: false,
        })
    }

    /// Why the argument of which this is must not be written to.
    pub fn locked(&self, value: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
        if self.read_only {
            return Ok(Some("is read-only"));
        }
        let gradient = value.getattr_opt(intern!(value.py(), "requires_grad"))?;
        let required = gradient.is_some_and(|gradient| gradient.is_truthy().unwrap_or(true));
        Ok(required.then_some("requires a gradient"))
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many bytes they take; `None` if none could.
    pub fn bytes(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let sides = self.shape.iter();
        let size = self.element.size();
        let bytes = sides
            .clone()
            .try_fold(size, |all, &side| all.checked_mul(side))?;
        isize::try_from(bytes).ok().map(|_| bytes)
    }
}

/// torch's lazy minus, which `.imag` of a conjugate has, is not in the memory.
fn refuse_negative(name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_negative = value.call_method0(intern!(value.py(), "is_neg"));
    match is_negative.is_ok_and(|found| found.is_truthy().unwrap_or(false)) {
        true => Err(PyValueError::new_err(format!(
            "{name} must hold its values, found a view with the negative bit; pass .resolve_neg() \
             of it"
        ))),
        false => Ok(()),
    }
}

fn no_tensor(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name();
    let kind = kind.map_or_else(|_| "something else".to_owned(), |kind| kind.to_string());
    PyTypeError::new_err(format!(
        "{name} must be a torch tensor or a NumPy array, found {kind}"
    ))
}

fn no_type(name: &str, dtype: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "{name} must be of float32, float64, int32, int64 or bool, found {dtype}"
    ))
}

fn not_contiguous(name: &str, remedy: &str) -> PyErr {
    PyValueError::new_err(format!(
        "{name} must be contiguous, found strides; pass {remedy} of it"
    ))
}

/// The types of torch that were met. They live as long as torch; to ask for a name takes longer.
static KNOWN: Mutex<Vec<(Py<PyAny>, Element)>> = Mutex::new(Vec::new());

fn torch_element(name: &str, dtype: &Bound<'_, PyAny>) -> PyResult<Element> {
    if let Ok(known) = KNOWN.try_lock()
        && let Some((_, element)) = known.iter().find(|(known, _)| known.is(dtype))
    {
        return Ok(*element);
    }
    let text = dtype.str()?.to_string();
    let element = text.strip_prefix("torch.").and_then(Element::named);
    let element = element.ok_or_else(|| no_type(name, dtype))?;
    if let Ok(mut known) = KNOWN.try_lock()
        && known.len() < 16
    {
        known.push((dtype.clone().unbind(), element));
    }
    Ok(element)
}

fn torch_device(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Device> {
    let py = value.py();
    // Quicker than the device, which torch makes anew.
    if let Some(on_cpu) = value.getattr_opt(intern!(py, "is_cpu"))?
        && on_cpu.is_truthy()?
    {
        return Ok(Device::Cpu);
    }
    let device = value.getattr(intern!(py, "device"))?;
    let kind = device.getattr(intern!(py, "type"))?;
    match kind.extract::<&str>()? {
        "cpu" => Ok(Device::Cpu),
        "cuda" => {
            let index: Option<u32> = device.getattr(intern!(py, "index"))?.extract()?;
            Ok(Device::Cuda(index.unwrap_or(0)))
        }
        _ => Err(PyValueError::new_err(format!(
            "{name} must lie on the CPU or on a CUDA device, found {device}"
        ))),
    }
}
