//! What the lab needs of this build.

use super::code::{self, Compiler};
use super::device::{Card, Device, DeviceArgs, open};
use super::sanitizer;
use crate::program;
use anyhow::{Context, Result, bail};
use splatcore_core::{Backend, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_cuda::CudaBackend;
use splatcore_cuda::ops::SOURCES;
use splatcore_lab::evaluate::{FrameKind, REPORT, Role, Toolbox, Turns};
use splatcore_lab::experiment::Task;
use splatcore_lab::gates::machine_code::Compiled;
use splatcore_lab::gates::sanitizer::Tool;
use splatcore_lab::worker::{Limits, Program};
use splatcore_lab::{Rejection, Texts};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Memory of a worker on this processor.
const MEMORY: u64 = 16 << 30;

/// The kernels of this build, its workers, and the processor as the judge.
pub struct Build {
    device: Device,
    /// Machine code of programs that were compiled.
    compiler: Compiler,
    kernels: Texts,
    /// Texts of `kernels` that are not the built-in ones.
    start: Texts,
    /// Starts this command line in another process.
    program: Vec<OsString>,
    /// Compiled kernels of this build. Workers with other kernels copy it, so that they compile
    /// only what is changed, and cannot change it.
    cache: PathBuf,
    judge: CpuBackend,
    /// Shared with all experiments that use the card.
    turns: Option<Turns>,
}

impl Build {
    /// This build.
    ///
    /// # Errors
    /// If a card was asked for and there is none, or the program's own file or its cache cannot be
    /// found.
    pub fn new(device: &DeviceArgs) -> Result<Self> {
        Self::on(device.find()?)
    }

    fn on(device: Device) -> Result<Self> {
        let cache = splatcore_cuda::device::machine_code::cache_folder();
        let cache = cache.with_file_name("lab");
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("{}: the lab's cache", cache.display()))?;
        let turns = match &device {
            Device::Card(card) => {
                let name = format!("card-{}", card.number.unwrap_or(0));
                Some(Turns::new(&cache, &name))
            }
            Device::Emulator => None,
        };
        Ok(Self {
            device,
            turns,
            compiler: Compiler::default(),
            kernels: SOURCES
                .iter()
                .map(|&(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
            start: Texts::new(),
            program: program::again()?,
            cache,
            judge: CpuBackend::new(None),
        })
    }

    /// This build, for commands that run no kernel.
    ///
    /// # Errors
    /// As [`Build::new`].
    pub fn without_device() -> Result<Self> {
        Self::on(Device::Emulator)
    }

    /// The same with the kernels that a task starts from.
    ///
    /// # Errors
    /// If there is no such start.
    pub fn starting(mut self, task: &Task) -> Result<Self> {
        self.start = task.start_texts().map_err(anyhow::Error::msg)?;
        self.kernels.extend(self.start.clone());
        Ok(self)
    }

    /// The texts that stand in the place of built-in ones where a candidate has these.
    fn replaced(&self, changed: &Texts) -> Texts {
        let mut texts = self.start.clone();
        texts.extend(changed.clone());
        texts
    }

    /// The kernel files of each program of a pipeline, by the program's name and constants.
    ///
    /// # Errors
    /// If they cannot be told.
    pub fn files_of_programs(
        &self,
        pipeline: Pipeline,
        training: bool,
    ) -> Result<BTreeMap<String, Vec<String>>> {
        code::files_of_programs(pipeline, training, self.capability(), &self.start)
    }

    /// Kernel files that a frame of a pipeline, and with `training` its gradients, are made of.
    ///
    /// # Errors
    /// If they cannot be told.
    pub fn files_of(&self, pipeline: Pipeline, training: bool) -> Result<Vec<String>> {
        let programs = self.files_of_programs(pipeline, training)?;
        let mut files: Vec<String> = programs.into_values().flatten().collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Refuses files that no gate would see: the pipeline does not run them.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_files<'a>(
        &self,
        pipeline: Pipeline,
        training: bool,
        mut files: impl Iterator<Item = &'a String>,
    ) -> Result<()> {
        let used = self.files_of(pipeline, training)?;
        let Some(file) = files.find(|file| !used.contains(file)) else {
            return Ok(());
        };
        let with_gradients = self.files_of(pipeline, true)?;
        if with_gradients.contains(file) {
            bail!(
                "{pipeline} runs {file} for gradients only; say --training (of `lab new`: \
                 --workload step)"
            );
        }
        bail!(
            "{pipeline} does not run {file}, so that no gate would see it; give a --pipeline that \
             runs it. The lab judges images and their gradients, and no other kernels of a training"
        )
    }

    /// The card with the built-in kernels, if there is one.
    pub fn card(&self) -> Option<CudaBackend> {
        match &self.device {
            Device::Card(card) => open(card.number).ok(),
            Device::Emulator => None,
        }
    }

    /// The card's compute capability; the H200's where there is none.
    pub fn capability(&self) -> u32 {
        const H200: u32 = 90;
        match &self.device {
            Device::Card(card) => card.capability,
            Device::Emulator => H200,
        }
    }

    /// How long workers may take: an emulated kernel takes a thousand times as long.
    pub fn limits(&self) -> Limits {
        let seconds = std::time::Duration::from_secs;
        match self.device {
            Device::Card(_) => Limits::default(),
            Device::Emulator => Limits {
                start: seconds(60),
                answer: seconds(180),
            },
        }
    }
}

impl Toolbox for Build {
    fn describe(&self) -> String {
        match &self.device {
            Device::Card(card) => card.description.clone(),
            Device::Emulator => "the emulator".into(),
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
        frames: &[FrameKind],
    ) -> Result<Option<Compiled>, Rejection> {
        let texts = self.replaced(changed);
        self.compiler
            .compile(&texts, pipeline, training, self.capability(), frames)
    }

    fn worker(&self, kernels: &Path, role: Role) -> Result<Program, String> {
        let kind = match (role, &self.device) {
            (Role::Timed, Device::Card(_)) => "card",
            (Role::Guarded, Device::Card(_)) => "guarded-card",
            (Role::Filled, Device::Card(_)) => "filled-card",
            (Role::Filled, Device::Emulator) => "filled-emulator",
            (Role::Timed | Role::Guarded, Device::Emulator) => "emulator",
            (Role::Checked, _) => "checked",
            (Role::CheckedBackwards, _) => "checked-backwards",
        };
        for (name, text) in &self.start {
            let file = kernels.join(name);
            if !file.exists() {
                let written = std::fs::write(&file, text);
                written.map_err(|error| format!("{}: {error}", file.display()))?;
            }
        }
        let changed = std::fs::read_dir(kernels).is_ok_and(|mut files| files.next().is_some());
        let mut command = self.program.clone();
        command.extend(["lab", "worker", "--kind", kind].map(OsString::from));
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
            if let Device::Card(Card {
                number: Some(number),
                ..
            }) = &self.device
            {
                command.extend(["--device".into(), number.to_string().into()]);
            }
        } else {
            command.extend(["--memory".into(), MEMORY.to_string().into()]);
        }
        if std::env::var_os("SPLATCORE_LAB_UNCONFINED").is_some() {
            command.push("--unconfined".into());
        }
        // Baseline and candidate come from one compiler.
        let mut environment = vec![("SPLATCORE_EMBEDDED".into(), "0".into())];
        if changed {
            environment.push(("SPLATCORE_KERNELS".into(), kernels.into()));
        }
        Ok(Program {
            command,
            environment,
            cache: Some((self.cache.clone(), changed)),
        })
    }

    fn sanitized(&self, kernels: &Path, tool: Tool) -> Option<Result<Program, String>> {
        let Device::Card(_) = self.device else {
            return None;
        };
        let Some(sanitizer) = sanitizer::find() else {
            return Some(Err(format!("{}: {}", tool.name(), sanitizer::MISSING)));
        };
        let program = self.worker(kernels, Role::Timed).map(|mut program| {
            // What a driver refuses is no mistake of a kernel.
            let words = [
                "--tool",
                tool.name(),
                "--report-api-errors",
                "no",
                "--log-file",
                REPORT,
            ];
            let mut command = vec![sanitizer.into_os_string()];
            command.extend(words.map(OsString::from));
            command.append(&mut program.command);
            program.command = command;
            program
        });
        Some(program)
    }

    fn reference(&self) -> &dyn Backend {
        &self.judge
    }

    fn turns(&self) -> Option<&Turns> {
        self.turns.as_ref()
    }
}

/// The digest of kernel files, for telling builds apart.
pub fn digest(kernels: &Texts) -> String {
    splatcore_lab::Id::of(kernels).as_str().to_owned()
}

/// splatcore's version, and the commit where it is known.
pub fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match program::commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.into(),
    }
}
