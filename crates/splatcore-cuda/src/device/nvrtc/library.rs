//! The opened library: compiles programs.

use crate::device::options;
use crate::device::{DeviceError, Program};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::time::Instant;

type Handle = *mut c_void;

/// The opened library.
pub struct Nvrtc {
    pub(super) library: Library,
    /// Where it was found.
    pub path: PathBuf,
    /// Major and minor.
    pub version: (i32, i32),
}

/// Compiled code.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// Machine code, or PTX where NVRTC does not know the architecture.
    pub cubin: Vec<u8>,
    /// Warnings.
    pub log: String,
    /// What compiling took.
    pub seconds: f64,
}

/// Why a program did not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}{log}", if log.is_empty() { "" } else { ":\n" })]
pub struct CompileError {
    /// In a few words.
    pub message: String,
    /// What the compiler said; empty if it did not get so far.
    pub log: String,
}

impl From<DeviceError> for CompileError {
    fn from(error: DeviceError) -> Self {
        Self {
            message: error.to_string(),
            log: String::new(),
        }
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
        let compiled = self.compile_with_log(program, capability);
        compiled
            .map(|compiled| compiled.cubin)
            .map_err(|error| DeviceError::Failed(error.to_string()))
    }

    /// Compiles to PTX for a compute capability and later ones.
    ///
    /// # Errors
    /// With the compiler's log.
    pub fn ptx(&self, program: &Program, capability: u32) -> Result<Vec<u8>, DeviceError> {
        let compiled = self.compile_for(program, &format!("compute_{capability}"), false);
        compiled
            .map(|compiled| compiled.cubin)
            .map_err(|error| DeviceError::Failed(error.to_string()))
    }

    /// As [`Nvrtc::compile`], with what the compiler says.
    ///
    /// # Errors
    /// With the compiler's log.
    pub fn compile_with_log(
        &self,
        program: &Program,
        capability: u32,
    ) -> Result<Compiled, CompileError> {
        let known = self.architectures();
        let newest = known.iter().copied().filter(|&a| a <= capability).max();
        let native = known.is_empty() || known.contains(&capability);
        let architecture = match (native, newest) {
            (false, Some(newest)) => format!("compute_{newest}"),
            _ => format!("sm_{capability}"),
        };
        self.compile_for(program, &architecture, native)
    }

    /// Compiles for `sm_90` to machine code or for `compute_90` to PTX.
    fn compile_for(
        &self,
        program: &Program,
        architecture: &str,
        native: bool,
    ) -> Result<Compiled, CompileError> {
        let start = Instant::now();
        let mut opened = Opened::new(self, program)?;
        let code = opened.compile(&self.options(program, architecture)?)?;
        let log = opened.log();
        if code != 0 {
            return Err(CompileError {
                message: format!(
                    "{}.cu did not compile for {architecture} ({})",
                    program.name(),
                    self.error_name(code)
                ),
                log,
            });
        }
        let [size, content] = match native {
            true => ["nvrtcGetCUBINSize", "nvrtcGetCUBIN"],
            false => ["nvrtcGetPTXSize", "nvrtcGetPTX"],
        };
        Ok(Compiled {
            cubin: self.get(opened.handle, size, content)?,
            log,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    pub(crate) fn options(
        &self,
        program: &Program,
        architecture: &str,
    ) -> Result<Vec<String>, DeviceError> {
        let mut options = vec![
            format!("--gpu-architecture={architecture}"),
            "--std=c++17".into(),
        ];
        options.extend(options::of(program).map_err(DeviceError::Failed)?);
        if std::env::var_os("SPLATCORE_LINEINFO").is_some() {
            options.push("--generate-line-info".into());
        }
        Ok(options)
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

/// A program that the compiler has been given; given back when dropped.
struct Opened<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl<'a> Opened<'a> {
    fn new(nvrtc: &'a Nvrtc, program: &Program) -> Result<Self, DeviceError> {
        type Create = unsafe extern "C" fn(
            *mut Handle,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        let source = text(program.source())?;
        let name = text(format!("{}.cu", program.name()))?;
        let create: Create = nvrtc.function("nvrtcCreateProgram")?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: all pointers outlive the call.
        let code = unsafe {
            create(
                &mut handle,
                source.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        match code {
            0 => Ok(Self { nvrtc, handle }),
            _ => Err(DeviceError::Failed(format!(
                "nvrtcCreateProgram answered {}",
                nvrtc.error_name(code)
            ))),
        }
    }

    /// Compiles; returns NVRTC's answer, 0 if all is well.
    fn compile(&mut self, options: &[String]) -> Result<c_int, DeviceError> {
        let compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int =
            self.nvrtc.function("nvrtcCompileProgram")?;
        let options = options.iter().cloned().map(text);
        let options = options.collect::<Result<Vec<CString>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: all pointers outlive the call.
        Ok(unsafe { compile(self.handle, pointers.len() as c_int, pointers.as_ptr()) })
    }

    fn log(&self) -> String {
        let log = self
            .nvrtc
            .get(self.handle, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")
            .unwrap_or_default();
        String::from_utf8_lossy(&log)
            .trim_end_matches('\0')
            .to_string()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
        if let Ok(destroy) = self.nvrtc.function::<Destroy>("nvrtcDestroyProgram") {
            // SAFETY: the handle came from the library and is not used again.
            unsafe { destroy(&mut self.handle) };
        }
    }
}

fn text(text: String) -> Result<CString, DeviceError> {
    CString::new(text).map_err(|_| DeviceError::Failed("a kernel's text holds a NUL".into()))
}
