//! `splatcore lab status`.

use anyhow::Result;
use splatcore_lab::experiment::Record;
use splatcore_lab::journal::Entry;
use splatcore_lab::summary::Summary;
use std::path::PathBuf;

/// Say where an experiment stands.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let record = Record::read(&args.folder)?;
    match args.json {
        true => crate::output::print_json(&Summary::of(&record.entries)),
        false => print(&record.entries),
    }
}

/// Prints where an experiment stands.
pub fn print(entries: &[Entry]) -> Result<()> {
    let summary = Summary::of(entries);
    let faster = summary
        .operators()
        .values()
        .map(|count| count[1])
        .sum::<usize>();
    let rejected = summary.rejections();
    println!(
        "{} candidates: {} faster, {} rejected, {} proposed again, {} tries without one; {:.0} \
         device seconds",
        summary.candidates.len(),
        faster,
        rejected.values().sum::<usize>(),
        summary.repeated,
        summary.fruitless,
        summary.device_seconds
    );
    for (gate, count) in &rejected {
        println!("  {count:>4} stopped by {gate}");
    }
    if let Some(noise) = summary.noise {
        println!(
            "  the baseline against itself: {:.4} ({:.4} to {:.4})",
            noise.ratio, noise.low, noise.high
        );
    }
    for asked in &summary.models {
        let line = format!("  {}, {}: {}", asked.role, asked.named(), asked.described());
        println!("{}", line.replace(char::is_control, "\u{fffd}"));
    }
    match summary.best() {
        Some(best) => {
            let verdict = best.verdict.as_ref().map(ToString::to_string);
            println!(
                "best {}  {}: {}",
                best.id,
                best.described(),
                verdict.unwrap_or_default()
            );
            for (scene, ratio) in &best.scenes {
                println!("  {ratio:.4} on {scene}");
            }
        }
        None => println!("no candidate was timed"),
    }
    Ok(())
}
