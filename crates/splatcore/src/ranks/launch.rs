//! Starts the ranks of this machine: this process is rank 0, each other card gets a process with
//! the same arguments.

use super::voice::pass_on;
use super::world::World;
use anyhow::{Context, Result, bail};
use splatcore_core::backend::Ranks;
use splatcore_cuda::device::driver::DriverInfo;
use std::env;
use std::fmt;
use std::io::{BufReader, Read, stderr};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Says that another process has started this one for `--cards`.
const CHILD_VARIABLE: &str = "SPLATCORE_STARTED_AS_RANK";

/// What `--cards` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cards {
    /// Every card of the machine.
    All,
    /// The first so many.
    Count(usize),
}

impl FromStr for Cards {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(count)) if count > 0 => Ok(Self::Count(count)),
            _ => Err(format!(
                "'{text}' is not a number of cards; write 2, 4, ... or all"
            )),
        }
    }
}

impl fmt::Display for Cards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Count(count) => count.fmt(f),
        }
    }
}

impl Cards {
    /// How many of the machine's cards these are.
    ///
    /// # Errors
    /// If there are not so many.
    pub fn count(self, info: &DriverInfo) -> Result<usize> {
        match (self, info.cards.len()) {
            (_, 0) => bail!("--cards: the NVIDIA driver sees no card; check nvidia-smi"),
            (Self::All, known) => Ok(known),
            (Self::Count(count), known) if count <= known => Ok(count),
            (Self::Count(count), known) => bail!(
                "--cards {count}: the NVIDIA driver sees {known}; `splatcore doctor` names them, \
                 and CUDA_VISIBLE_DEVICES hides cards"
            ),
        }
    }
}

/// Whether another process has started this one for `--cards`.
pub fn is_child() -> bool {
    env::var_os(CHILD_VARIABLE).is_some()
}

/// How long a rank may take to end.
const ENDING: Duration = Duration::from_secs(5);

/// The processes of the other ranks. They end when this one does: their connection to it breaks.
pub struct Children(Mutex<Vec<Child>>);

impl Children {
    fn all(&self) -> MutexGuard<'_, Vec<Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rank of one that has ended.
    pub fn ended(&self) -> Option<usize> {
        let mut all = self.all();
        let ended = |child: &mut Child| matches!(child.try_wait(), Ok(Some(_)));
        all.iter_mut().position(ended).map(|k| k + 1)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        let until = Instant::now() + ENDING;
        for child in self.all().iter_mut() {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a process says.
type Lines = Box<dyn Read + Send>;

/// What starts this program once more, with the same arguments.
pub fn this_program() -> Result<Command> {
    let mut command = Command::new(env::current_exe().context("where this program lies")?);
    command.args(env::args_os().skip(1));
    Ok(command)
}

/// Starts the other ranks.
pub fn start(count: usize) -> Result<(World, Children)> {
    // A port that is free now; rank 0 listens there in a moment.
    let port = TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .context("a port for the ranks to meet at")?
        .port();
    let mut children = Vec::new();
    for rank in 1..count {
        let mut command = this_program()?;
        command
            .env(CHILD_VARIABLE, "1")
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", rank.to_string())
            .env("WORLD_SIZE", count.to_string())
            .env("MASTER_ADDR", "127.0.0.1")
            .env("MASTER_PORT", port.to_string())
            .env_remove("TORCHELASTIC_USE_AGENT_STORE")
            .env_remove("SPLATCORE_PORT")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C goes to rank 0 alone, which tells the others.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().context("another rank does not start")?;
        // NCCL says on stdout what it is asked to say.
        let said = [
            child.stdout.take().map(|lines| Box::new(lines) as Lines),
            child.stderr.take().map(|lines| Box::new(lines) as Lines),
        ];
        for lines in said.into_iter().flatten() {
            thread::spawn(move || pass_on(rank, BufReader::new(lines), &mut stderr()));
        }
        children.push(child);
    }
    let world = World {
        ranks: Ranks::of(0, count),
        card: 0,
        host: "127.0.0.1".into(),
        port,
        launcher: "--cards",
    };
    Ok((world, Children(Mutex::new(children))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_counted() {
        let info = |count| DriverInfo {
            version: 13_000,
            cards: vec![("H100".into(), 90, 1 << 36); count],
        };
        let count = |text: &str, known| {
            let cards: Cards = text.parse().map_err(|error: String| error)?;
            cards.count(&info(known)).map_err(|error| error.to_string())
        };
        assert_eq!(count("all", 4), Ok(4));
        assert_eq!(count("2", 4), Ok(2));
        assert!(count("3", 2).unwrap_err().contains("sees 2"));
        assert!(count("all", 0).unwrap_err().contains("sees no card"));
        for wrong in ["0", "-1", "many", "", "1.5"] {
            assert!(
                count(wrong, 4)
                    .unwrap_err()
                    .contains("not a number of cards")
            );
        }
    }
}
