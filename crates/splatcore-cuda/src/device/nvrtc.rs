//! The compiler, NVRTC: found at run time wherever it may be, its results cached on disk.
//!
//! Opened by hand and not through cudarc, because cudarc cannot be told where to look, and a Python
//! environment's wheels (`pip install nvidia-cuda-nvrtc`) are where most users have it.

use super::DeviceError;
use super::program::Program;
use libloading::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How to get NVRTC.
pub const REMEDY: &str = "install the CUDA toolkit, or run `pip install nvidia-cuda-nvrtc` \
                          (CUDA 13) or `pip install nvidia-cuda-nvrtc-cu12` (CUDA 12) in an \
                          active Python environment, or set CUDA_PATH to a toolkit's folder";

type Handle = *mut c_void;

/// The opened library.
pub struct Nvrtc {
    library: Library,
    /// Where it was found.
    pub path: PathBuf,
    /// Major and minor.
    pub version: (i32, i32),
}

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

impl Nvrtc {
    fn function<T: Copy>(&self, name: &str) -> Result<T, DeviceError> {
        // SAFETY: callers give the type of nvrtc.h.
        unsafe { self.library.get::<T>(name) }
            .map(|symbol| *symbol)
            .map_err(|error| DeviceError::Failed(format!("{}: {error}", self.path.display())))
    }

    /// Compute capabilities that this version can compile for, ascending.
    pub fn architectures(&self) -> Vec<u32> {
        let read = || -> Result<Vec<u32>, DeviceError> {
            let count: unsafe extern "C" fn(*mut c_int) -> c_int =
                self.function("nvrtcGetNumSupportedArchs")?;
            let fill: unsafe extern "C" fn(*mut c_int) -> c_int =
                self.function("nvrtcGetSupportedArchs")?;
            let mut n = 0;
            // SAFETY: n is what the second call fills.
            unsafe {
                count(&mut n);
                let mut all = vec![0; n.max(0) as usize];
                fill(all.as_mut_ptr());
                Ok(all.into_iter().map(|a: c_int| a as u32).collect())
            }
        };
        read().unwrap_or_default()
    }

    /// Compiles to machine code for a compute capability, or to PTX where this version does not
    /// know it.
    ///
    /// # Errors
    /// With the compiler's log.
    pub fn compile(&self, program: &Program, capability: u32) -> Result<Vec<u8>, DeviceError> {
        let known = self.architectures();
        let newest = known.iter().copied().filter(|&a| a <= capability).max();
        let native = known.is_empty() || known.contains(&capability);
        let architecture = match (native, newest) {
            (false, Some(newest)) => format!("compute_{newest}"),
            _ => format!("sm_{capability}"),
        };
        let options = self.options(&architecture);
        let text = |s: String| {
            CString::new(s).map_err(|_| DeviceError::Failed("a kernel's text holds a NUL".into()))
        };
        let source = text(program.source())?;
        let name = text(format!("{}.cu", program.name()))?;
        let options: Vec<CString> = options.into_iter().map(text).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();

        type Create = unsafe extern "C" fn(
            *mut Handle,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        let create: Create = self.function("nvrtcCreateProgram")?;
        let compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int =
            self.function("nvrtcCompileProgram")?;
        let destroy: unsafe extern "C" fn(*mut Handle) -> c_int =
            self.function("nvrtcDestroyProgram")?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: all pointers outlive the calls.
        unsafe {
            let code = create(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
            if code != 0 {
                return Err(DeviceError::Failed(format!(
                    "nvrtcCreateProgram answered {}",
                    self.error_name(code)
                )));
            }
            let code = compile(handle, pointers.len() as c_int, pointers.as_ptr());
            let result = if code != 0 {
                let log = self
                    .get(handle, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
                    .unwrap_or_default();
                let log = String::from_utf8_lossy(&log)
                    .trim_end_matches('\0')
                    .to_string();
                Err(DeviceError::Failed(format!(
                    "{}.cu did not compile for {architecture} ({}):\n{log}",
                    program.name(),
                    self.error_name(code)
                )))
            } else if native {
                self.get(handle, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
            } else {
                self.get(handle, "nvrtcGetPTXSize", "nvrtcGetPTX")
            };
            destroy(&mut handle);
            result
        }
    }

    fn options(&self, architecture: &str) -> Vec<String> {
        let mut options = vec![
            format!("--gpu-architecture={architecture}"),
            "--std=c++17".into(),
            "--extra-device-vectorization".into(),
        ];
        if std::env::var_os("SPLATCORE_LINEINFO").is_some() {
            options.push("--generate-line-info".into());
        }
        options
    }

    fn get(&self, handle: Handle, size: &str, content: &str) -> Result<Vec<u8>, DeviceError> {
        let size: unsafe extern "C" fn(Handle, *mut usize) -> c_int = self.function(size)?;
        let content: unsafe extern "C" fn(Handle, *mut c_char) -> c_int = self.function(content)?;
        let mut bytes = 0;
        // SAFETY: the buffer has the size that the library asked for.
        unsafe {
            let code = size(handle, &mut bytes);
            let mut data = vec![0u8; bytes];
            let code = if code == 0 {
                content(handle, data.as_mut_ptr().cast())
            } else {
                code
            };
            match code {
                0 => Ok(data),
                _ => Err(DeviceError::Failed(format!(
                    "NVRTC answered {}",
                    self.error_name(code)
                ))),
            }
        }
    }

    fn error_name(&self, code: c_int) -> String {
        let Ok(text) =
            self.function::<unsafe extern "C" fn(c_int) -> *const c_char>("nvrtcGetErrorString")
        else {
            return code.to_string();
        };
        // SAFETY: the library returns static strings.
        unsafe { CStr::from_ptr(text(code)) }
            .to_string_lossy()
            .into_owned()
    }
}

/// Where compiled kernels are kept: `SPLATCORE_CACHE`, or `splatcore` in the user's cache folder.
pub fn cache_folder() -> PathBuf {
    let base = std::env::var_os("SPLATCORE_CACHE").map(PathBuf::from);
    base.or_else(|| {
        std::env::var_os("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("splatcore"))
    })
    .or_else(|| std::env::var_os("LOCALAPPDATA").map(|dir| PathBuf::from(dir).join("splatcore")))
    .or_else(|| std::env::home_dir().map(|home| home.join(".cache/splatcore")))
    .unwrap_or_else(|| std::env::temp_dir().join("splatcore"))
    .join("kernels")
}

/// FNV-1a over everything that decides the result, twice with different starts.
fn key(parts: &[&str]) -> String {
    let hash = |start: u64| {
        parts.iter().fold(start, |hash, part| {
            part.bytes().chain([0xff]).fold(hash, |h, byte| {
                (h ^ byte as u64).wrapping_mul(0x100_0000_01b3)
            })
        })
    };
    format!(
        "{:016x}{:016x}",
        hash(0xcbf2_9ce4_8422_2325),
        hash(0x9e37_79b9_7f4a_7c15)
    )
}

/// Compiled code from the cache, or from the compiler and then into the cache. `driver` is the
/// driver's version.
///
/// # Errors
/// If there is no compiler or it refuses. A cache that cannot be written is no error.
pub fn compiled(program: &Program, capability: u32, driver: i32) -> Result<Vec<u8>, DeviceError> {
    let nvrtc = nvrtc()?;
    let stamp = format!("{:?} sm_{capability} driver {driver}", nvrtc.version);
    let options = nvrtc.options("").join(" ");
    let file = cache_folder().join(format!(
        "{}-{}",
        program.name(),
        key(&[&program.source(), &stamp, &options])
    ));
    if let Ok(code) = std::fs::read(&file)
        && !code.is_empty()
    {
        return Ok(code);
    }
    let code = nvrtc.compile(program, capability)?;
    let store = || -> std::io::Result<()> {
        let folder = cache_folder();
        std::fs::create_dir_all(&folder)?;
        let scratch = tempfile::NamedTempFile::new_in(&folder)?;
        std::fs::write(scratch.path(), &code)?;
        scratch.persist(&file)?;
        Ok(())
    };
    // Nothing is lost but the next start's time.
    let _ = store();
    Ok(code)
}
