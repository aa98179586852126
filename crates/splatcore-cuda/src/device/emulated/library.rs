//! Programs compiled for this processor: C++ compiler, cache of shared libraries, loading.

use super::super::{DeviceError, Program};
use super::memory::Range;
use super::places;
use std::collections::HashMap;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// `"name", ...` in `emulator/`.
macro_rules! texts {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../../../emulator/", $name)))),+]
    };
}

/// What stands before every program, by file name, in an order in which each finds what it needs.
pub static PRELUDE: &[(&str, &str)] = texts! {
    "emulator.hpp" "fibers.hpp" "checks.hpp" "collectives.hpp" "intrinsics.hpp" "matrix.hpp"
};

/// What the prelude only declares, linked to every program, in such an order too.
static RUNTIME: &[(&str, &str)] = texts! {
    "fibers.cpp" "checks.cpp" "checks_order.cpp" "checks_accesses.cpp" "checks_launches.cpp"
    "checks_hooks.cpp" "collectives.cpp" "matrix.cpp"
};

/// No contraction, so that results do not depend on the processor; type punning and overflow as on
/// the device. `-O1`: the conformance suite's kernels run as fast as with `-O2` and compile in
/// three quarters of the time, which is most of the suite's where nothing is cached.
const OPTIONS: [&str; 9] = [
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=off",
    "-w",
];
/// Beside these, of the runtime and of a library.
const OF_RUNTIME: &str = "-O2";
const OF_LIBRARY: &str = "-shared";

/// For checked kernels: calls before every access, of functions that are the emulator's own
/// (emulator/checks_hooks.cpp), and line numbers to tell where; the rest is the compiler's own in
/// [`options`]. Given when compiling only: the linker would add the sanitizers' libraries.
const CHECKS: [&str; 2] = ["-g1", "-fsanitize=thread"];

type Launch = unsafe extern "C" fn(u32, u32, *mut *mut c_void) -> c_int;

/// What the functions of one library share.
struct Library {
    /// Held during a launch: a library's threads and shared memory are its static variables.
    lock: Mutex<()>,
    message: unsafe extern "C" fn() -> *const c_char,
    backward: unsafe extern "C" fn(c_int),
    ranges: unsafe extern "C" fn(*const Range, usize),
    path: PathBuf,
}

/// One kernel of a library; lives as long as the process.
pub struct Entry {
    name: &'static str,
    launch: Launch,
    library: &'static Library,
}

impl Entry {
    /// The kernel's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs all blocks; checked kernels may access `ranges`.
    ///
    /// # Errors
    /// Deadlock, trap, failed assertion, impossible sizes.
    ///
    /// # Safety
    /// `arguments` point to values of the kernel's parameter types.
    pub unsafe fn run(
        &self,
        grid: u32,
        block: u32,
        arguments: &mut [*mut c_void],
        backward: bool,
        ranges: &[Range],
    ) -> Result<(), DeviceError> {
        let _one = self
            .library
            .lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the functions are the library's own, under its lock; the arguments are the
        // caller's promise.
        unsafe {
            (self.library.backward)(c_int::from(backward));
            (self.library.ranges)(ranges.as_ptr(), ranges.len());
            if (self.launch)(grid, block, arguments.as_mut_ptr()) == 0 {
                return Ok(());
            }
            let words = CStr::from_ptr((self.library.message)()).to_string_lossy();
            Err(DeviceError::Failed(places::name(
                &words,
                &self.library.path,
            )))
        }
    }
}

/// A C++ compiler and its version.
pub struct Compiler {
    command: OsString,
    version: String,
    options: Vec<&'static str>,
    checked: bool,
}

impl Compiler {
    /// `$CXX`, else the first of g++, c++, clang++ that answers; its kernels check their accesses
    /// if `checked`.
    ///
    /// # Errors
    /// If none does, or this system is not one that the emulator knows.
    pub fn find(checked: bool) -> Result<Self, DeviceError> {
        if !cfg!(all(
            unix,
            any(target_arch = "x86_64", target_arch = "aarch64")
        )) {
            return Err(DeviceError::Failed(
                "emulated kernels need Linux or macOS on x86-64 or aarch64".into(),
            ));
        }
        if checked && !cfg!(target_os = "linux") {
            return Err(DeviceError::Failed("checked kernels need Linux".into()));
        }
        let chosen = std::env::var_os("CXX").filter(|name| !name.is_empty());
        let names = match chosen {
            Some(name) => vec![name],
            None => ["g++", "c++", "clang++"].map(OsString::from).to_vec(),
        };
        for command in &names {
            if let Ok(output) = Command::new(command).arg("--version").output()
                && output.status.success()
            {
                let text = String::from_utf8_lossy(&output.stdout);
                let version = text.lines().next().unwrap_or_default().to_owned();
                return Ok(Self {
                    command: command.clone(),
                    options: options(checked, version.contains("clang")),
                    version,
                    checked,
                });
            }
        }
        let tried = names
            .iter()
            .map(|name| name.to_string_lossy())
            .collect::<Vec<_>>()
            .join(", ");
        Err(DeviceError::Failed(format!(
            "emulated kernels need a C++ compiler and none answers (tried {tried}); install g++ or \
             set CXX"
        )))
    }

    /// The kernels of a program, compiled at most once per cache folder and loaded at most once per
    /// process.
    ///
    /// # Errors
    /// With the compiler's words.
    pub fn load(&self, program: &Program) -> Result<Vec<&'static Entry>, DeviceError> {
        type Slot = Arc<Mutex<Option<Vec<&'static Entry>>>>;
        static LOADED: OnceLock<Mutex<HashMap<PathBuf, Slot>>> = OnceLock::new();
        let ([prelude, runtime], text) = (ahead(self.checked), text(program));
        let path = self.in_cache(program.name(), &[&prelude, &runtime, &text], "so")?;
        let slot = LOADED
            .get_or_init(Mutex::default)
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(path.clone())
            .or_default()
            .clone();
        // Two threads that want the same program: the second waits here. Others compile at the same
        // time.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = &*slot {
            return Ok(entries.clone());
        }
        if !path.exists() {
            let ready = self.ready(&prelude, &runtime)?;
            self.compile(program.name(), &ready, &text, &path)?;
        }
        let entries = open(program, &path)?;
        *slot = Some(entries.clone());
        Ok(entries)
    }

    /// The file of the cache for what this compiler makes of `texts`.
    fn in_cache(&self, name: &str, texts: &[&str], ending: &str) -> Result<PathBuf, DeviceError> {
        let mut hasher = DefaultHasher::new();
        let options = (&self.options, OF_RUNTIME, OF_LIBRARY);
        (texts, options, &self.command, &self.version).hash(&mut hasher);
        Ok(cache()?.join(format!("{name}-{:016x}.{ending}", hasher.finish())))
    }

    /// The prelude and the compiled runtime as files of the cache. Beside the prelude lies what the
    /// compiler has read of it (`.gch`); a compiler that cannot use that reads the file.
    fn ready(&self, prelude: &str, runtime: &str) -> Result<[PathBuf; 2], DeviceError> {
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let header = self.in_cache("prelude", &[prelude], "hpp")?;
        let object = self.in_cache("runtime", &[runtime], "o")?;
        if header.exists() && object.exists() {
            return Ok([header, object]);
        }
        let failed = |error| cannot_write("prelude", &header, &error);
        let work = work_folder(&header).map_err(failed)?;
        let [text, read, source, compiled] = ["hpp", "hpp.gch", "cpp", "o"]
            .map(|ending| work.path().join("all").with_extension(ending));
        fs::write(&source, runtime).map_err(failed)?;
        let plain = [&["-c", "-x", "c++"], self.options.as_slice(), &[OF_RUNTIME]].concat();
        self.run("runtime", &plain, &[&source], &compiled)?;
        fs::rename(&compiled, &object).map_err(failed)?;
        fs::write(&text, prelude).map_err(failed)?;
        let ahead = [&["-x", "c++-header"], self.options.as_slice()].concat();
        if self.run("prelude", &ahead, &[&text], &read).is_ok() {
            fs::rename(&read, header.with_extension("hpp.gch")).map_err(failed)?;
        }
        fs::rename(&text, &header).map_err(failed)?;
        Ok([header, object])
    }

    /// Compiles into a folder of its own and moves the result, so that nobody loads half a file.
    fn compile(
        &self,
        op: &str,
        [header, runtime]: &[PathBuf; 2],
        program: &str,
        path: &Path,
    ) -> Result<(), DeviceError> {
        let failed = |error| cannot_write(op, path, &error);
        let work = work_folder(path).map_err(failed)?;
        let [text, object, library] =
            ["cpp", "o", "so"].map(|ending| work.path().join("program").with_extension(ending));
        fs::write(&text, program).map_err(failed)?;
        let header = ["-c", "-include", &header.to_string_lossy()];
        let options = [&["-x", "c++"], self.options.as_slice()].concat();
        self.run(
            op,
            &[&header, options.as_slice()].concat(),
            &[&text],
            &object,
        )?;
        // The runtime first: what it puts in front of shared memory must come first.
        self.run(op, &[OF_LIBRARY], &[runtime, &object], &library)?;
        fs::rename(&library, path).map_err(failed)
    }

    fn run(
        &self,
        op: &str,
        options: &[&str],
        from: &[&Path],
        to: &Path,
    ) -> Result<(), DeviceError> {
        let output = Command::new(&self.command)
            .args(options)
            .arg("-o")
            .arg(to)
            .args(from)
            .output()
            .map_err(|error| {
                DeviceError::Failed(format!(
                    "cannot start {}: {error}",
                    self.command.to_string_lossy()
                ))
            })?;
        if !output.status.success() {
            return Err(DeviceError::Failed(format!(
                "emulated program {op} does not compile: {}",
                String::from_utf8_lossy(&output.stderr).trim_end()
            )));
        }
        Ok(())
    }
}

/// How to compile, but for where from and where to.
fn options(checked: bool, is_clang: bool) -> Vec<&'static str> {
    let mut options = OPTIONS.to_vec();
    // As on the device.
    #[cfg(target_arch = "x86_64")]
    options.push("-mlong-double-64");
    // `fmaf` as an instruction, which rounds as the C library's function does.
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") {
        options.push("-mfma");
    }
    if checked {
        options.extend(CHECKS);
        // Functions of their own for volatile accesses. Atomic operations are the emulator's, which
        // checks them itself.
        options.extend::<&[&str]>(if is_clang {
            &[
                "-fsanitize=alignment,array-bounds",
                "-mllvm",
                "-tsan-distinguish-volatile=1",
                "-mllvm",
                "-tsan-instrument-atomics=0",
            ]
        } else {
            &[
                "-fsanitize=alignment,bounds",
                "--param",
                "tsan-distinguish-volatile=1",
            ]
        });
    }
    options
}

/// What stands before every program, and the runtime with the same in front.
fn ahead(checked: bool) -> [String; 2] {
    let joined = |runtime: bool| {
        let [checked, part] = [checked, runtime].map(u8::from);
        let mut joined =
            format!("#define EMULATED 1\n#define CHECKED {checked}\n#define RUNTIME {part}\n");
        let more = if runtime { RUNTIME } else { &[] };
        for (name, text) in PRELUDE.iter().chain(more) {
            joined.push_str(&format!("#line 1 \"{name}\"\n{text}"));
        }
        joined
    };
    [false, true].map(joined)
}

/// A program's C++ text behind the prelude. Kernels are in an unnamed namespace, so that no name of
/// theirs meets one of the C library's.
fn text(program: &Program) -> String {
    let mut text = format!("namespace {{\n{}\n}}\n", program.source());
    for kernel in &program.kernels {
        text.push_str(&format!("EMULATOR_KERNEL({})\n", kernel.name));
    }
    text
}

/// A folder to compile in, beside `path`, where its file will lie.
fn work_folder(path: &Path) -> std::io::Result<tempfile::TempDir> {
    let folder = path.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new()
        .prefix("compile-")
        .tempdir_in(folder)
}

fn cannot_write(op: &str, path: &Path, error: &std::io::Error) -> DeviceError {
    let path = path.display();
    DeviceError::Failed(format!(
        "emulated program {op}: cannot write {path}: {error}"
    ))
}

/// Where libraries are kept: `SPLATCORE_EMULATOR_CACHE`, else a folder in the system's temporary
/// one.
fn cache() -> Result<PathBuf, DeviceError> {
    let chosen = std::env::var_os("SPLATCORE_EMULATOR_CACHE").filter(|name| !name.is_empty());
    let folder = match &chosen {
        Some(folder) => PathBuf::from(folder),
        None => std::env::temp_dir().join("splatcore-emulator"),
    };
    let failed = |error: std::io::Error| {
        DeviceError::Failed(format!(
            "cannot use the cache {}: {error}",
            folder.display()
        ))
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).map_err(failed)?;
    // In a temporary folder for all users somebody else may have been first, and we would load
    // their code.
    #[cfg(unix)]
    if chosen.is_none() {
        use std::os::unix::fs::MetadataExt;
        static CHECKED: OnceLock<bool> = OnceLock::new();
        let ours = || -> std::io::Result<bool> {
            let mine = tempfile::tempfile()?.metadata()?.uid();
            let found = fs::symlink_metadata(&folder)?;
            Ok(found.is_dir() && found.uid() == mine && found.mode() & 0o022 == 0)
        };
        if !*CHECKED.get_or_init(|| ours().unwrap_or(false)) {
            return Err(DeviceError::Failed(format!(
                "the cache {} belongs to somebody else or others may write it; set \
                 SPLATCORE_EMULATOR_CACHE",
                folder.display()
            )));
        }
    }
    Ok(folder)
}

/// Loads a library for the life of the process.
fn open(program: &Program, path: &Path) -> Result<Vec<&'static Entry>, DeviceError> {
    let failed = |error: libloading::Error| {
        DeviceError::Failed(format!(
            "emulated program {}: cannot load {}: {error}; delete it",
            program.name(),
            path.display()
        ))
    };
    // SAFETY: the library is our own text without constructors; it is never unloaded, so its
    // functions stay.
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(path).map_err(failed)?));
        let shared = Box::leak(Box::new(Library {
            lock: Mutex::new(()),
            message: *library.get(b"splatcore_message\0").map_err(failed)?,
            backward: *library.get(b"splatcore_backward\0").map_err(failed)?,
            ranges: *library.get(b"splatcore_ranges\0").map_err(failed)?,
            path: path.to_path_buf(),
        }));
        let mut entries = Vec::new();
        for kernel in &program.kernels {
            let name = format!("splatcore_launch_{}\0", kernel.name);
            let launch: Launch = *library.get(name.as_bytes()).map_err(failed)?;
            entries.push(&*Box::leak(Box::new(Entry {
                name: kernel.name,
                launch,
                library: shared,
            })));
        }
        Ok(entries)
    }
}
