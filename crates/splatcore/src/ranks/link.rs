//! The connections of rank 0 with every other rank. All of them are watched: a rank that ends, or
//! is silent for [`SILENCE`], ends all others, whose cards would wait for it for ever.

use super::frames::{self, Frame, Kind};
use super::told::Told;
use super::world::World;
use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::backend::Ranks;
use splatcore_cuda::peers::nccl::leave;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A rank that says nothing for so long is taken for dead.
const SILENCE: Duration = Duration::from_secs(8);
/// How often ranks say that they live.
const BEAT: Duration = Duration::from_secs(1);

/// Who a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hello {
    version: String,
    rank: usize,
    count: usize,
    card: usize,
    host: String,
    process: u32,
    settings: String,
}

impl Hello {
    fn described(&self) -> String {
        let Self {
            rank,
            host,
            process,
            card,
            ..
        } = self;
        format!("rank {rank} (card {card} of {host}, process {process})")
    }
}

/// A connection.
struct Other {
    stream: TcpStream,
    /// Whose it is.
    name: String,
    /// Milliseconds after the start at which something last came, and the step it said.
    heard_at: AtomicU64,
    step: AtomicU32,
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
    start: Instant,
    silence: Duration,
    resume_command: String,
    end: End,
}

impl Link {
    /// Meets the other ranks, which have these settings too.
    ///
    /// # Errors
    /// If they do not come in time, or are not what they should be.
    pub fn meet(
        world: &World,
        settings: &str,
        resume_command: &str,
        (deadline, ended): (Duration, &dyn Fn() -> Option<usize>),
    ) -> Result<Arc<Self>> {
        let quits = |message: &str| {
            // Who started this rank may be gone, and its end of the pipe with it.
            let _ = writeln!(io::stderr(), "error: {message}");
            leave(1);
        };
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION").into(),
            rank: world.ranks.rank,
            count: world.ranks.count,
            card: world.card,
            host: host_name(),
            process: std::process::id(),
            settings: settings.into(),
        };
        Self::meet_as(
            world,
            &hello,
            resume_command,
            ([deadline, SILENCE], ended),
            Box::new(quits),
        )
    }

    fn meet_as(
        world: &World,
        hello: &Hello,
        resume_command: &str,
        ([deadline, silence], ended): ([Duration; 2], &dyn Fn() -> Option<usize>),
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
            let (sender, receiver) = mpsc::channel();
            readers.push((stream.try_clone()?, sender));
            others.push(Other {
                stream,
                name,
                heard_at: AtomicU64::new(0),
                step: AtomicU32::new(0),
                frames: Mutex::new(receiver),
            });
        }
        let link = Arc::new(Self {
            ranks: world.ranks,
            others,
            step: AtomicU32::new(0),
            is_done: AtomicBool::new(false),
            start,
            silence,
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
                        Kind::Alive => other.step.store(step_of(&frame), Ordering::Relaxed),
                        Kind::Done => return,
                        Kind::Failed => return self.quit(&frame.text()),
                        _ => drop(sender.send(frame)),
                    }
                }
                Ok(None) | Err(_) if self.is_done.load(Ordering::SeqCst) => return,
                Ok(None) | Err(_) => return self.quit(&self.gone(other, "ended")),
            }
        }
    }

    /// Says that this rank lives, and ends it if another one is silent.
    fn watch(&self) {
        while !self.is_done.load(Ordering::SeqCst) {
            for other in &self.others {
                let step = self.step.load(Ordering::Relaxed).to_le_bytes();
                // Who does not hear it is found by its own silence.
                let _ = frames::write(&other.stream, Kind::Alive, &step);
                let heard = Duration::from_millis(other.heard_at.load(Ordering::Relaxed));
                let silent = self.start.elapsed().saturating_sub(heard);
                if silent > self.silence && !self.is_done.load(Ordering::SeqCst) {
                    let what = format!("has said nothing for {} s", silent.as_secs());
                    return self.quit(&self.gone(other, &what));
                }
            }
            thread::sleep(BEAT.min(self.silence / 4));
        }
    }

    fn gone(&self, other: &Other, what: &str) -> String {
        let step = other
            .step
            .load(Ordering::Relaxed)
            .max(self.step.load(Ordering::Relaxed));
        format!(
            "{} {what} at about step {step}; its own message says why. The last checkpoint is \
             kept, go on with: {}",
            other.name, self.resume_command
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

    fn hear(&self, other: &Other, kind: Kind) -> Result<Frame> {
        let frames = other.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = frames.recv().map_err(|_| anyhow!("{} ended", other.name))?;
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
            frames::write(&self.others[0].stream, Kind::Same, value.as_bytes())?;
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
                frames::write(&other.stream, T::KIND, &content)
                    .with_context(|| format!("{} is gone", other.name))?;
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

    /// Nobody needs this rank any more.
    pub fn done(&self) {
        self.is_done.store(true, Ordering::SeqCst);
        self.tell_all(Kind::Done, &[]);
    }

    /// Tells the others why this rank ends.
    pub fn failed(&self, error: &str) {
        if !self.is_done.swap(true, Ordering::SeqCst) {
            let rank = self.ranks.rank;
            self.tell_all(Kind::Failed, format!("rank {rank}: {error}").as_bytes());
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

fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".into())
}

/// Rank 0 waits for all others, unless it hears that one of them has ended.
fn gather(
    world: &World,
    own: &Hello,
    (deadline, ended): (Duration, &dyn Fn() -> Option<usize>),
) -> Result<Vec<(TcpStream, String)>> {
    let (count, port) = (world.ranks.count, world.port);
    let any = match world.host.as_str() {
        "127.0.0.1" | "localhost" => "127.0.0.1",
        _ => "0.0.0.0",
    };
    let listener = TcpListener::bind((any, port)).with_context(|| {
        format!(
            "{}: port {port} cannot be had, at which the ranks meet; SPLATCORE_PORT names another",
            world.launcher
        )
    })?;
    listener.set_nonblocking(true)?;
    let until = Instant::now() + deadline;
    let mut found: Vec<Option<(TcpStream, String)>> = (1..count).map(|_| None).collect();
    while found.iter().any(Option::is_none) {
        if Instant::now() >= until {
            let missing = (1..count).filter(|&rank| found[rank - 1].is_none());
            let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
            let problem = format!(
                "{}: of {count} ranks {} did not come within {} s",
                world.launcher,
                missing.join(", "),
                deadline.as_secs()
            );
            return Err(refused(&found, problem));
        }
        if let Some(rank) = ended() {
            let problem = format!("rank {rank} ended at the start; its own message says why");
            return Err(refused(&found, problem));
        }
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let Some(hello) = greeted(&stream, until) else {
            // Not a rank.
            continue;
        };
        if let Some(problem) = differs(own, &hello) {
            let _ = frames::write(&stream, Kind::Failed, problem.as_bytes());
            return Err(refused(&found, problem));
        }
        let place = &mut found[hello.rank - 1];
        if place.is_some() {
            let problem = format!("two processes say that they are rank {}", hello.rank);
            let _ = frames::write(&stream, Kind::Failed, problem.as_bytes());
            return Err(refused(&found, problem));
        }
        *place = Some((stream, hello.described()));
    }
    let found: Vec<_> = found.into_iter().flatten().collect();
    for (stream, _) in &found {
        frames::write(stream, Kind::Agreed, own.described().as_bytes())?;
    }
    Ok(found)
}

/// Tells the ranks that came why nothing comes of it.
fn refused(found: &[Option<(TcpStream, String)>], problem: String) -> anyhow::Error {
    for (stream, _) in found.iter().flatten() {
        let _ = frames::write(stream, Kind::Failed, problem.as_bytes());
    }
    anyhow!(problem)
}

fn greeted(stream: &TcpStream, until: Instant) -> Option<Hello> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    let left = until.saturating_duration_since(Instant::now());
    let patience = left.clamp(Duration::from_millis(10), Duration::from_secs(2));
    stream.set_read_timeout(Some(patience)).ok()?;
    let frame = frames::read(&mut &*stream).ok()??;
    let hello: Hello = serde_json::from_slice(&frame.content).ok()?;
    (frame.kind == Kind::Hello).then_some(hello)
}

/// Why a rank does not belong to this one's.
fn differs(own: &Hello, other: &Hello) -> Option<String> {
    let who = other.described();
    if own.version != other.version {
        return Some(format!(
            "{who} is splatcore {}, rank 0 is {}; all ranks need one version",
            other.version, own.version
        ));
    }
    if own.count != other.count || other.rank == 0 || other.rank >= own.count {
        return Some(format!(
            "{who} is one of {}, and rank 0 waits for {}",
            other.count, own.count
        ));
    }
    if own.settings != other.settings {
        let lines = own.settings.lines().zip(other.settings.lines());
        let mut differing = lines.filter(|(own, other)| own != other);
        let (ours, theirs) = differing.next().unwrap_or(("more lines", "fewer"));
        return Some(format!(
            "{who} has other settings: {} where rank 0 has {}",
            theirs.trim(),
            ours.trim()
        ));
    }
    None
}

/// Another rank calls rank 0.
fn call(world: &World, own: &Hello, deadline: Duration) -> Result<(TcpStream, String)> {
    let until = Instant::now() + deadline;
    let place = format!("{}:{}", world.host, world.port);
    let stream = loop {
        let address = place.to_socket_addrs().ok().and_then(|mut all| all.next());
        let connected = address.map(|address| TcpStream::connect_timeout(&address, BEAT));
        match connected {
            Some(Ok(stream)) => break stream,
            _ if Instant::now() >= until => bail!(
                "{}: rank 0 was not found at {place} within {} s; MASTER_ADDR and MASTER_PORT say \
                 where it is",
                world.launcher,
                deadline.as_secs()
            ),
            _ => thread::sleep(Duration::from_millis(50)),
        }
    };
    stream.set_nodelay(true)?;
    frames::write(&stream, Kind::Hello, &serde_json::to_vec(own)?)?;
    stream.set_read_timeout(Some(until.saturating_duration_since(Instant::now()) + BEAT))?;
    let answer = frames::read(&mut &stream).context("rank 0 does not answer")?;
    match answer {
        Some(frame) if frame.kind == Kind::Agreed => Ok((stream, frame.text())),
        Some(frame) => bail!("rank 0 refuses this rank: {}", frame.text()),
        None => bail!("rank 0 ended"),
    }
}

#[cfg(test)]
mod tests;
