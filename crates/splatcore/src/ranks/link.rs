//! The connections of rank 0 with every other rank. All of them are watched: a rank that ends, or
//! is silent for [`SILENCE`], ends all others, whose cards would wait for it for ever. So do ranks
//! that wait for each other for [`STANDSTILL`].

mod hello;
mod meeting;
mod waiting;

use super::account::Account;
use super::frames::{self, Frame, Kind};
use super::lowered;
use super::told::Told;
use super::world::World;
use anyhow::{Result, anyhow, bail};
pub use hello::Hello;
use meeting::{call, gather};
use splatcore_core::backend::Ranks;
use splatcore_cuda::peers::nccl::leave;
use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use waiting::{Standstill, Waiting};

/// A rank that says nothing for so long is taken for dead.
const SILENCE: Duration = Duration::from_secs(8);
/// How often ranks say that they live.
const BEAT: Duration = Duration::from_secs(1);
/// When all ranks have waited for each other for so long, none will go on: a card does in this time
/// whatever may be in its queue, 32 steps of some seconds each.
const STANDSTILL: Duration = Duration::from_secs(300);

/// A connection.
struct Other {
    stream: TcpStream,
    /// Whose it is.
    name: String,
    /// Milliseconds after the start at which something last came, and the step it said.
    heard_at: AtomicU64,
    step: AtomicU32,
    /// It waits for another rank.
    waits: AtomicBool,
    /// Nobody needs it any more.
    is_done: AtomicBool,
    /// What it said, but for signs of life.
    frames: Mutex<mpsc::Receiver<Frame>>,
}

/// What ends the process; tests only note it.
type End = Box<dyn Fn(&str) + Send + Sync>;

/// This rank's connections.
pub struct Link {
    ranks: Ranks,
    /// Rank 0 has all others, the others have rank 0.
    others: Vec<Other>,
    step: AtomicU32,
    is_done: AtomicBool,
    waiting: Arc<Waiting>,
    start: Instant,
    /// [`SILENCE`] and [`STANDSTILL`]; tests have less patience.
    patience: [Duration; 2],
    resume_command: String,
    end: End,
}

impl Link {
    /// Meets the other ranks, of which this one is `hello`.
    ///
    /// # Errors
    /// If they do not come in time, or are not what they should be.
    pub fn meet(
        world: &World,
        hello: &Hello,
        resume_command: &str,
        (deadline, ended): (Duration, &dyn Fn() -> Option<usize>),
    ) -> Result<Arc<Self>> {
        let quits = |message: &str| {
            // Who started this rank may be gone, and its end of the pipe with it.
            let _ = writeln!(io::stderr(), "error: {message}");
            lowered::raise();
            leave(1);
        };
        Self::meet_as(
            world,
            hello,
            resume_command,
            ([deadline, SILENCE, STANDSTILL], ended),
            Box::new(quits),
        )
    }

    fn meet_as(
        world: &World,
        hello: &Hello,
        resume_command: &str,
        ([deadline, silence, standstill], ended): ([Duration; 3], &dyn Fn() -> Option<usize>),
        end: End,
    ) -> Result<Arc<Self>> {
        let streams = match world.ranks.rank {
            0 => gather(world, hello, (deadline, ended))?,
            _ => vec![call(world, hello, deadline)?],
        };
        let start = Instant::now();
        let (mut others, mut readers) = (Vec::new(), Vec::new());
        for (stream, name) in streams {
            stream.set_read_timeout(None)?;
            // Who does not read is found by its own silence, for which this one must look.
            stream.set_write_timeout(Some(silence))?;
            let (sender, receiver) = mpsc::channel();
            readers.push((stream.try_clone()?, sender));
            others.push(Other {
                stream,
                name,
                heard_at: AtomicU64::new(0),
                step: AtomicU32::new(0),
                waits: AtomicBool::new(false),
                is_done: AtomicBool::new(false),
                frames: Mutex::new(receiver),
            });
        }
        let link = Arc::new(Self {
            ranks: world.ranks,
            others,
            step: AtomicU32::new(0),
            is_done: AtomicBool::new(false),
            waiting: Arc::default(),
            start,
            patience: [silence, standstill],
            resume_command: resume_command.into(),
            end,
        });
        for (k, (stream, sender)) in readers.into_iter().enumerate() {
            let link = Arc::clone(&link);
            thread::spawn(move || link.listen(k, stream, &sender));
        }
        let watcher = Arc::clone(&link);
        thread::spawn(move || watcher.watch());
        Ok(link)
    }

    /// Hears what another rank says until it ends.
    fn listen(&self, k: usize, stream: TcpStream, sender: &mpsc::Sender<Frame>) {
        let other = &self.others[k];
        let mut stream = BufReader::new(stream);
        loop {
            match frames::read(&mut stream) {
                Ok(Some(frame)) => {
                    let now = self.start.elapsed().as_millis() as u64;
                    other.heard_at.store(now, Ordering::Relaxed);
                    match frame.kind {
                        Kind::Alive => {
                            other.step.store(step_of(&frame), Ordering::Relaxed);
                            let waits = frame.content.get(4).is_some_and(|&waits| waits != 0);
                            other.waits.store(waits, Ordering::Relaxed);
                        }
                        Kind::Done => return other.is_done.store(true, Ordering::SeqCst),
                        Kind::Failed => return self.quit(&frame.text()),
                        _ => drop(sender.send(frame)),
                    }
                }
                Ok(None) | Err(_) if self.is_done.load(Ordering::SeqCst) => return,
                Ok(None) | Err(_) => return self.quit(&self.gone(other, "ended")),
            }
        }
    }

    /// Says that this rank lives, and ends it if another one is silent, or if none goes on.
    fn watch(&self) {
        let [silence, standstill] = self.patience;
        let mut all_wait = Standstill::default();
        while !self.is_done.load(Ordering::SeqCst) {
            for other in &self.others {
                let mut alive = self.step.load(Ordering::Relaxed).to_le_bytes().to_vec();
                alive.push(self.waiting.waits().into());
                // Who does not hear it is found by its own silence.
                let _ = frames::write(&other.stream, Kind::Alive, &alive);
                if let Some(silent) = self.silent(other).filter(|&silent| silent > silence) {
                    let what = format!("has said nothing for {} s", silent.as_secs());
                    return self.quit(&self.gone(other, &what));
                }
            }
            if self.ranks.rank == 0 && self.stands_still(&mut all_wait) > standstill {
                return self.quit(&self.stuck(standstill));
            }
            thread::sleep(BEAT.min(silence / 4));
        }
    }

    /// For how long another rank that is needed has said nothing.
    fn silent(&self, other: &Other) -> Option<Duration> {
        // Rank 0 is the last to be done, and then waits for this one's end.
        let is_done = self.ranks.rank == 0 && other.is_done.load(Ordering::SeqCst);
        let is_needed = !is_done && !self.is_done.load(Ordering::SeqCst);
        let heard = Duration::from_millis(other.heard_at.load(Ordering::Relaxed));
        is_needed.then(|| self.start.elapsed().saturating_sub(heard))
    }

    /// For how long all ranks have waited for each other.
    fn stands_still(&self, all_wait: &mut Standstill) -> Duration {
        let waits = |other: &Other| {
            other.waits.load(Ordering::Relaxed) || other.is_done.load(Ordering::SeqCst)
        };
        let steps = self.others.iter().map(|other| &other.step);
        let steps = steps
            .chain([&self.step])
            .map(|step| step.load(Ordering::Relaxed));
        let they_wait = self.waiting.waits() && self.others.iter().all(waits);
        all_wait.lasts(they_wait, steps.collect())
    }

    fn stuck(&self, standstill: Duration) -> String {
        format!(
            "all ranks have waited for each other for {} s at about step {}: this is a defect of \
             splatcore, or the network between the cards is gone. {}",
            standstill.as_secs(),
            self.step.load(Ordering::Relaxed),
            self.kept()
        )
    }

    /// From now on it is known whether an exchange between the cards is under way, by what says
    /// whether one is that was at an earlier call too; if one failed, this rank ends.
    pub fn watch_exchanges(
        self: &Arc<Self>,
        is_behind: impl Fn() -> Result<bool, String> + Send + 'static,
    ) {
        let link = Arc::clone(self);
        let ends = move |error: &str| link.quit(&format!("{}. {}", link.named(error), link.kept()));
        self.waiting.ask(BEAT, is_behind, ends);
    }

    /// What to do after a failure.
    fn kept(&self) -> String {
        format!(
            "The last checkpoint is kept, go on with: {}",
            self.resume_command
        )
    }

    /// What this rank met, with its name and its step.
    fn named(&self, error: &str) -> String {
        let at = match self.step.load(Ordering::Relaxed) {
            0 => String::new(),
            step => format!(" at about step {step}"),
        };
        format!("rank {}{at}: {error}", self.ranks.rank)
    }

    fn gone(&self, other: &Other, what: &str) -> String {
        let step = other
            .step
            .load(Ordering::Relaxed)
            .max(self.step.load(Ordering::Relaxed));
        format!(
            "{} {what} at about step {step}; its own message says why. {}",
            other.name,
            self.kept()
        )
    }

    /// Ends this process, and through rank 0 all others.
    fn quit(&self, message: &str) {
        if self.is_done.swap(true, Ordering::SeqCst) {
            return;
        }
        self.tell_all(Kind::Failed, message.as_bytes());
        (self.end)(message);
    }

    fn tell_all(&self, kind: Kind, content: &[u8]) {
        for other in &self.others {
            let _ = frames::write(&other.stream, kind, content);
        }
    }

    /// Says something to a rank that must hear it.
    fn tell(&self, other: &Other, kind: Kind, content: &[u8]) -> Result<()> {
        let told = frames::write(&other.stream, kind, content);
        told.map_err(|_| {
            // The thread that hears it ends this process in a moment, and may know more.
            thread::sleep(BEAT);
            let message = self.gone(other, "ended");
            self.quit(&message);
            anyhow!(message)
        })
    }

    fn hear(&self, other: &Other, kind: Kind) -> Result<Frame> {
        let frames = other.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = self.waiting.hearing(|| frames.recv());
        let frame = frame.map_err(|_| anyhow!("{} ended", other.name))?;
        match frame.kind == kind {
            true => Ok(frame),
            false => bail!(
                "{} is out of step: {:?} in place of {kind:?}",
                other.name,
                frame.kind
            ),
        }
    }

    /// What rank 0 gives to all; the others give nothing.
    ///
    /// # Errors
    /// If a rank is gone.
    pub fn share<const N: usize>(&self, own: Option<[u8; N]>) -> Result<[u8; N]> {
        match own {
            Some(own) => {
                self.tell_all(Kind::Shared, &own);
                Ok(own)
            }
            None => {
                let shared = self.hear(&self.others[0], Kind::Shared)?;
                let bytes = shared.content.try_into();
                bytes.map_err(|_| anyhow!("rank 0 gave something else than was wanted"))
            }
        }
    }

    /// Waits until all ranks are here, and makes sure that they have the same value.
    ///
    /// # Errors
    /// On every rank, which one has another value.
    pub fn same(&self, what: &str, value: &str) -> Result<()> {
        if self.ranks.rank > 0 {
            self.tell(&self.others[0], Kind::Same, value.as_bytes())?;
            return self.hear(&self.others[0], Kind::Agreed).map(drop);
        }
        for other in &self.others {
            let theirs = self.hear(other, Kind::Same)?;
            if theirs.content != value.as_bytes() {
                bail!("{} has {what} other than those of rank 0", other.name);
            }
        }
        self.tell_all(Kind::Agreed, &[]);
        Ok(())
    }

    /// What rank 0 decides after a step: gives its own to the others, which hear it.
    ///
    /// # Errors
    /// If a rank is gone, or rank 0 is at another step.
    pub fn decide<T: Told>(&self, step: u32, own: T) -> Result<T> {
        self.step.store(step, Ordering::Relaxed);
        if self.ranks.rank == 0 {
            let content = [&step.to_le_bytes()[..], &own.bytes()].concat();
            for other in &self.others {
                self.tell(other, T::KIND, &content)?;
            }
            return Ok(own);
        }
        let frame = self.hear(&self.others[0], T::KIND)?;
        let theirs = step_of(&frame);
        match theirs == step {
            true => Ok(T::of(frame.content.get(4..).unwrap_or_default())),
            false => bail!("rank 0 is at step {theirs}, this rank at step {step}"),
        }
    }

    /// Gives rank 0 what this rank says of itself.
    pub fn give_account(&self, own: &Account) -> Result<()> {
        self.tell(&self.others[0], Kind::Account, &serde_json::to_vec(own)?)
    }

    /// What the other ranks say of themselves, as far as they say it within [`SILENCE`].
    pub fn accounts(&self) -> Vec<Account> {
        let until = Instant::now() + self.patience[0];
        let account = |other: &Other| {
            let frames = other.frames.lock().unwrap_or_else(PoisonError::into_inner);
            let left = until.saturating_duration_since(Instant::now());
            let frame = frames.recv_timeout(left).ok()?;
            let is_account = frame.kind == Kind::Account;
            serde_json::from_slice(&frame.content)
                .ok()
                .filter(|_| is_account)
        };
        self.others.iter().filter_map(account).collect()
    }

    /// Nobody needs this rank any more.
    pub fn done(&self) {
        self.is_done.store(true, Ordering::SeqCst);
        self.tell_all(Kind::Done, &[]);
    }

    /// Tells the others why this rank ends.
    pub fn failed(&self, error: &str) {
        if !self.is_done.swap(true, Ordering::SeqCst) {
            self.tell_all(Kind::Failed, self.named(error).as_bytes());
        }
    }
}

fn step_of(frame: &Frame) -> u32 {
    let bytes = frame
        .content
        .get(..4)
        .and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests;
