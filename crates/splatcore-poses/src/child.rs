//! Runs a program: its lines as they come, an end when asked for.

use crate::PosesError;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a stop is asked for.
const TICK: Duration = Duration::from_millis(50);
/// How long a program may take to end when it is asked to; after that it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// Most bytes of a line; the rest of a longer one is another line.
const LONGEST_LINE: u64 = 8192;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl Call {
    pub fn new(program: &Path) -> Self {
        let program = program.to_path_buf();
        Self {
            program,
            args: Vec::new(),
        }
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn args<const N: usize>(mut self, args: [&str; N]) -> Self {
        self.args.extend(args.map(OsString::from));
        self
    }

    /// As a person would type it, nearly.
    pub fn shown(&self) -> String {
        let words = std::iter::once(self.program.as_os_str()).chain(self.args.iter().map(|a| &**a));
        let words: Vec<String> = words
            .map(|word| {
                let word = word.to_string_lossy();
                match word.contains(char::is_whitespace) || word.is_empty() {
                    true => format!("'{word}'"),
                    false => word.into_owned(),
                }
            })
            .collect();
        words.join(" ")
    }
}

/// How a program ended.
pub enum End {
    Exited(ExitStatus),
    /// The caller asked for a stop.
    Stopped,
}

/// Runs a program until it ends. `line` gets each line of stdout and stderr, without its end, from
/// the calling thread; `stop` is asked several times a second, and ends the program and whatever
/// that started.
pub fn run(
    call: &Call,
    stop: &dyn Fn() -> bool,
    line: &mut dyn FnMut(&str) -> Result<(), PosesError>,
) -> Result<End, PosesError> {
    let mut running = Running::start(call, Stdio::piped())?;
    let (sender, lines) = mpsc::sync_channel(256);
    let outputs: [Option<Box<dyn Read + Send>>; 2] = [
        running.child.stdout.take().map(|out| Box::new(out) as _),
        running.child.stderr.take().map(|out| Box::new(out) as _),
    ];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || forward(output, &sender));
    }
    drop(sender);
    loop {
        if stop() {
            running.end();
            // What it said until then counts: the next call goes on from there.
            let late = Instant::now() + GRACE;
            while let Ok(text) = lines.recv_timeout(TICK)
                && Instant::now() < late
            {
                line(&text)?;
            }
            return Ok(End::Stopped);
        }
        match lines.recv_timeout(TICK) {
            Ok(text) => line(&text)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The outputs are closed: nearly always the program has ended.
    loop {
        if let Some(status) = running.ended(call)? {
            return Ok(End::Exited(status));
        }
        if stop() {
            running.end();
            return Ok(End::Stopped);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All that a program says, if it ends by itself within `limit`.
pub fn output(call: &Call, limit: Duration) -> Result<(ExitStatus, String), PosesError> {
    let start = Instant::now();
    let mut text = String::new();
    let end = run(call, &|| start.elapsed() > limit, &mut |line| {
        if text.len() < 1 << 20 {
            text.push_str(line);
            text.push('\n');
        }
        Ok(())
    })?;
    match end {
        End::Exited(status) => Ok((status, text)),
        End::Stopped => Err(PosesError::Program {
            program: call.program.clone(),
            problem: format!(
                "gives no answer within {} s; name another one",
                limit.as_secs()
            ),
        }),
    }
}

/// Sends lines until the output ends or nobody listens.
fn forward(output: Box<dyn Read + Send>, sender: &mpsc::SyncSender<String>) {
    let mut reader = BufReader::new(output);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&bytes);
        if sender.send(text.trim_end().to_owned()).is_err() {
            return;
        }
    }
}

/// A program that runs, in a process group of its own; it ends when this value goes.
pub struct Running {
    pub child: Child,
    over: bool,
}

impl Running {
    pub fn start(call: &Call, stderr: Stdio) -> Result<Self, PosesError> {
        let mut command = Command::new(&call.program);
        command.args(&call.args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(target_os = "linux")]
        end_with_this_process(&mut command);
        let child = command.spawn().map_err(|error| PosesError::Program {
            program: call.program.clone(),
            problem: format!("cannot be started ({error}); check the path"),
        })?;
        Ok(Self { child, over: false })
    }

    /// How it ended, if it has.
    pub fn ended(&mut self, call: &Call) -> Result<Option<ExitStatus>, PosesError> {
        let status = self.child.try_wait().map_err(|error| PosesError::Program {
            program: call.program.clone(),
            problem: format!("cannot be waited for ({error}); run it again"),
        })?;
        self.over |= status.is_some();
        Ok(status)
    }

    /// Asks the program and its children to end, waits for a while, and kills what is left.
    pub fn end(&mut self) {
        if self.over {
            return;
        }
        self.over = true;
        let start = Instant::now();
        self.signal(false);
        while start.elapsed() < GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.signal(true);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        // It fails if the group has ended, which is what is wanted.
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    #[cfg(not(unix))]
    fn signal(&self, kill: bool) {
        if kill {
            return;
        }
        // Windows has no groups to signal; taskkill ends a process with its children.
        let id = self.child.id().to_string();
        let _ = Command::new("taskkill")
            .args(["/T", "/F", "/PID", &id])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// The system kills the program when this one is killed, which could end it no other way: it would
/// write on into the database that the next call uses.
#[cfg(target_os = "linux")]
fn end_with_this_process(command: &mut Command) {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt;
    let this = i32::try_from(std::process::id())
        .ok()
        .and_then(Pid::from_raw);
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have been killed before it asked.
        match getppid() == this {
            true => Ok(()),
            false => Err(std::io::ErrorKind::Interrupted.into()),
        }
    };
    // SAFETY: between fork and exec only system calls are made; nothing allocates or locks.
    unsafe { command.pre_exec(ask) };
}

/// The file of a program on `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) {
        &[".exe", ".bat"]
    } else {
        &[""]
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| !folder.as_os_str().is_empty())
        .flat_map(|folder| {
            endings
                .iter()
                .map(move |e| folder.join(format!("{name}{e}")))
        })
        .find(|path| path.is_file())
}
