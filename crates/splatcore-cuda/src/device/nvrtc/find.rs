//! Where is the library?

use super::library::Nvrtc;
use crate::device::DeviceError;
use libloading::{Library, Symbol};
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How to get NVRTC.
pub const REMEDY: &str = "install the CUDA toolkit, or run `pip install nvidia-cuda-nvrtc` \
                          (CUDA 13) or `pip install nvidia-cuda-nvrtc-cu12` (CUDA 12) in an \
                          active Python environment, or set CUDA_PATH to a toolkit's folder";

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

/// Folders to look in, in order.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(root) = std::env::var_os(variable) {
            let root = PathBuf::from(root);
            folders.extend(["lib64", "lib", "bin", "bin/x64"].map(|sub| root.join(sub)));
        }
    }
    let mut prefixes: Vec<PathBuf> = Vec::new();
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        prefixes.extend(std::env::var_os(variable).map(PathBuf::from));
    }
    if let Some(home) = std::env::home_dir() {
        prefixes.push(home.join(".local"));
    }
    // The interpreter on the path: <prefix>/bin/python3.
    for folder in std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
    {
        if ["python3", "python", "python.exe"]
            .iter()
            .any(|name| folder.join(name).exists())
        {
            prefixes.extend(folder.parent().map(Path::to_path_buf));
            prefixes.push(folder);
        }
    }
    for prefix in prefixes {
        let mut sites = vec![prefix.join("Lib/site-packages")];
        for lib in ["lib", "lib64"] {
            for entry in std::fs::read_dir(prefix.join(lib))
                .into_iter()
                .flatten()
                .flatten()
            {
                if entry.file_name().to_string_lossy().starts_with("python3") {
                    sites.extend(
                        ["site-packages", "dist-packages"].map(|name| entry.path().join(name)),
                    );
                }
            }
        }
        for site in sites {
            for wheel in [
                "nvidia/cu13/lib",
                "nvidia/cuda_nvrtc/lib",
                "nvidia/cu13/bin",
                "nvidia/cuda_nvrtc/bin",
            ] {
                folders.push(site.join(wheel));
            }
        }
    }
    let mut toolkits: Vec<PathBuf> = std::fs::read_dir("/usr/local")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("cuda"))
        })
        .collect();
    toolkits.sort();
    folders.extend(toolkits.into_iter().rev().map(|path| path.join("lib64")));
    folders
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
    let mut wrong = Vec::new();
    let mut attempt = |path: PathBuf| -> Option<Nvrtc> {
        // SAFETY: NVRTC's initialisers have no preconditions.
        let library = unsafe { Library::new(&path) }.ok()?;
        match version_of(&library) {
            Ok(version) => Some(Nvrtc {
                library,
                path,
                version,
            }),
            Err(error) => {
                wrong.push(format!("{}: {error}", path.display()));
                None
            }
        }
    };
    let explicit = folders()
        .into_iter()
        .flat_map(|folder| names().iter().map(move |name| folder.join(name)));
    // CUDA_PATH and an active environment are choices; the system's default comes after them.
    for path in explicit.filter(|path| path.exists()) {
        if let Some(found) = attempt(path) {
            return Ok(found);
        }
    }
    for name in names() {
        if let Some(found) = attempt(PathBuf::from(name)) {
            return Ok(found);
        }
    }
    let broken = match wrong.is_empty() {
        true => String::new(),
        false => format!(" ({})", wrong.join("; ")),
    };
    Err(format!(
        "NVIDIA's run-time compiler (libnvrtc) was not found{broken}: {REMEDY}"
    ))
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
