//! What the lab needs of this build.

use super::code;
use super::device::{DeviceArgs, On};
use anyhow::{Context, Result};
use splatcore_core::{Backend, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_cuda::ops::SOURCES;
use splatcore_cuda::{CudaBackend, OpenError, Options};
use splatcore_lab::evaluate::{Role, Toolbox};
use splatcore_lab::gates::machine_code::Compiled;
use splatcore_lab::worker::{Limits, Program};
use splatcore_lab::{Rejection, Texts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Memory of a worker on this processor.
const MEMORY: u64 = 16 << 30;

/// The kernels of this build, its workers, and the processor as the judge.
pub struct Build {
    on: On,
    device: Option<usize>,
    /// The card's compute capability.
    card: Option<u32>,
    kernels: Texts,
    program: PathBuf,
    /// Compiled kernels of this build. Workers with other kernels copy it, so that they compile
    /// only what is changed, and cannot change it.
    cache: PathBuf,
    judge: CpuBackend,
}

impl Build {
    /// This build.
    ///
    /// # Errors
    /// If the program's own file or its cache cannot be found.
    pub fn new(device: &DeviceArgs) -> Result<Self> {
        Self::on(device.on(), device.device)
    }

    fn on(on: On, device: Option<usize>) -> Result<Self> {
        let cache = splatcore_cuda::device::nvrtc::cache_folder();
        let cache = cache.with_file_name("lab");
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("{}: the lab's cache", cache.display()))?;
        Ok(Self {
            on,
            device,
            card: match on {
                On::Card => card(device).map(|card| card.device().capability()).ok(),
                On::Emulator => None,
            },
            kernels: SOURCES
                .iter()
                .map(|&(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
            program: std::env::current_exe().context("the program's own file")?,
            cache,
            judge: CpuBackend::new(None),
        })
    }

    /// This build, for commands that run no kernel.
    ///
    /// # Errors
    /// As [`Build::new`].
    pub fn without_device() -> Result<Self> {
        Self::on(On::Emulator, None)
    }

    /// Kernel files that a frame of a pipeline, or a step of training, is made of.
    ///
    /// # Errors
    /// If they cannot be told.
    pub fn files_of(&self, pipeline: Pipeline, training: bool) -> Result<Vec<String>> {
        let mut files: Vec<String> = Vec::new();
        for program in code::programs(pipeline, training, self.capability(), None)? {
            files.extend(program.files().iter().map(|(name, _)| (*name).to_owned()));
        }
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The card with the built-in kernels, if there is one.
    pub fn card(&self) -> Option<CudaBackend> {
        match self.on {
            On::Card => card(self.device).ok(),
            On::Emulator => None,
        }
    }

    /// The card's compute capability; the H200's where there is none.
    pub fn capability(&self) -> u32 {
        const H200: u32 = 90;
        match self.on {
            On::Card => self.card.unwrap_or(H200),
            On::Emulator => H200,
        }
    }

    /// How long workers may take: an emulated kernel takes a thousand times as long.
    pub fn limits(&self) -> Limits {
        let seconds = std::time::Duration::from_secs;
        match self.on {
            On::Card => Limits::default(),
            On::Emulator => Limits {
                start: seconds(60),
                answer: seconds(180),
            },
        }
    }
}

impl Toolbox for Build {
    fn describe(&self) -> String {
        match self.on {
            On::Card => match card(self.device) {
                Ok(backend) => backend.describe(),
                Err(error) => error.to_string(),
            },
            On::Emulator => "the emulator".into(),
        }
    }

    fn kernels(&self) -> &Texts {
        &self.kernels
    }

    fn compile(
        &self,
        changed: &Texts,
        pipeline: Pipeline,
        training: bool,
    ) -> Result<Option<Compiled>, Rejection> {
        code::compile(changed, pipeline, training, self.capability())
    }

    fn worker(&self, kernels: &Path, role: Role) -> Result<Program, String> {
        let kind = match (role, self.on) {
            (Role::Timed, On::Card) => "card",
            (Role::Guarded, On::Card) => "guarded-card",
            (Role::Timed | Role::Guarded, On::Emulator) => "emulator",
            (Role::Checked, _) => "checked",
            (Role::CheckedBackwards, _) => "checked-backwards",
        };
        let changed = std::fs::read_dir(kernels).is_ok_and(|mut files| files.next().is_some());
        let mut command: Vec<OsString> = ["lab", "worker", "--kind", kind]
            .map(OsString::from)
            .to_vec();
        command.insert(0, self.program.clone().into());
        let mut option = |name: &str, value: &Path| {
            command.extend([OsString::from(name), value.into()]);
        };
        option("--readable", kernels);
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME"] {
            if let Some(folder) = std::env::var_os(name) {
                option("--readable", Path::new(&folder));
            }
        }
        if !changed {
            option("--writable", &self.cache);
        }
        if kind.ends_with("card") {
            if let Some(device) = self.device {
                command.extend(["--device".into(), device.to_string().into()]);
            }
        } else {
            command.extend(["--memory".into(), MEMORY.to_string().into()]);
        }
        if std::env::var_os("SPLATCORE_LAB_UNCONFINED").is_some() {
            command.push("--unconfined".into());
        }
        let mut environment = vec![];
        if changed {
            environment.push(("SPLATCORE_KERNELS".into(), kernels.into()));
        }
        Ok(Program {
            command,
            environment,
            cache: Some((self.cache.clone(), changed)),
        })
    }

    fn reference(&self) -> &dyn Backend {
        &self.judge
    }

    fn is_timed(&self) -> bool {
        self.on == On::Card
    }
}

/// A card, to ask about: nothing is computed.
fn card(device: Option<usize>) -> Result<CudaBackend, OpenError> {
    CudaBackend::open(Options {
        device,
        ..Options::default()
    })
}

/// The digest of kernel files, for telling builds apart.
pub fn digest(kernels: &Texts) -> String {
    splatcore_lab::Id::of(kernels).as_str().to_owned()
}

/// splatcore's version, and the commit where it is known.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("SPLATCORE_COMMIT") {
        Some(commit) => format!("{version} ({commit})"),
        None => version.into(),
    }
}
