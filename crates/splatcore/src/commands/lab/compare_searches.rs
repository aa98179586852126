//! `splatcore lab compare-searches`: strategies of the search, replayed over recorded spaces.

use crate::output::{self, WrongUsage};
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use splatcore_lab::search::compare::{Comparison, Peers, compare, table};
use splatcore_lab::search::synthetic::Family;
use splatcore_lab::search::{Recorded, Strategy};
use std::fs;
use std::path::{Path, PathBuf};

/// Compare the search's strategies on recorded spaces, at equal numbers of evaluations.
///
/// A recorded space is a cache file of Kernel Tuner that holds every point, failures included, as
/// its simulation mode needs it. The score of a strategy is 0 for random search and 1 for the
/// optimum at the first try. No card is needed.
#[derive(clap::Args)]
pub struct Args {
    /// Cache files of Kernel Tuner
    caches: Vec<PathBuf>,
    /// Strategies to compare, separated by commas [all]
    #[arg(long = "strategy", value_name = "NAME,NAME", value_delimiter = ',')]
    strategies: Vec<Strategy>,
    /// Runs of each strategy, each with another seed
    #[arg(long, value_name = "N", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Most evaluations of a run
    #[arg(long, value_name = "N", default_value_t = 200,
          value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Runs of Kernel Tuner's strategies on the same files, from scripts/compare-kernel-tuner
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// Write all scores and curves as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write synthetic spaces to this folder, as cache files and in the format T4, and compare on
    /// them too
    #[arg(long, value_name = "FOLDER")]
    synthetic: Option<PathBuf>,
    /// Synthetic spaces of each family, with seeds counted from 0
    #[arg(long, value_name = "N", default_value_t = 1, requires = "synthetic")]
    spaces: u64,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    if let Some(output) = &args.output {
        output::check_file_writable(output, "-o")?;
    }
    let mut caches = args.caches.clone();
    if let Some(folder) = &args.synthetic {
        caches.extend(synthesize(folder, args.spaces)?);
    }
    if caches.is_empty() {
        bail!(WrongUsage(
            "give cache files of Kernel Tuner, or --synthetic FOLDER".into()
        ));
    }
    let spaces = caches
        .iter()
        .map(|path| read(path))
        .collect::<Result<Vec<_>>>()?;
    let mut kernels: Vec<_> = spaces.iter().map(|space| &space.kernel).collect();
    kernels.sort_unstable();
    if let Some(pair) = kernels.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "two cache files are of the kernel {}; give one of them",
            pair[0]
        );
    }
    let peers = match &args.peers {
        Some(path) => peers(path, &spaces)?,
        None => Peers::default(),
    };
    let strategies = match args.strategies.is_empty() {
        true => Strategy::all().to_vec(),
        false => args.strategies.clone(),
    };
    let labelled: Vec<_> = strategies
        .into_iter()
        .map(|strategy| (strategy.name().to_owned(), strategy))
        .collect();
    let comparisons = spaces
        .par_iter()
        .zip(&caches)
        .map(|(space, path)| {
            compare(space, &labelled, args.seeds, args.tries as usize, &peers)
                .with_context(|| path.display().to_string())
        })
        .collect::<Result<Vec<Comparison>>>()?;
    if let Some(output) = &args.output {
        output::write_json(output, &comparisons)?;
    }
    output::print(table(&comparisons).trim_end())
}

/// Reads a recorded space.
pub fn read(path: &Path) -> Result<Recorded> {
    let said = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(said)?;
    Recorded::read_cache(&text).with_context(said)
}

/// The runs of another program; at least one must be of a space at hand.
fn peers(path: &Path, spaces: &[Recorded]) -> Result<Peers> {
    let said = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(said)?;
    let peers: Peers = serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: no file of scripts/compare-kernel-tuner",
            path.display()
        )
    })?;
    if !spaces
        .iter()
        .any(|space| peers.runs.contains_key(&space.kernel))
    {
        bail!(
            "{}: none of its runs is of a kernel of the cache files; run \
             scripts/compare-kernel-tuner on them",
            path.display()
        );
    }
    Ok(peers)
}

/// Writes every family's spaces; returns the cache files.
fn synthesize(folder: &Path, seeds: u64) -> Result<Vec<PathBuf>> {
    let said = || folder.display().to_string();
    fs::create_dir_all(folder).with_context(said)?;
    let mut caches = Vec::new();
    for seed in 0..seeds {
        for family in Family::ALL {
            let recorded = family.record(seed);
            let path = folder.join(format!("{}.json", recorded.kernel));
            fs::write(&path, recorded.to_cache()?).with_context(said)?;
            fs::write(path.with_extension("t4.json"), recorded.to_t4()?).with_context(said)?;
            caches.push(path);
        }
    }
    Ok(caches)
}
