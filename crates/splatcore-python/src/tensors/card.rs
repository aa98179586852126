//! Calls on tensors of a CUDA device.

use super::element::Value;
use super::view::View;
use crate::process::{current, detached};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use splatcore::core::BackendError;
use splatcore::cuda::tensors::{DeviceSlice, OnStream, Tensors};
use std::sync::{Arc, PoisonError};

/// The card and the stream of a call. Only [`super::call::Call::card`] makes it, for arguments that
/// lie there and of which no output overlaps another.
pub struct Card {
    tensors: Arc<Tensors>,
    stream: usize,
}

impl Card {
    /// The card of this number, opened if this is the first call in this process.
    ///
    /// # Errors
    /// `RuntimeError` if it cannot be used, with the reason and what to do.
    pub fn new(index: u32, stream: usize) -> PyResult<Self> {
        let mut cards = current()
            .cards
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tensors)) = cards.iter().find(|(known, _)| *known == index) {
            let tensors = tensors.clone();
            return Ok(Self { tensors, stream });
        }
        let tensors = Tensors::open(index as usize);
        let tensors = tensors.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let tensors = Arc::new(tensors);
        cards.push((index, tensors.clone()));
        Ok(Self { tensors, stream })
    }

    /// The values of an argument; none if they are of another type, which `Call` has refused.
    pub fn slice<T: Value>(&self, view: &View) -> DeviceSlice<T> {
        let len = match view.element == T::ELEMENT {
            true => view.len(),
            false => 0,
        };
        // SAFETY: `View::new` has checked type, alignment, contiguity and size, and `Call::card`
        // the device and that outputs are apart. torch keeps memory that was freed for the stream
        // on which it was made, which is the caller's.
        unsafe { DeviceSlice::new(view.pointer.addr() as u64, len) }
    }

    /// Puts kernels into the stream, without Python's lock and without a wait for the card.
    ///
    /// # Errors
    /// `MemoryError` if there is too little memory for a sort, `ValueError` otherwise.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&OnStream<'_>) -> Result<T, BackendError> + Ungil + Send,
    ) -> PyResult<T> {
        detached(py, || {
            // SAFETY: the caller gives a stream of the device of the tensors, as to torch.
            let on = unsafe { self.tensors.on_stream(self.stream as u64) };
            work(&on).map_err(exception)
        })
    }
}

/// What a program sees of an error of the card.
pub fn exception(error: BackendError) -> PyErr {
    match error {
        BackendError::OutOfMemory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}
