//! What goes wrong on a device.

use splatcore_core::BackendError;

/// What a device answers when something fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// An allocation failed.
    #[error("out of memory: {bytes} bytes wanted, {free} free")]
    OutOfMemory {
        /// Wanted.
        bytes: u64,
        /// Free on the device.
        free: u64,
    },
    /// Anything else, with what was being done.
    #[error("{0}")]
    Failed(String),
}

/// A device's message as the backend's error.
pub fn device_error(message: String) -> BackendError {
    BackendError::Device {
        backend: "cuda",
        message,
    }
}

/// A device's error as the backend's.
pub fn failed(error: DeviceError) -> BackendError {
    device_error(error.to_string())
}
