//! Where is the library?

use super::library::Nvrtc;
use crate::device::DeviceError;
use crate::device::find::open_first;
use libloading::{Library, Symbol};
use std::ffi::c_int;
use std::sync::OnceLock;

/// How to get NVRTC.
pub const REMEDY: &str = "install the CUDA toolkit, or run `pip install nvidia-cuda-nvrtc` \
                          (CUDA 13) or `pip install nvidia-cuda-nvrtc-cu12` (CUDA 12) in an \
                          active Python environment, or set CUDA_PATH to a toolkit's folder";

/// Folders of Python's wheels that have the library.
const WHEELS: &[&str] = &[
    "nvidia/cu13/lib",
    "nvidia/cuda_nvrtc/lib",
    "nvidia/cu13/bin/x86_64",
    "nvidia/cu13/bin",
    "nvidia/cuda_nvrtc/bin",
];

/// Names under which the library is searched, newest first.
fn names() -> &'static [&'static str] {
    if cfg!(windows) {
        &[
            "nvrtc64_130_0.dll",
            "nvrtc64_120_0.dll",
            "nvrtc64_112_0.dll",
        ]
    } else {
        &[
            "libnvrtc.so.13",
            "libnvrtc.so.12",
            "libnvrtc.so",
            "libnvrtc.so.11.2",
        ]
    }
}

/// The library, opened once for the life of the process.
///
/// # Errors
/// If it is nowhere; the message ends with how to get it.
pub fn nvrtc() -> Result<&'static Nvrtc, DeviceError> {
    static OPENED: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
    OPENED
        .get_or_init(open)
        .as_ref()
        .map_err(|message| DeviceError::Failed(message.clone()))
}

fn open() -> Result<Nvrtc, String> {
    let found = open_first(WHEELS, names(), |path| {
        // SAFETY: NVRTC's initialisers have no preconditions.
        let library = unsafe { Library::new(path) }.map_err(|_| None)?;
        let version = version_of(&library).map_err(|error| Some(error.to_string()))?;
        Ok(Nvrtc {
            library,
            path: path.to_owned(),
            version,
        })
    });
    found.map_err(|broken| {
        format!("NVIDIA's run-time compiler (libnvrtc) was not found{broken}: {REMEDY}")
    })
}

fn version_of(library: &Library) -> Result<(i32, i32), libloading::Error> {
    // SAFETY: the signature is that of nvrtc.h, here and below.
    unsafe {
        let version: Symbol<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int> =
            library.get("nvrtcVersion")?;
        let (mut major, mut minor) = (0, 0);
        version(&mut major, &mut minor);
        Ok((major, minor))
    }
}
