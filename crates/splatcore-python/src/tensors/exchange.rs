//! What a tensor's type offers to native code in place of the tensor's methods: the table of DLPack
//! 1.x (`DLPackExchangeAPI` in dlpack.h), which torch has from 2.10 on. The table's function
//! describes a tensor in a tenth of the time that torch's methods take; a step reads about a
//! hundred tensors.

use super::element::{Device, Element};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Mutex;

/// `DLTensor`.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: c_int,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLPackDLTensorFromPyObjectNoSync`: describes an object; 0, or -1 with an exception.
type FromObject = unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int;

/// `DLPackExchangeAPI`, of major version 1.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    owned_from_object: *const c_void,
    owned_to_object: *const c_void,
    from_object: Option<FromObject>,
    current_stream: *const c_void,
}

const MAJOR: u32 = 1;
/// `DLDeviceType`: the processor's memory, a card's, and the processor's that is pinned for cards.
const CPU: c_int = 1;
const CUDA: c_int = 2;
const PINNED: c_int = 3;
/// `DLDataTypeCode`.
const INT: u8 = 0;
const FLOAT: u8 = 2;
const BOOL: u8 = 6;

/// Contiguous values of a tensor.
pub struct Described {
    pub shape: Vec<usize>,
    pub element: Element,
    pub device: Device,
    pub pointer: *mut u8,
}

/// The types that were met, with what fills in a description of theirs. A type lives as long as it
/// is listed here.
static KNOWN: Mutex<Vec<(Py<PyType>, Option<FromObject>)>> = Mutex::new(Vec::new());

/// How many types are remembered.
const MAX_TYPES: usize = 32;

/// A contiguous tensor of a type that functions take; `None` for all others, which the tensor's
/// methods say more about.
pub fn described(value: &Bound<'_, PyAny>) -> Option<Described> {
    let from_object = of_type(&value.get_type())?;
    let mut tensor = MaybeUninit::<DlTensor>::zeroed();
    // SAFETY: the table is of the value's own type and of this major version, so that the function
    // takes the value and fills in a description, or sets an exception. The interpreter's lock is
    // held.
    let tensor = unsafe {
        if from_object(value.as_ptr().cast(), tensor.as_mut_ptr()) != 0 {
            drop(PyErr::take(value.py()));
            return None;
        }
        tensor.assume_init()
    };
    tensor.described()
}

impl DlTensor {
    fn described(&self) -> Option<Described> {
        let sides = usize::try_from(self.ndim).ok()?;
        if sides > 0 && (self.shape.is_null() || self.strides.is_null()) {
            return None;
        }
        let (mut shape, mut is_contiguous, mut expected) = (vec![0; sides], true, 1_i64);
        for at in (0..sides).rev() {
            // SAFETY: a description has as many sides and strides as dimensions.
            let (side, stride) = unsafe { (*self.shape.add(at), *self.strides.add(at)) };
            shape[at] = usize::try_from(side).ok()?;
            is_contiguous &= side == 1 || stride == expected;
            expected = expected.checked_mul(side)?;
        }
        // No value, no gap between values.
        if !is_contiguous && !shape.contains(&0) {
            return None;
        }
        let element = match (self.code, self.bits, self.lanes) {
            (FLOAT, 32, 1) => Element::F32,
            (FLOAT, 64, 1) => Element::F64,
            (INT, 32, 1) => Element::I32,
            (INT, 64, 1) => Element::I64,
            (BOOL, 8, 1) => Element::Bool,
            _ => return None,
        };
        let device = match self.device_type {
            CPU | PINNED => Device::Cpu,
            CUDA => Device::Cuda(u32::try_from(self.device_id).ok()?),
            _ => return None,
        };
        let offset = usize::try_from(self.byte_offset).ok()?;
        Some(Described {
            shape,
            element,
            device,
            pointer: self.data.cast::<u8>().wrapping_add(offset),
        })
    }
}

fn of_type(of: &Bound<'_, PyType>) -> Option<FromObject> {
    let mut known = KNOWN.try_lock().ok()?;
    if let Some((_, found)) = known.iter().find(|(known, _)| known.is(of)) {
        return *found;
    }
    let found = look_up(of);
    if known.len() < MAX_TYPES {
        known.push((of.clone().unbind(), found));
    }
    found
}

fn look_up(of: &Bound<'_, PyType>) -> Option<FromObject> {
    let py = of.py();
    // A type that takes over torch's operations may have no memory of its own.
    let dispatch = intern!(py, "__torch_dispatch__");
    let base = py.import("torch").ok()?.getattr("Tensor").ok()?;
    if !of.getattr(dispatch).ok()?.is(base.getattr(dispatch).ok()?) {
        return None;
    }
    let capsule = of.getattr(intern!(py, "__dlpack_c_exchange_api__")).ok()?;
    let capsule = capsule.cast::<PyCapsule>().ok()?;
    let table = capsule.pointer_checked(Some(c"dlpack_exchange_api")).ok()?;
    // SAFETY: a capsule of this name holds a table that lives as long as the process. Of other
    // major versions only the head is as here.
    unsafe {
        let table = table.cast::<Table>().as_ptr();
        match (*table).major {
            MAJOR => (*table).from_object,
            _ => None,
        }
    }
}
