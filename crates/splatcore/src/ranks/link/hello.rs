//! Who a rank is, as it says to rank 0, and why rank 0 refuses it.

use super::super::world::World;
use crate::program;
use serde::{Deserialize, Serialize};
use splatcore_cuda::programs;
use std::env;

/// With this variable, set to 1, NCCL lets ranks share a card.
const SHARED_CARDS: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// Who a rank is. Ranks of other versions may lack what has a default, or have more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// splatcore's version.
    pub version: String,
    /// The commit that it was built from, where that is known.
    #[serde(default)]
    pub commit: Option<String>,
    /// A number of the kernels' texts.
    #[serde(default)]
    pub kernels: String,
    /// Its number.
    pub rank: usize,
    /// How many ranks it thinks that there are.
    pub count: usize,
    /// Its card among those of its machine.
    pub card: usize,
    /// Which card of the world that is, if the driver says.
    #[serde(default)]
    pub identity: Option<String>,
    /// Its card may be another rank's too.
    #[serde(default)]
    pub shares_card: bool,
    /// Its machine.
    pub host: String,
    /// Its process there.
    pub process: u32,
    /// All settings, line by line.
    pub settings: String,
}

impl Hello {
    /// This process as a rank with these settings; `identity` is that of its card.
    pub fn of(world: &World, settings: String, identity: Option<String>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            commit: program::commit().map(str::to_owned),
            kernels: programs::texts(),
            rank: world.ranks.rank,
            count: world.ranks.count,
            card: world.card,
            identity,
            shares_card: env::var(SHARED_CARDS).is_ok_and(|value| value == "1"),
            host: host_name(),
            process: std::process::id(),
            settings,
        }
    }

    /// Its number, where its card is, and its process.
    pub fn described(&self) -> String {
        let Self {
            rank,
            host,
            process,
            card,
            ..
        } = self;
        format!("rank {rank} (card {card} of {host}, process {process})")
    }

    /// Why another rank does not belong to those of this one, which is rank 0.
    pub fn refuses(&self, other: &Self) -> Option<String> {
        let who = other.described();
        if let Some(problem) = self.another_build(other) {
            return Some(format!("{who} {problem}"));
        }
        if self.count != other.count || other.rank == 0 || other.rank >= self.count {
            return Some(format!(
                "{who} is one of {}, and rank 0 waits for {}",
                other.count, self.count
            ));
        }
        if self.settings != other.settings {
            let lines = self.settings.lines().zip(other.settings.lines());
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

    /// How another rank's program differs from that of rank 0.
    fn another_build(&self, other: &Self) -> Option<String> {
        if self.version != other.version {
            return Some(format!(
                "is splatcore {}, rank 0 is {}; all ranks need one version",
                other.version, self.version
            ));
        }
        if let (Some(own), Some(commit)) = (&self.commit, &other.commit)
            && own != commit
        {
            return Some(format!(
                "was built from commit {commit}, rank 0 from {own}; all ranks need one build"
            ));
        }
        if self.kernels != other.kernels {
            return Some(
                "has kernels other than those of rank 0; all ranks need one build, and with \
                 SPLATCORE_KERNELS the same files"
                    .into(),
            );
        }
        None
    }

    /// Why two ranks cannot train together if they have one card between them.
    pub fn shares_with(&self, other: &Self) -> Option<String> {
        let card = self.identity.as_ref()?;
        if other.identity.as_ref() != Some(card) || (self.shares_card && other.shares_card) {
            return None;
        }
        Some(format!(
            "{} and {} are on one card ({card}): start no more ranks than there are cards, and \
             give each its own by LOCAL_RANK or CUDA_VISIBLE_DEVICES; {SHARED_CARDS}=1 at all \
             ranks lets NCCL try it all the same",
            self.described(),
            other.described()
        ))
    }
}

/// What this machine is called.
fn host_name() -> String {
    #[cfg(unix)]
    return rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".into())
}
