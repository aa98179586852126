//! Models behind a folder: the prompt is written there, and somebody writes the reply beside it. A
//! person, or a coding agent on a machine without a network.

use super::model::{By, MAX_REPLY_BYTES, Model, ModelError, Reply, Request, Usage};
use super::pause::Pause;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a reply is looked for.
const LOOK: Duration = Duration::from_millis(500);

/// A reply counts when it has not grown for so many looks: whoever writes it may do so in parts.
/// One that is renamed into place is whole at once, but cannot be told from the others.
const STABLE_LOOKS: u32 = 4;

/// Exchanges prompts and replies by files, numbered from 1: `0001-planner.prompt.md` and
/// `0001-planner.reply.md`. A run that was killed finds the prompt and perhaps the reply there.
pub struct Files {
    folder: PathBuf,
    number: u64,
    timeout: Option<Duration>,
    pause: Pause,
    announce: Box<dyn FnMut(&str) + Send>,
}

impl Files {
    /// Exchanges files in `folder`. The first `asked` exchanges are on record already. Without a
    /// timeout a reply is awaited for ever. What is to be done is announced on standard error.
    pub fn new(
        folder: impl Into<PathBuf>,
        asked: usize,
        timeout: Option<Duration>,
        pause: Pause,
    ) -> Self {
        Self {
            folder: folder.into(),
            number: asked as u64 + 1,
            timeout,
            pause,
            announce: Box::new(|line| eprintln!("{line}")),
        }
    }

    /// Announces by `announce` what is to be done, a line each.
    pub fn announcing(mut self, announce: impl FnMut(&str) + Send + 'static) -> Self {
        self.announce = Box::new(announce);
        self
    }

    fn path(&self, request: &Request, kind: &str) -> PathBuf {
        let name = format!("{:04}-{}.{kind}.md", self.number, request.role);
        self.folder.join(name)
    }

    /// Writes the prompt, unless it is there already.
    fn write_prompt(&self, request: &Request, reply: &Path) -> Result<PathBuf, ModelError> {
        let path = self.path(request, "prompt");
        let failed = |error: std::io::Error| file_error(&path, &error);
        std::fs::create_dir_all(&self.folder).map_err(|e| file_error(&self.folder, &e))?;
        let text = request.to_markdown();
        match std::fs::read(&path) {
            Ok(written) if written == text.as_bytes() => return Ok(path),
            Ok(_) if reply.exists() => {
                return Err(ModelError::File(format!(
                    "{}: this reply answers another prompt: remove it, then resume",
                    reply.display()
                )));
            }
            Ok(_) => (),
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            Err(error) => return Err(failed(error)),
        }
        // Renamed into place, so that no reader finds half a prompt.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(path)
    }

    /// Waits for a reply that no longer grows.
    fn wait(&self, request: &Request, path: &Path) -> Result<String, ModelError> {
        let (mut size, mut stable, mut waited) = (0, 0, Duration::ZERO);
        loop {
            let now = match std::fs::metadata(path) {
                Ok(found) => found.len(),
                Err(error) if error.kind() == ErrorKind::NotFound => 0,
                Err(error) => return Err(file_error(path, &error)),
            };
            stable = if now == size { stable + 1 } else { 0 };
            size = now;
            if size > MAX_REPLY_BYTES as u64 {
                let who = path.display().to_string();
                return Err(ModelError::TooLong { who });
            }
            if size > 0 && stable >= STABLE_LOOKS {
                let text = std::fs::read_to_string(path).map_err(|e| file_error(path, &e))?;
                if !text.trim().is_empty() {
                    return Ok(text);
                }
            }
            if let Some(limit) = self.timeout.filter(|&limit| waited >= limit) {
                let who = format!("the writer of {}", path.display());
                let role = request.role;
                return Err(ModelError::Timeout { who, limit, role });
            }
            self.pause.wait(LOOK, request.role)?;
            waited += LOOK;
        }
    }
}

impl Model for Files {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let reply = self.path(request, "reply");
        let prompt = self.write_prompt(request, &reply)?;
        (self.announce)(&format!(
            "{}: answer this prompt in {}",
            prompt.display(),
            reply.display()
        ));
        let text = self.wait(request, &reply)?;
        self.number += 1;
        let usage = Usage::estimate(request, &text);
        Ok(Reply {
            text,
            usage,
            by: By::default(),
            cut: false,
        })
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> ModelError {
    ModelError::File(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    /// Files in `folder`; `step` runs before each look, with its number.
    fn files(
        folder: &Path,
        asked: usize,
        step: impl Fn(usize) + Send + Sync + 'static,
    ) -> (Files, Arc<Mutex<Vec<String>>>) {
        let slices = AtomicUsize::new(0);
        // A look is five slices of waiting.
        let pause = Pause::with_sleep(move |_| {
            let slices = slices.fetch_add(1, Ordering::Relaxed) + 1;
            if slices.is_multiple_of(5) {
                step(slices / 5);
            }
        });
        let said = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&said);
        let limit = Some(Duration::from_secs(20));
        let files = Files::new(folder, asked, limit, pause);
        let files = files.announcing(move |line| noted.lock().unwrap().push(line.to_owned()));
        (files, said)
    }

    #[test]
    fn a_reply_counts_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let reply = folder.path().join("0001-coder.reply.md");
        let written = reply.clone();
        let (mut files, said) = files(folder.path(), 0, move |step| match step {
            3 => std::fs::write(&written, "").unwrap(),
            5 => std::fs::write(&written, "half").unwrap(),
            7 => std::fs::write(&written, "half and half").unwrap(),
            _ => (),
        });
        let answer = files.ask(&request(0, "hello")).unwrap();
        assert_eq!(answer.text, "half and half");
        assert!(answer.usage.estimated);
        let prompt = folder.path().join("0001-coder.prompt.md");
        assert_eq!(std::fs::read_to_string(prompt).unwrap(), "hello");
        let said = said.lock().unwrap();
        assert!(said[0].contains("0001-coder.prompt.md: answer this prompt in"));
        // Prompt and reply, and nothing else.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_killed_run_finds_its_prompt_and_the_reply() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, _) = files(folder.path(), 1, |_| ());
        let error = first.ask(&request(0, "hello")).unwrap_err().to_string();
        assert!(error.contains("0002-coder.reply.md"), "{error}");
        assert!(error.contains("within 20s"), "{error}");
        std::fs::write(folder.path().join("0002-coder.reply.md"), "hi").unwrap();
        let (mut second, _) = files(folder.path(), 1, |_| ());
        assert_eq!(second.ask(&request(0, "hello")).unwrap().text, "hi");
        // The next exchange has the next number.
        let error = second.ask(&request(1, "again")).unwrap_err().to_string();
        assert!(error.contains("0003-coder"), "{error}");
    }

    #[test]
    fn replies_to_other_prompts_and_long_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let reply = folder.path().join("0001-coder.reply.md");
        let (mut first, _) = files(folder.path(), 0, |_| ());
        assert!(first.ask(&request(0, "hello")).is_err());
        std::fs::write(&reply, "x".repeat(MAX_REPLY_BYTES + 1)).unwrap();
        let error = first.ask(&request(0, "hello")).unwrap_err();
        assert!(matches!(error, ModelError::TooLong { .. }), "{error}");
        let error = first.ask(&request(0, "good bye")).unwrap_err().to_string();
        assert!(error.contains("answers another prompt"), "{error}");
        // Without a reply the prompt is simply written anew.
        std::fs::remove_file(&reply).unwrap();
        assert!(first.ask(&request(0, "good bye")).is_err());
        let prompt = std::fs::read_to_string(folder.path().join("0001-coder.prompt.md"));
        assert_eq!(prompt.unwrap(), "good bye");
    }
}
