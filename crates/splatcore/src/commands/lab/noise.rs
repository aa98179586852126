//! `splatcore lab noise`: how often a verdict is wrong.

use super::check::read;
use super::device::DeviceArgs;
use super::opening::{Opening, Past};
use crate::output;
use anyhow::{Result, bail};
use serde::Serialize;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::Folder;
use splatcore_lab::gates::Ratio;
use splatcore_lab::journal::Series;
use splatcore_lab::summary::rounds;
use splatcore_lab::timing::{Plan, Standing, interval, settle};
use splatcore_lab::{Texts, Verdict};
use std::path::PathBuf;
use std::time::Instant;

/// Time an experiment's baseline against itself, again and again, as a candidate is timed.
///
/// Each comparison has a worker of its own. Says how often the verdict is another than unclear, and
/// how often the same rounds show a planted slow-down, by which the candidate's times are
/// multiplied.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment; its scenes, pipeline and timing are used, its journal is not
    folder: PathBuf,
    /// Comparisons
    #[arg(long, value_name = "N", default_value_t = 20)]
    times: usize,
    /// Begin no comparison after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    wall_seconds: f64,
    /// Compare the kernel files of this folder with the baseline, in place of the baseline itself
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// The slow-down that is planted, percent of a frame
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    planted: f64,
    /// Write every round's times, as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

/// One comparison.
#[derive(Serialize)]
struct Comparison {
    verdict: Verdict,
    /// The verdict of the same rounds with the slow-down.
    planted: Verdict,
    series: Vec<Series>,
}

#[derive(Serialize)]
struct Record {
    device: String,
    version: String,
    kernels: Option<String>,
    planted_percent: f64,
    /// How much processes differ, as the logarithm of a ratio.
    margin: f64,
    comparisons: Vec<Comparison>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let folder = Folder::open(&args.folder)?;
    let opening = Opening::new(&args.device, &folder.experiment)?;
    if opening.build.turns().is_none() {
        bail!("times need a card, and kernels run on the emulator here");
    }
    opening.baseline(&folder.experiment)?;
    let changed = match &args.kernels {
        Some(folder) => read(folder)?,
        None => Texts::new(),
    };
    let plan = &folder.experiment.timing;
    let mut evaluator = opening.evaluator(&Past::of(&folder)?)?;
    let mut record = Record {
        device: opening.build.describe(),
        version: super::toolbox::version(),
        kernels: args.kernels.as_ref().map(|f| f.display().to_string()),
        planted_percent: args.planted,
        margin: evaluator.process_margin()?,
        comparisons: vec![],
    };
    let start = Instant::now();
    while record.comparisons.len() < args.times && start.elapsed().as_secs_f64() < args.wall_seconds
    {
        let (series, verdict) = evaluator.compare(&changed)?;
        let planted = planted(&rounds(&series), args.planted, plan, record.margin);
        let number = record.comparisons.len() + 1;
        println!("{number}: {verdict}; planted: {planted}");
        record.comparisons.push(Comparison {
            verdict,
            planted,
            series,
        });
        if let Some(file) = &args.output {
            output::write_json(file, &record)?;
        }
    }
    sum_up(&record)
}

fn sum_up(record: &Record) -> Result<()> {
    let all = record.comparisons.len();
    let count = |which: &dyn Fn(&Comparison) -> bool| {
        record.comparisons.iter().filter(|one| which(one)).count()
    };
    let different = count(&|one| !matches!(one.verdict, Verdict::Unclear(_)));
    let found = count(&|one| matches!(one.planted, Verdict::Slower(_)));
    // Every round of every comparison.
    let rounds: Vec<f64> = record
        .comparisons
        .iter()
        .flat_map(|one| rounds(&one.series))
        .collect();
    if let Some(Ratio { ratio, low, high }) = interval(&rounds, 0.05) {
        println!("median of all rounds {ratio:.4} ({low:.4} to {high:.4})");
    }
    output::print(&format!(
        "{different} of {all} called different; {found} of {all} found {} % slower where it was \
         planted",
        record.planted_percent
    ))
}

/// The verdict at the first look that settles it, if each round's candidate took `percent` longer.
/// Rounds end at a look that settled the times as they are; with the slow-down none may be left.
fn planted(rounds: &[f64], percent: f64, plan: &Plan, margin: f64) -> Verdict {
    let shift = (percent / 100.0).ln_1p();
    let shifted: Vec<f64> = rounds.iter().map(|round| round + shift).collect();
    let mut looks = (1..=shifted.len()).filter_map(|look| shifted.get(..look));
    let settled = looks.find_map(|rounds| match settle(rounds, plan, margin) {
        Standing::Settled(ratio) => Some(Verdict::from(ratio)),
        Standing::Open => None,
    });
    let open =
        || interval(&shifted, plan.error).map(|ratio| Verdict::Unclear(ratio.widened(margin)));
    settled.or_else(open).unwrap_or(Verdict::Untimed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_slow_down_is_found_where_noise_is_small() {
        let noise = [-0.002, 0.001, -0.001, 0.002, 0.0, 0.0015, -0.0015, 0.0005];
        let rounds: Vec<f64> = noise.iter().cycle().take(32).copied().collect();
        let found = |percent: f64, margin: f64| planted(&rounds, percent, &Plan::default(), margin);
        assert!(matches!(found(0.0, 0.0), Verdict::Unclear(_)));
        let Verdict::Slower(ratio) = found(1.0, 0.0) else {
            panic!("not found");
        };
        assert!((ratio.ratio - 1.01).abs() < 0.001, "{ratio}");
        assert!(matches!(found(1.0, 0.02), Verdict::Unclear(_)));
        assert!(matches!(found(-1.0, 0.0), Verdict::Faster(_)));
    }
}
