//! Tensors of a caller, as the launches take them.

use crate::device::Address;
use crate::device::error::device_error;
use splatcore_core::BackendError;
use std::marker::PhantomData;

/// `len` values that lie contiguously at an address of the device and belong to the caller.
#[derive(Debug)]
pub struct DeviceSlice<T> {
    address: Address,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for DeviceSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<T> {}

/// f32 values.
pub type Floats = DeviceSlice<f32>;
/// i32 values.
pub type Ints = DeviceSlice<i32>;
/// i64 values.
pub type Longs = DeviceSlice<i64>;
/// Values of a byte, 0 or 1.
pub type Bools = DeviceSlice<u8>;

impl<T> DeviceSlice<T> {
    /// A slice that kernels read and write.
    ///
    /// # Safety
    /// The memory is on the device of the [`super::Tensors`] that use it, holds `len` values,
    /// aligned to `T`, and stays allocated until the stream of the launches has passed them. Nobody
    /// else writes it meanwhile, and no output overlaps another tensor of its launch.
    pub unsafe fn new(address: Address, len: usize) -> Self {
        Self {
            address,
            len,
            of: PhantomData,
        }
    }

    /// Its values.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Bytes of it.
    pub(crate) fn bytes(self) -> usize {
        self.len * size_of::<T>()
    }

    /// The same memory in words of four bytes.
    pub fn words(self) -> DeviceSlice<u32> {
        DeviceSlice {
            address: self.address,
            len: self.bytes() / size_of::<u32>(),
            of: PhantomData,
        }
    }

    /// Its first half and the rest.
    pub fn halves(self) -> (Self, Self) {
        let middle = self.len / 2;
        let first = Self {
            len: middle,
            ..self
        };
        let rest = Self {
            address: self.address + (middle * size_of::<T>()) as u64,
            len: self.len - middle,
            ..self
        };
        (first, rest)
    }

    /// Its address, if it has `wanted` values.
    ///
    /// # Errors
    /// Names the tensor, what it has and what it needs.
    pub(crate) fn with_len(self, name: &str, wanted: usize) -> Result<Address, BackendError> {
        if self.len != wanted {
            return Err(device_error(format!(
                "{name} has {} values, but by the shapes of the other tensors needs {wanted}",
                self.len
            )));
        }
        Ok(self.address)
    }

    /// Its address, whatever its length.
    pub(crate) fn address(self) -> Address {
        self.address
    }
}

/// The address of a slice of `wanted` values, or null if there is none.
///
/// # Errors
/// As [`DeviceSlice::with_len`].
pub(crate) fn optional<T>(
    slice: Option<DeviceSlice<T>>,
    name: &str,
    wanted: usize,
) -> Result<Address, BackendError> {
    slice.map_or(Ok(0), |slice| slice.with_len(name, wanted))
}
