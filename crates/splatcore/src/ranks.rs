//! `train` by several processes with a card each: *ranks*. Rank 0 leads: it writes, shows and
//! measures, and decides when to stop; the others follow.
//!
//! | question | file |
//! | --- | --- |
//! | which rank is this, and where does it meet the others | `ranks/world.rs`, from the launcher's variables |
//! | how do the ranks of one machine start without a launcher | `ranks/launch.rs` |
//! | what do ranks tell each other, and what if one is gone | `ranks/link.rs`, `ranks/link/`, `ranks/{frames,told}.rs` |
//! | what does each say of itself in the end | `ranks/account.rs` |
//! | what do others than rank 0 print | `ranks/voice.rs`, `ranks/lowered.rs` |
//!
//! Data of the training goes from card to card (`splatcore_cuda::peers`); what goes here is small.

mod account;
mod frames;
mod launch;
mod link;
#[cfg(unix)]
mod lowered;
/// Ranks need NVIDIA's NCCL, which is not for other systems.
#[cfg(not(unix))]
mod lowered {
    pub struct Raised;
    pub fn has_read() -> bool {
        false
    }
    pub fn lower(_: usize) -> anyhow::Result<()> {
        Ok(())
    }
    pub fn raise() {}
}
mod told;
mod voice;
mod world;

pub use account::{Account, in_a_line};
pub use launch::Cards;
pub use lowered::{Raised, has_read};

use crate::output::{WrongUsage, counted};
use anyhow::{Result, anyhow, bail};
use launch::Children;
use link::{Hello, Link};
use splatcore_core::backend::Ranks;
use splatcore_cuda::device::driver::{driver_info, identity};
use splatcore_cuda::device::{Allocations, Limited};
use splatcore_cuda::peers::nccl::{Id, leave, nccl};
use splatcore_cuda::{CudaBackend, Options};
use splatcore_train::config::BackendChoice;
use splatcore_train::{Decision, End, ResolvedConfig, Together, TrainError, Trainer};
use std::env;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;
use world::World;

/// The card of a rank. A launcher that shows each rank one card numbers it 0.
fn visible_card(world: &World) -> usize {
    match driver_info() {
        Ok(info) if info.cards.len() == 1 => 0,
        _ => world.card,
    }
}

/// With this variable ranks of `--backend cpu` are *replicas*: each takes every step whole, and
/// they exchange what ranks say to each other alone. For tests of that where there is no card.
const REPLICAS: &str = "SPLATCORE_REPLICAS";

fn are_replicas(config: &ResolvedConfig) -> bool {
    config.compute.backend == BackendChoice::Cpu && env::var_os(REPLICAS).is_some()
}

/// Refuses what several ranks cannot do.
fn check(config: &ResolvedConfig) -> Result<()> {
    if are_replicas(config) {
        return Ok(());
    }
    if config.compute.backend == BackendChoice::Cpu {
        bail!(WrongUsage(
            "several ranks need a card each, and --backend cpu uses none; leave one of them out"
                .into()
        ));
    }
    let found = nccl().map(drop);
    found.map_err(|error| anyhow!("several cards: {error}"))
}

/// How long ranks wait for each other at the start.
const MEETING: Duration = Duration::from_secs(60);
/// How long a rank that failed may take to say why.
const ENDING: Duration = Duration::from_secs(2);

/// This process among others that train the same scene.
pub struct Rank {
    /// Which one, and how many there are.
    pub ranks: Ranks,
    /// The card.
    pub card: usize,
    link: Arc<Link>,
    /// The card's memory, once it is open.
    memory: OnceLock<Arc<Limited>>,
    host: String,
    /// The processes that this one started.
    _children: Option<Children>,
}

impl Rank {
    /// The rank that `--cards` or the launcher's variables make of this process; `None` where there
    /// is one card. If `split_photos`, ranks render a photo together.
    ///
    /// # Errors
    /// If the world is wrong: a variable that makes no sense, no such cards, ranks that do not come
    /// or that were given other settings.
    pub fn meet(
        (cards, split_photos): (Option<Cards>, bool),
        config: &ResolvedConfig,
        resume_command: &str,
    ) -> Result<Option<Self>> {
        let world = World::of_environment()?.filter(|world| world.ranks.count > 1);
        let count = match (&world, cards) {
            (Some(world), Some(_)) if !launch::is_child() => bail!(
                "--cards starts the ranks of this machine, and {} has started them already; leave \
                 --cards out",
                world.launcher
            ),
            (Some(world), _) => world.ranks.count,
            (None, None) => 1,
            (None, Some(Cards::Count(count))) if are_replicas(config) => count,
            (None, Some(cards)) => cards.count(&driver_info().map_err(|e| anyhow!("{e}"))?)?,
        };
        if count == 1 {
            if split_photos {
                eprintln!("--split-photos changes nothing without several cards (--cards)");
            }
            return Ok(None);
        }
        // Before any rank waits for another.
        check(config)?;
        let (mut world, children) = match world {
            Some(world) => {
                if world.ranks.rank > 0 && !launch::is_child() {
                    lowered::lower(world.ranks.rank)?;
                }
                (world, None)
            }
            None => {
                let (world, children) = launch::start(count)?;
                (world, Some(children))
            }
        };
        world.ranks.strips = split_photos;
        let card = visible_card(&world);
        let identity = match are_replicas(config) {
            true => None,
            false => identity(card),
        };
        let settings = format!("{}split-photos = {split_photos}\n", config.to_toml()?);
        let hello = Hello::of(&world, settings, identity);
        let ended = || children.as_ref().and_then(Children::ended);
        let link = Link::meet(&world, &hello, resume_command, (MEETING, &ended))?;
        Ok(Some(Self {
            ranks: world.ranks,
            card,
            link,
            memory: OnceLock::new(),
            host: hello.host,
            _children: children,
        }))
    }

    /// How many there are, if they are replicas.
    pub fn replicas(&self, config: &ResolvedConfig) -> Option<usize> {
        are_replicas(config).then_some(self.ranks.count)
    }

    /// What users should know if a step has so few photos that ranks wait for each other.
    pub fn waiting(&self, photos: u32) -> Option<String> {
        let (photos, count) = (photos as usize, self.ranks.count);
        if photos >= count || self.ranks.strips {
            return None;
        }
        Some(format!(
            "warning: a step shows {}, so {} of {count} cards wait for others: give --batch {} \
             (two photos for each card), or --split-photos",
            counted(photos, "photo"),
            count - photos,
            2 * count
        ))
    }

    /// Says something of this rank that rank 0 does not know.
    pub fn say(&self, text: &str) {
        eprintln!("{}", voice::line(self.ranks.rank, text));
    }

    /// Ends this process as it should end.
    pub fn leave(&self) -> ! {
        lowered::raise();
        std::process::exit(0)
    }

    /// Whether this one writes, shows and measures.
    pub fn leads(&self) -> bool {
        self.ranks.rank == 0
    }

    /// How many ranks run on this machine; all of them where the launcher does not say.
    pub fn of_this_machine(&self) -> usize {
        let said = ["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"].into_iter();
        let said = said.filter_map(|name| std::env::var(name).ok()?.parse().ok());
        said.min()
            .unwrap_or(self.ranks.count)
            .clamp(1, self.ranks.count)
    }

    /// Opens the card together with the other ranks.
    ///
    /// # Errors
    /// If the card cannot be had, or NCCL fails.
    pub fn backend(&self, options: Options) -> Result<CudaBackend> {
        let own = match self.leads() {
            true => Some(nccl().and_then(|nccl| nccl.new_id())),
            false => None,
        };
        let own = own.transpose().map_err(|error| anyhow!("{error}"))?;
        let id = Id(self.link.share(own.map(|Id(bytes)| bytes))?);
        let options = Options {
            device: Some(self.card),
            ..options
        };
        let opened = CudaBackend::open_rank(options, self.ranks, id, MEETING);
        let backend = opened.map_err(|error| anyhow!("{error}"))?;
        if let Some(used) = backend.used() {
            let _ = self.memory.set(Arc::clone(used));
        }
        if let Some(peers) = backend.peers().cloned() {
            let is_behind = move || peers.is_behind().map_err(|error| error.to_string());
            self.link.watch_exchanges(is_behind);
        }
        Ok(backend)
    }

    /// Makes sure that all ranks have the same.
    ///
    /// # Errors
    /// Which rank has another one.
    pub fn same(&self, what: &str, value: &str) -> Result<()> {
        self.link.same(what, value)
    }

    /// What a trainer asks what to do.
    pub fn together(&self) -> Box<dyn Together> {
        Box::new(Deciding {
            rank: self.ranks.rank,
            link: Arc::clone(&self.link),
        })
    }

    /// What this rank says of itself after its last step.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn account(&self, trainer: &mut Trainer) -> Result<Account> {
        let memory = self.memory.get();
        let account = Account {
            rank: self.ranks.rank,
            host: self.host.clone(),
            card: memory.map(|_| self.card),
            card_bytes: memory.map(|memory| memory.peak()),
            card_bytes_in_all: memory.map(|memory| memory.memory().1),
            ..Account::default()
        };
        Ok(account.with(trainer)?)
    }

    /// Gives rank 0 what this rank says of itself. What is lost is not in the metrics.
    pub fn give_account(&self, trainer: &mut Trainer) {
        if let Ok(account) = self.account(trainer) {
            let _ = self.link.give_account(&account);
        }
    }

    /// What all ranks say of themselves, of rank 0, whose own this is.
    pub fn accounts(&self, own: Account) -> Vec<Account> {
        let mut all = vec![own];
        all.extend(self.link.accounts());
        all
    }

    /// The training is over: ranks may end now without being missed.
    pub fn done(&self) {
        self.link.done();
    }

    /// Tells the others why this rank ends, before it waits for anything else.
    pub fn tell(&self, error: &str) {
        self.link.failed(error);
    }

    /// As [`Rank::tell`]; this rank ends soon, whatever it waits for.
    pub fn failed(&self, error: &str) {
        self.tell(error);
        // There is time for the message; the end that the driver wants may never come.
        thread::spawn(|| {
            thread::sleep(ENDING);
            lowered::raise();
            leave(1);
        });
    }
}

/// Tells the other ranks, if there are any, when this one panics: before it frees memory, which
/// would wait for them.
pub struct Panics<'a>(pub Option<&'a Rank>);

impl Drop for Panics<'_> {
    fn drop(&mut self) {
        if let Some(rank) = self.0.filter(|_| thread::panicking()) {
            rank.failed("a panic, of which its own message says more");
        }
    }
}

struct Deciding {
    rank: usize,
    link: Arc<Link>,
}

impl Together for Deciding {
    fn leads(&self) -> bool {
        self.rank == 0
    }

    fn decide(&mut self, step: u32, own: Decision) -> Result<Decision, TrainError> {
        self.link.decide(step, own).map_err(together)
    }

    fn end(&mut self, step: u32, own: End) -> Result<End, TrainError> {
        self.link.decide(step, own).map_err(together)
    }
}

fn together(error: anyhow::Error) -> TrainError {
    TrainError::Together(format!("{error:#}"))
}
