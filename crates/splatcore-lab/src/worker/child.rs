//! The parent's side of a worker.

use super::arrays;
use super::error::WorkerError;
use super::protocol::{Answer, Ask, FrameSpec};
use crate::copy::copy;
use splatcore_core::{Gaussians, Image};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How a worker is started.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The program and its arguments; the worker's folder is added as the last one.
    pub command: Vec<OsString>,
    /// Its whole environment but for paths of programs, libraries and compilers.
    pub environment: Vec<(OsString, OsString)>,
    /// A folder of compiled kernels, and whether the worker gets a copy of its own to write.
    pub cache: Option<(PathBuf, bool)>,
}

/// Variables that name a folder of compiled kernels: of the emulator, of the compiler for cards.
const CACHES: [&str; 2] = ["SPLATCORE_EMULATOR_CACHE", "SPLATCORE_CACHE"];

/// Variables that a worker takes over from its parent: where programs, libraries and compilers are.
pub const KEPT: [&str; 13] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDA_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CXX",
    "LANG",
    "TZ",
    "RUST_BACKTRACE",
    "SYSTEMROOT",
    "WINDIR",
];

/// How long a worker may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From its start until it is ready.
    pub start: Duration,
    /// For an answer; compiling is part of the first of a kind.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            answer: Duration::from_secs(120),
        }
    }
}

/// A running worker.
pub struct Child {
    process: std::process::Child,
    /// Closed when the worker is to end.
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    words: Arc<Mutex<String>>,
    /// Disconnected when all last words are heard.
    heard: Receiver<()>,
    folder: tempfile::TempDir,
    limits: Limits,
    /// The device, as the worker described it.
    pub device: String,
    /// What confines it.
    pub sandbox: String,
}

/// How much of a worker's last words is kept.
const WORDS: usize = 4000;

impl Child {
    /// Starts a worker and waits until it is ready.
    ///
    /// # Errors
    /// If it cannot be started or is not ready in time.
    pub fn start(program: &Program, limits: Limits) -> Result<Self, WorkerError> {
        let mut child = Self::spawn(program, limits)?;
        child.wait()?;
        Ok(child)
    }

    /// Starts a worker, for [`Child::wait`]. On Linux a worker ends with the thread that started
    /// it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(program: &Program, limits: Limits) -> Result<Self, WorkerError> {
        let system = |error: std::io::Error| WorkerError::System(format!("a worker: {error}"));
        let folder = tempfile::Builder::new()
            .prefix("splatcore-worker-")
            .tempdir()
            .map_err(system)?;
        let cache = match &program.cache {
            Some((from, true)) => {
                let own = folder.path().join("cache");
                own_copy(from, &own).map_err(system)?;
                Some(own)
            }
            Some((shared, false)) => Some(shared.clone()),
            None => None,
        };
        let (name, arguments) = program
            .command
            .split_first()
            .ok_or_else(|| WorkerError::System("a worker has no program".into()))?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .arg(folder.path())
            .env_clear()
            .envs(KEPT.iter().filter_map(|k| Some((k, std::env::var_os(k)?))))
            .env("TMPDIR", folder.path())
            .envs(
                CACHES
                    .iter()
                    .filter_map(|name| Some((name, cache.as_ref()?))),
            )
            .envs(program.environment.iter().map(|(k, v)| (k, v)))
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut process = command.spawn().map_err(system)?;
        let taken = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        );
        let (Some(input), Some(output), Some(errors)) = taken else {
            return Err(WorkerError::System("a worker has no pipes".into()));
        };
        let words = Arc::new(Mutex::new(String::new()));
        let (hearing, heard) = channel::<()>();
        let child = Self {
            process,
            input: Some(input),
            answers: lines(output),
            words: words.clone(),
            heard,
            folder,
            limits,
            device: String::new(),
            sandbox: String::new(),
        };
        thread::spawn(move || {
            listen(errors, &words);
            drop(hearing);
        });
        Ok(child)
    }

    /// Waits until a worker that was just started is ready.
    ///
    /// # Errors
    /// If it is not ready in time.
    pub fn wait(&mut self) -> Result<(), WorkerError> {
        match self.answer("start", self.limits.start)? {
            Answer::Ready { device, sandbox } => {
                self.device = device;
                self.sandbox = sandbox;
                Ok(())
            }
            Answer::Unconfined { about } => Err(WorkerError::Unconfined(about)),
            Answer::Failed { error } => Err(WorkerError::Said(error)),
            other => Err(WorkerError::System(format!(
                "a worker began with {other:?}"
            ))),
        }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the worker says so, or does not answer in time: it is killed then.
    pub fn ask(&mut self, ask: &Ask) -> Result<Answer, WorkerError> {
        let name = name(ask);
        let line = serde_json::to_string(ask).map_err(|e| WorkerError::System(e.to_string()))?;
        // A worker that ended cannot be written to; its end is what is said.
        if let Some(input) = &mut self.input {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
        match self.answer(name, self.limits.answer)? {
            Answer::Failed { error } => Err(WorkerError::Said(error)),
            answer => Ok(answer),
        }
    }

    fn answer(&mut self, ask: &str, limit: Duration) -> Result<Answer, WorkerError> {
        match self.answers.recv_timeout(limit) {
            Ok(line) => serde_json::from_str(&line).map_err(|error| WorkerError::Ended {
                ask: ask.into(),
                words: format!(": it answered what is no answer ({error})"),
            }),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(WorkerError::Deadline {
                    ask: ask.into(),
                    seconds: limit.as_secs(),
                })
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.kill();
                let _ = self.heard.recv_timeout(Duration::from_secs(1));
                let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
                let words = words.trim();
                Err(WorkerError::Ended {
                    ask: ask.into(),
                    words: match words.is_empty() {
                        true => String::new(),
                        false => format!(": {words}"),
                    },
                })
            }
        }
    }

    /// Uploads a scene, in place of the one that was loaded so, and selects it.
    ///
    /// # Errors
    /// As [`Child::ask`].
    pub fn load(&mut self, scene: &Gaussians) -> Result<(), WorkerError> {
        self.load_as("", scene)
    }

    /// Uploads a scene beside those of other names, and selects it.
    ///
    /// # Errors
    /// As [`Child::ask`].
    pub fn load_as(&mut self, name: &str, scene: &Gaussians) -> Result<(), WorkerError> {
        const FILE: &str = "scene";
        arrays::write_scene(&self.path(FILE), scene).map_err(file_error)?;
        let loaded = self.ask(&Ask::Load {
            name: name.into(),
            scene: FILE.into(),
        });
        // A million Gaussians are 236 MB.
        let _ = std::fs::remove_file(self.path(FILE));
        loaded.map(drop)
    }

    /// Uses a scene that was loaded earlier.
    ///
    /// # Errors
    /// As [`Child::ask`].
    pub fn select(&mut self, name: &str) -> Result<(), WorkerError> {
        self.ask(&Ask::Select { name: name.into() }).map(drop)
    }

    /// Renders a frame: image and transmittance.
    ///
    /// # Errors
    /// As [`Child::ask`]; if the image that it wrote is none, or not of the frame's size.
    pub fn render(&mut self, frame: &FrameSpec) -> Result<(Image, Vec<f32>), WorkerError> {
        const NAME: &str = "image";
        self.ask(&Ask::Render {
            frame: frame.clone(),
            to: NAME.into(),
        })?;
        let (image, transmittance) = arrays::read_image(&self.path(NAME)).map_err(file_error)?;
        match [image.width, image.height] == frame.size {
            true => Ok((image, transmittance)),
            false => Err(WorkerError::Said("an image of another size".into())),
        }
    }

    /// The gradients of a frame, in the shape of the scene.
    ///
    /// # Errors
    /// As [`Child::render`].
    pub fn gradients(
        &mut self,
        frame: &FrameSpec,
        image_gradient: &Image,
    ) -> Result<Gaussians, WorkerError> {
        let (from, to) = ("image-gradient", "gradients");
        arrays::write_image(&self.path(from), image_gradient, &[]).map_err(file_error)?;
        self.ask(&Ask::Gradients {
            frame: frame.clone(),
            image_gradient: from.into(),
            to: to.into(),
        })?;
        arrays::read_scene(&self.path(to)).map_err(file_error)
    }

    /// Lets the worker end, and reads a text that it, or what it runs under, left in its folder.
    ///
    /// # Errors
    /// If it does not end in time, or left no such text.
    pub fn finish(mut self, file: &str) -> Result<String, WorkerError> {
        const MAX: u64 = 1 << 20;
        const PAUSE: Duration = Duration::from_millis(20);
        drop(self.input.take());
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if start.elapsed() > self.limits.answer {
                return Err(WorkerError::Deadline {
                    ask: "end".into(),
                    seconds: self.limits.answer.as_secs(),
                });
            }
            thread::sleep(PAUSE);
        }
        let mut text = Vec::new();
        let read =
            File::open(self.path(file)).and_then(|opened| opened.take(MAX).read_to_end(&mut text));
        match read {
            Ok(_) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(error) => Err(WorkerError::Said(format!("it left no {file} ({error})"))),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Kills the worker and all that it started.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.process.id() as i32) {
            // Gone already is as good.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A copy that only this user can read.
fn own_copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(to)?;
    copy(from, to)
}

fn file_error(error: std::io::Error) -> WorkerError {
    WorkerError::Said(format!("a worker's file: {error}"))
}

fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Load { .. } => "load",
        Ask::Select { .. } => "select",
        Ask::Render { .. } => "render",
        Ask::Gradients { .. } => "gradients",
        Ask::Reuse | Ask::Digest => "look at memory",
        Ask::Time { .. } => "time",
        Ask::TimeTraining { .. } => "time the backward pass",
    }
}

/// The lines of a pipe, each of a bounded length.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    const LONGEST: u64 = 1 << 20;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        loop {
            let mut line = String::new();
            let read = reader.by_ref().take(LONGEST).read_line(&mut line);
            if !matches!(read, Ok(1..)) || sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Keeps the end of what a worker says on stderr.
fn listen(mut pipe: impl Read, words: &Mutex<String>) {
    let mut bytes = [0; 1024];
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let surplus = words.len().saturating_sub(WORDS);
        let start = (surplus..=words.len()).find(|&at| words.is_char_boundary(at));
        words.drain(..start.unwrap_or(0));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program {
            command: ["sh", "-c", script].map(OsString::from).to_vec(),
            environment: vec![],
            cache: None,
        }
    }

    const READY: &str = r#"echo '{"answer":"ready","device":"a shell","sandbox":"none"}'; "#;
    const SHORT: Limits = Limits {
        start: Duration::from_secs(5),
        answer: Duration::from_millis(300),
    };

    fn time() -> Ask {
        Ask::Time { frames: vec![] }
    }

    #[test]
    fn a_worker_that_hangs_is_killed_with_what_it_started() {
        let mark = tempfile::tempdir().unwrap();
        let file = mark.path().join("pid");
        let script = format!("{READY} sleep 60 & echo $! > {}; wait", file.display());
        let mut child = Child::start(&shell(&script), SHORT).unwrap();
        assert_eq!(child.device, "a shell");
        let start = Instant::now();
        let error = child.ask(&time()).unwrap_err();
        assert!(matches!(error, WorkerError::Deadline { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
        let pid = std::fs::read_to_string(&file).unwrap();
        // The orphan is reaped by whoever adopts it: wait until it is at least a zombie.
        let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        while !gone() && start.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(gone(), "process {pid} lives on");
    }

    #[test]
    fn a_worker_that_ends_says_why() {
        let mut child = Child::start(
            &shell(&format!("{READY} echo out of luck >&2; exit 3")),
            SHORT,
        )
        .unwrap();
        let error = child.ask(&time()).unwrap_err();
        assert_eq!(
            error,
            WorkerError::Ended {
                ask: "time".into(),
                words: ": out of luck".into()
            }
        );
        let error = Child::start(&shell("exit 1"), SHORT).err().unwrap();
        assert!(matches!(error, WorkerError::Ended { .. }), "{error}");
        let refusal = r#"echo '{"answer":"unconfined","about":"no landlock"}'"#;
        let error = Child::start(&shell(refusal), SHORT).err().unwrap();
        assert_eq!(error, WorkerError::Unconfined("no landlock".into()));
        let nonsense = format!("{READY} while read line; do echo nonsense; done");
        let mut child = Child::start(&shell(&nonsense), SHORT).unwrap();
        let error = child.ask(&time()).unwrap_err();
        assert!(error.to_string().contains("no answer ("), "{error}");
    }

    #[test]
    fn a_worker_knows_little_of_its_parent() {
        let secret = format!(r#"{READY} env >&2; exit 1"#);
        let mut program = shell(&secret);
        program.environment = vec![("SPLATCORE_KERNELS".into(), "here".into())];
        let mut child = Child::start(&program, SHORT).unwrap();
        let said = child.ask(&time()).unwrap_err().to_string();
        assert!(said.contains("SPLATCORE_KERNELS=here"), "{said}");
        let kept = |line: &str| {
            let own = ["PWD", "SHLVL", "_", "OLDPWD", "TMPDIR", "SPLATCORE_KERNELS"];
            let name = line.split('=').next().unwrap_or_default();
            own.contains(&name) || KEPT.contains(&name)
        };
        let lines = said
            .lines()
            .filter(|l| l.contains('=') && !l.contains(": "));
        let others: Vec<&str> = lines.filter(|line| !kept(line)).collect();
        assert!(others.is_empty(), "{others:?}");
    }
}
