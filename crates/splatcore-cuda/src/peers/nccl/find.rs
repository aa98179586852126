//! Where is the library?

use super::library::NcclLibrary;
use crate::device::DeviceError;
use crate::device::find::open_first;
use std::sync::OnceLock;

/// How to get NCCL.
pub const REMEDY: &str = "run `pip install nvidia-nccl-cu13` (CUDA 13) or `pip install \
                          nvidia-nccl-cu12` (CUDA 12) in an active Python environment (torch \
                          brings it along), or install NVIDIA's package libnccl2";

/// Names under which the library is searched.
const NAMES: &[&str] = &["libnccl.so.2", "libnccl.so"];

/// Folders of Python's wheels that have the library.
const WHEELS: &[&str] = &["nvidia/nccl/lib"];

/// The library, opened once for the life of the process.
///
/// # Errors
/// If it is nowhere; the message ends with how to get it.
pub fn nccl() -> Result<&'static NcclLibrary, DeviceError> {
    static OPENED: OnceLock<Result<NcclLibrary, String>> = OnceLock::new();
    OPENED
        .get_or_init(open)
        .as_ref()
        .map_err(|message| DeviceError::Failed(message.clone()))
}

fn open() -> Result<NcclLibrary, String> {
    let found = open_first(WHEELS, NAMES, |path| {
        let opened = NcclLibrary::open(path);
        opened.map_err(|error| path.exists().then(|| error.to_string()))
    });
    found.map_err(|broken| {
        format!("NVIDIA's library for several cards (libnccl) was not found{broken}: {REMEDY}")
    })
}
