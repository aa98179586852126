//! Whether kernels reach memory of the host that is not pinned.

use super::words;
use crate::device::DeviceError;
use cudarc::driver::{result, sys};

/// # Safety
/// The card's context is current.
///
/// # Errors
/// They do not, or the driver failed.
pub(super) unsafe fn check() -> Result<(), DeviceError> {
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    let mut device = 0;
    // SAFETY: the caller's promise.
    let reached = unsafe {
        let found = sys::cuCtxGetDevice(&mut device).result();
        found.and_then(|()| result::device::get_attribute(device, attribute))
    };
    match reached {
        Ok(0) => Err(DeviceError::Failed(
            "kernels of this card do not reach memory of files: that takes the open kernel module \
             of NVIDIA's driver and Linux 6.1.24 or later"
                .into(),
        )),
        Ok(_) => Ok(()),
        Err(error) => {
            let error = words(error);
            let message = format!("asking what memory the card reaches: {error}");
            Err(DeviceError::Failed(message))
        }
    }
}
