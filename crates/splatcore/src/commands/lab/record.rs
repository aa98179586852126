//! `splatcore lab record`: the times of a whole space.

use super::compare_searches::read;
use super::device::DeviceArgs;
use super::opening::Opening;
use crate::{interrupt, output};
use anyhow::{Context, Result, bail};
use splatcore_data::file::write_bytes;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::Folder;
use splatcore_lab::search::Config;
use splatcore_lab::search::recorded::Failure;
use splatcore_lab::search::recording::{Recording, failure};
use std::path::PathBuf;
use std::time::Instant;

/// Time every point of an experiment's space, as a cache file of Kernel Tuner.
///
/// The space is that of the declared tunables, the marked places and expf in the experiment's
/// files. `lab compare-searches` and Kernel Tuner's simulation mode replay searches on the file. A
/// point's image is compared with the reference, once a scene; no other gate is met. The file is
/// written as times come, and a run that was interrupted goes on with it.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment; its scenes, files and pipeline are used, its journal is not
    folder: PathBuf,
    /// The cache file
    output: PathBuf,
    /// Vary these alone, separated by commas; all others keep their values [all]
    #[arg(long = "vary", value_name = "NAME,NAME", value_delimiter = ',')]
    names: Vec<String>,
    /// Rounds of each point; its time is the median
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Points that are compiled at once and take turns [the processor's cores, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    at_once: Option<u16>,
    /// Begin no more points after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    wall_seconds: f64,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    output::check_file_writable(&args.output, "OUTPUT")?;
    let opening = Opening::new(&args.device)?;
    if !opening.build.is_timed() {
        bail!("times need a card, and kernels run on the emulator here");
    }
    let folder = Folder::open(&args.folder)?;
    if folder.experiment.scenes.search.is_empty() {
        bail!("the experiment has no scene to time on; give one to `lab new` with --scene");
    }
    let mut recording = recording(args, &opening, &folder)?;
    let mut evaluator = opening.evaluator(&folder)?;
    let guard = interrupt::Guard::start_searching()?;
    let start = Instant::now();
    let at_once = args.at_once.map_or_else(cores, usize::from);
    while !guard.stop_requested() && start.elapsed().as_secs_f64() < args.wall_seconds {
        let open = recording.next(at_once);
        if open.is_empty() {
            break;
        }
        let mut configs: Vec<Config> = Vec::new();
        let mut changes = Vec::new();
        for point in open {
            match point.changed {
                Some(changed) => {
                    configs.push(point.config);
                    changes.push(changed);
                }
                None => recording.add(point.config, Err(Failure::Constraints)),
            }
        }
        let times = evaluator.time_together(&changes, args.rounds.into())?;
        for (config, times) in configs.into_iter().zip(times) {
            let milliseconds = |times: Vec<f64>| times.iter().map(|t| 1e3 * t).collect();
            let measured = times.map(milliseconds);
            recording.add(config, measured.map_err(|rejection| failure(&rejection)));
        }
        let text = recording.recorded.to_cache()?;
        write_bytes(&args.output, text.as_bytes())?;
        eprintln!(
            "{} of {} points, {:.0} s",
            recording.recorded.entries.len(),
            recording.count(),
            start.elapsed().as_secs_f64()
        );
    }
    sum_up(&recording)
}

/// The space, with what the file already holds.
fn recording(args: &Args, opening: &Opening, folder: &Folder) -> Result<Recording> {
    let baseline = opening.baseline(&folder.experiment)?;
    let device = opening.build.describe();
    let name = args.output.file_stem().unwrap_or_default();
    let (kernel, seed) = (name.to_string_lossy(), folder.experiment.seed);
    let recording = Recording::new(baseline, &args.names, &kernel, &device, seed);
    let mut recording = recording.map_err(anyhow::Error::msg)?;
    if args.output.exists() {
        let resumed = recording.resume(read(&args.output)?);
        let said = || args.output.display().to_string();
        resumed.map_err(anyhow::Error::msg).with_context(said)?;
    }
    Ok(recording)
}

/// A worker's start is mostly the compiler's.
fn cores() -> usize {
    const MOST: usize = 16;
    std::thread::available_parallelism().map_or(1, |n| n.get().min(MOST))
}

fn sum_up(recording: &Recording) -> Result<()> {
    let entries = &recording.recorded.entries;
    let failed = entries.values().filter(|entry| entry.result.is_err());
    let mut line = format!(
        "{} of {} points, {} without a time",
        entries.len(),
        recording.count(),
        failed.count()
    );
    if let Some(optimum) = recording.recorded.optimum() {
        line += &format!("; the fastest takes {optimum:.4} ms a frame");
    }
    output::print(&line)
}
