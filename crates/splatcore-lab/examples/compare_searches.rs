//! Compares the lab's search strategies with each other and with Kernel Tuner's.
//!
//! Usage:
//!
//! ```text
//! compare_searches synthesize FOLDER SEED...
//! compare_searches replay [OPTIONS] CACHE...
//!   --seeds N          runs for each strategy (30)
//!   --tries N          most evaluations for each run (200)
//!   --only NAME,NAME   strategies (all)
//!   --peers FILE       runs of Kernel Tuner, from scripts/compare-kernel-tuner
//!   --out FILE         gets all scores and curves as JSON
//! ```
//!
//! `synthesize` writes a cache file in Kernel Tuner's format for each family of synthetic spaces
//! and each seed, and the same as T4. `replay` runs the strategies on cache files and prints a
//! table.

use splatcore_lab::search::compare::{Peers, compare, table};
use splatcore_lab::search::recorded::Recorded;
use splatcore_lab::search::strategy::Strategy;
use splatcore_lab::search::synthetic::Family;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((command, rest)) if command == "synthesize" => synthesize(rest),
        Some((command, rest)) if command == "replay" => replay(rest),
        _ => Err("first argument: synthesize or replay; see the head of this file".into()),
    }
}

fn synthesize(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (folder, seeds) = arguments
        .split_first()
        .ok_or("synthesize needs FOLDER SEED...")?;
    std::fs::create_dir_all(folder)?;
    for seed in seeds {
        for family in Family::ALL {
            let recorded = family.record(seed.parse()?);
            let path = Path::new(folder).join(format!("{}.json", recorded.kernel));
            std::fs::write(&path, recorded.to_cache()?)?;
            std::fs::write(path.with_extension("t4.json"), recorded.to_t4()?)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

fn replay(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let mut arguments = arguments.iter();
    let (mut seeds, mut tries, mut peers, mut out) = (30, 200, Peers::default(), None);
    let mut names: Vec<String> = Strategy::NAMES.map(String::from).to_vec();
    let mut caches = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--seeds" => seeds = value()?.parse()?,
            "--tries" => tries = value()?.parse()?,
            "--only" => names = value()?.split(',').map(String::from).collect(),
            "--peers" => peers = serde_json::from_str(&std::fs::read_to_string(value()?)?)?,
            "--out" => out = Some(value()?),
            _ => caches.push(argument),
        }
    }
    let named = |name: &String| {
        let strategy = Strategy::named(name);
        Ok((
            name.clone(),
            strategy.ok_or(format!("no strategy is called {name}"))?,
        ))
    };
    let strategies: Result<Vec<_>, String> = names.iter().map(named).collect();
    let strategies = strategies?;
    let mut comparisons = Vec::new();
    for cache in caches {
        let recorded = Recorded::read_cache(&std::fs::read_to_string(cache)?)?;
        comparisons.push(compare(&recorded, &strategies, seeds, tries, &peers)?);
    }
    print!("{}", table(&comparisons));
    if let Some(out) = out {
        std::fs::write(out, serde_json::to_string(&comparisons)?)?;
    }
    Ok(())
}
