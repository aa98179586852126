//! Models behind a program: it reads a prompt on its standard input and prints the reply.

use super::model::{By, MAX_REPLY_BYTES, Model, ModelError, Reply, Request, Usage};
use super::pause::Pause;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of the standard error that are kept for a message.
const MAX_COMPLAINT_BYTES: usize = 4096;

/// A program that answers. It is started for each request, in a process group of its own, with the
/// environment variable `SPLATCORE_LAB_ROLE` naming the role. Parameters of a request are not
/// passed on.
pub struct Program {
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
    pause: Pause,
}

impl Program {
    /// A program with arguments, which gets this long for an answer.
    pub fn new(
        program: impl Into<String>,
        arguments: Vec<String>,
        timeout: Duration,
        pause: Pause,
    ) -> Self {
        Self {
            program: program.into(),
            arguments,
            timeout,
            pause,
        }
    }

    fn failed(&self, what: impl Into<String>) -> ModelError {
        ModelError::Program {
            program: self.program.clone(),
            what: what.into(),
        }
    }

    fn start(&self, request: &Request) -> Result<Group, ModelError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("SPLATCORE_LAB_ROLE", request.role.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn();
        let child = child.map_err(|error| self.failed(format!("does not start ({error})")))?;
        Ok(Group(child))
    }

    /// Waits until the program ends and its output is read.
    fn finish(
        &self,
        request: &Request,
        group: &mut Group,
        output: &Receiver<Vec<u8>>,
    ) -> Result<(ExitStatus, Vec<u8>), ModelError> {
        let deadline = Instant::now() + self.timeout;
        let (mut read, mut ended) = (None, None);
        loop {
            self.pause.check(request.role)?;
            let wait = output.recv_timeout(LOOK);
            match wait {
                Ok(bytes) if bytes.len() > MAX_REPLY_BYTES => {
                    let who = self.program.clone();
                    return Err(ModelError::TooLong { who });
                }
                Ok(bytes) => read = Some(bytes),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
            }
            if ended.is_none() {
                let status = group.0.try_wait();
                ended = status.map_err(|error| self.failed(format!("is lost ({error})")))?;
                if ended.is_some() {
                    // What it left behind may hold the output open.
                    group.kill();
                }
            }
            if let (Some(status), Some(bytes)) = (ended, &mut read) {
                return Ok((status, std::mem::take(bytes)));
            }
            if Instant::now() >= deadline {
                return Err(ModelError::Timeout {
                    who: self.program.clone(),
                    limit: self.timeout,
                    role: request.role,
                });
            }
        }
    }
}

impl Model for Program {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        self.pause.check(request.role)?;
        let mut group = self.start(request)?;
        let (stdin, stdout) = (group.0.stdin.take(), group.0.stdout.take());
        let stderr = group.0.stderr.take();
        let prompt = request.to_markdown();
        std::thread::spawn(move || {
            // A program need not read its prompt to the end.
            stdin.map(|mut stdin| stdin.write_all(prompt.as_bytes()))
        });
        let output = reader(stdout, MAX_REPLY_BYTES + 1);
        let complaint = reader(stderr, MAX_COMPLAINT_BYTES);
        let (status, bytes) = self.finish(request, &mut group, &output)?;
        if !status.success() {
            let said = complaint.recv_timeout(Duration::from_secs(1));
            let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or(String::new(), |line| format!(" ({})", line.trim()));
            return Err(self.failed(format!("ends with {status}{last}")));
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| self.failed("prints something other than UTF-8"))?;
        if text.trim().is_empty() {
            return Err(self.failed("prints nothing"));
        }
        let usage = Usage::estimate(request, &text);
        Ok(Reply {
            text,
            usage,
            by: By::default(),
            cut: false,
        })
    }
}

/// Reads a pipe to its end in a thread, and sends the first `limit` bytes: as soon as there are so
/// many, or at the end.
fn reader(pipe: Option<impl Read + Send + 'static>, limit: usize) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut kept = Vec::new();
        let _ = pipe.by_ref().take(limit as u64).read_to_end(&mut kept);
        let _ = send.send(kept);
        // A pipe that is not read any more would stop its writer.
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
    receive
}

/// A program and all that it starts. Ends with this value.
struct Group(Child);

impl Group {
    /// Ends every process of the group.
    fn kill(&mut self) {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        let _ = self.0.kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::super::testing::request;
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn shell(script: &str, seconds: u64) -> Program {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        let timeout = Duration::from_secs(seconds);
        Program::new("sh", arguments, timeout, Pause::default())
    }

    fn error_of(script: &str, seconds: u64) -> String {
        let error = shell(script, seconds)
            .ask(&request(0, "hello"))
            .unwrap_err();
        let error = error.to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    }

    #[test]
    fn a_program_reads_the_prompt_and_prints_the_reply() {
        let mut program = shell("echo \"$SPLATCORE_LAB_ROLE:\"; cat", 60);
        let long = "x".repeat(300_000);
        let reply = program.ask(&request(0, &long)).unwrap();
        assert_eq!(reply.text, format!("coder:\n{long}"));
        assert_eq!(reply.usage.tokens_in, 100_000);
        assert!(reply.usage.estimated);
        // One that does not read its prompt.
        let reply = shell("echo hi", 60).ask(&request(0, &long)).unwrap();
        assert_eq!(reply.text, "hi\n");
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("alive");
        let script = format!("(sleep 3; echo > '{}') & sleep 60", mark.display());
        let start = Instant::now();
        let error = error_of(&script, 1);
        assert!(error.contains("sh does not answer within 1s"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(3));
        std::thread::sleep(Duration::from_millis(3500));
        assert!(!mark.exists(), "a child lives on");
    }

    #[test]
    fn children_that_are_left_behind_hold_nothing_up() {
        let start = Instant::now();
        let reply = shell("sleep 60 & echo hi", 50)
            .ask(&request(0, "hello"))
            .unwrap();
        assert_eq!(reply.text, "hi\n");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn failures_are_named() {
        let error = error_of("echo first >&2; echo 'no licence' >&2; exit 3", 60);
        assert!(error.contains("exit status: 3 (no licence)"), "{error}");
        assert!(error_of("true", 60).contains("prints nothing"));
        assert!(error_of("printf '\\377'", 60).contains("UTF-8"));
        assert!(error_of("yes", 60).contains("more than 1024 KiB"));
        let mut absent = Program::new(
            "no-such-program-here",
            Vec::new(),
            Duration::from_secs(1),
            Pause::default(),
        );
        let error = absent.ask(&request(0, "hello")).unwrap_err().to_string();
        assert!(
            error.starts_with("no-such-program-here does not start"),
            "{error}"
        );
    }

    #[test]
    fn a_run_that_stops_does_not_wait_for_the_program() {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            told.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let mut program = shell("sleep 60", 60);
        program.pause = Pause::new(move || stop.load(std::sync::atomic::Ordering::Relaxed));
        let start = Instant::now();
        let error = program.ask(&request(0, "hello")).unwrap_err();
        assert!(matches!(error, ModelError::Stopped(_)), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
