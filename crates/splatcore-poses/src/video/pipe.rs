//! A program's output as it comes, with a stop in between.

use crate::PosesError;
use crate::child::{Call, Running};
use std::io::{BufRead, Error, Read, Result};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that a program said on stderr, the last ones.
const KEPT: usize = 4096;

/// Reads what a program writes to stdout.
pub struct Pipe<'a> {
    running: Running,
    call: Call,
    pieces: Receiver<Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
    said: Arc<Mutex<Vec<u8>>>,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Pipe<'a> {
    pub fn start(call: Call, stop: &'a dyn Fn() -> bool) -> std::result::Result<Self, PosesError> {
        let mut running = Running::start(&call, Stdio::piped())?;
        let (sender, pieces) = sync_channel(8);
        if let Some(output) = running.child.stdout.take() {
            std::thread::spawn(move || forward(output, &sender));
        }
        let said = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut stderr) = running.child.stderr.take() {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let mut bytes = [0; 1024];
                while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    said.extend(&bytes[..count]);
                    let surplus = said.len().saturating_sub(KEPT);
                    said.drain(..surplus);
                }
            });
        }
        Ok(Self {
            running,
            call,
            pieces,
            piece: Vec::new(),
            at: 0,
            said,
            stop,
        })
    }

    /// How the program failed, if it did; waits for its end. Ask only at the end of its output.
    pub fn failure(&mut self) -> std::result::Result<Option<String>, PosesError> {
        let status = loop {
            if let Some(status) = self.running.ended(&self.call)? {
                break status;
            }
            if (self.stop)() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        if status.success() {
            return Ok(None);
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        let last = said
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty());
        Ok(Some(format!(
            "{status}: {}",
            last.unwrap_or("it does not say why")
        )))
    }
}

fn forward(mut output: impl Read, sender: &SyncSender<Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; 1 << 18];
        let read = output.read(&mut piece).map(|count| {
            piece.truncate(count);
            piece
        });
        let over = !matches!(&read, Ok(piece) if !piece.is_empty());
        if sender.send(read).is_err() || over {
            return;
        }
    }
}

impl BufRead for Pipe<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        while self.at >= self.piece.len() {
            if (self.stop)() {
                return Err(Error::other("stopped"));
            }
            match self.pieces.recv_timeout(Duration::from_millis(50)) {
                Ok(piece) => {
                    (self.piece, self.at) = (piece?, 0);
                    if self.piece.is_empty() {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(self.piece.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Pipe<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}
