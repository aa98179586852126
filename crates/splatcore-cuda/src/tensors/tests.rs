//! What the tests of this folder share: tensors on the emulator (or on a card if
//! `SPLATCORE_TEST_DEVICE=card`).

use super::{DeviceSlice, OnStream, Tensors};
use crate::device::{Buffer, Device};
use crate::tests::support::device::device;
use crate::tests::support::machine::Random;
use std::sync::Arc;

/// A device and its functions.
pub struct Fixture {
    device: Arc<dyn Device>,
    tensors: Tensors,
}

/// `None`, with a line that says why, where there is no device.
pub fn fixture() -> Option<Fixture> {
    device().map(Fixture::on)
}

/// A tensor on the device.
pub struct Tensor<T> {
    buffer: Buffer,
    slice: DeviceSlice<T>,
}

impl<T: bytemuck::AnyBitPattern + bytemuck::NoUninit> Tensor<T> {
    /// For a launch.
    pub fn slice(&self) -> DeviceSlice<T> {
        self.slice
    }

    /// Waits and copies its values.
    pub fn read(&self) -> Vec<T> {
        self.buffer.to_vec(self.slice.len()).unwrap()
    }
}

impl Tensor<f32> {
    /// Its values, none of which may be left unwritten.
    pub fn written(&self) -> Vec<f64> {
        let values = self.read();
        let unwritten = values.iter().position(|v| v.to_bits() == u32::MAX);
        assert_eq!(unwritten, None, "a value was not written");
        values.into_iter().map(f64::from).collect()
    }
}

impl Fixture {
    /// On a given device.
    pub fn on(device: Arc<dyn Device>) -> Self {
        let tensors = Tensors::of_device(device.clone());
        Self { device, tensors }
    }

    /// Where launches go.
    pub fn stream(&self) -> OnStream<'_> {
        // SAFETY: the device's queue is the stream.
        unsafe { self.tensors.on_stream(0) }
    }

    /// A tensor with values.
    pub fn tensor<T: bytemuck::NoUninit>(&self, values: &[T]) -> Tensor<T> {
        let buffer = Buffer::from_slice(&self.device, "a tensor", values).unwrap();
        // SAFETY: the buffer holds as many values and outlives the test's launches.
        let slice = unsafe { DeviceSlice::new(buffer.address(), values.len()) };
        Tensor { buffer, slice }
    }

    /// A tensor from f64 values.
    pub fn floats(&self, values: &[f64]) -> Tensor<f32> {
        self.tensor(&values.iter().map(|&v| v as f32).collect::<Vec<_>>())
    }

    /// An output: all bits set, a not-a-number or -1, until it is written.
    pub fn out<T: bytemuck::Pod>(&self, len: usize) -> Tensor<T> {
        let tensor = self.tensor(&vec![T::zeroed(); len]);
        tensor.buffer.fill(0xFF, len * size_of::<T>()).unwrap();
        tensor
    }
}

/// Fails if the largest difference is more than `tolerance` times the largest expected value.
pub fn assert_close(name: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(largest.is_finite(), "{name}: {expected:?}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() <= tolerance * largest.max(f64::MIN_POSITIVE),
            "{name}[{i}] is {g}, expected {e} (largest {largest})"
        );
    }
}

/// Numbers that f32 holds, the same everywhere.
pub struct Numbers(Random);

impl Numbers {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(Random(seed))
    }

    /// One between two bounds.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let unit = f64::from(self.0.bits()) / f64::from(1u32 << 31);
        f64::from((low + (high - low) * unit) as f32)
    }

    /// `count` of them.
    pub fn many(&mut self, count: usize, low: f64, high: f64) -> Vec<f64> {
        (0..count).map(|_| self.between(low, high)).collect()
    }
}
