//! `splatcore prune`: a scene with fewer Gaussians and harmonics, chosen by what photos show.
//!
//! `args` has the flags, `work` measures, scores and trains, `written` makes the file, `report`
//! what is printed.

mod args;
mod report;
mod work;
mod written;

pub use args::Args;

use crate::commands::scene_output;
use crate::interrupt::{self, Guard};
use crate::load;
use crate::output::{self, WrongUsage, counted, thousands};
use crate::scene_source::SceneSource;
use anyhow::{Result, bail};
use report::Report;
use splatcore_core::Gaussians;
use splatcore_data::lock::FolderLock;
use splatcore_data::scene::edit::Similarity;
use splatcore_data::scene::{self, SceneFile};
use splatcore_train::prune::{self, Keep};
use work::Work;
use written::Output;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let _lock = check(&args)?;
    interrupt::watch()?;
    let source = SceneSource::find(&args.scene)?;
    source.check_dataset(args.dataset.as_deref())?;
    let SceneFile {
        mut gaussians,
        antialiased,
        bytes,
        dropped,
        notes,
        ..
    } = scene::read(source.file())?;
    load::say(source.file(), dropped, &notes);
    let wanted = args
        .sh_degree
        .filter(|&degree| degree < gaussians.sh_degree);
    if let (Some(degree), None) = (args.sh_degree, wanted) {
        eprintln!(
            "{}: has no harmonics above degree {}; --sh-degree {degree} changes nothing",
            args.scene.display(),
            gaussians.sh_degree
        );
    }
    let (work, split) = work::prepare(&args, &source, antialiased)?;
    let output = Output::of(&args, antialiased)?;
    source.before_writing(&args.output)?;
    let mut renderer = work.backend.renderer(&gaussians)?;
    let mut before = work.measure(&mut *renderer, &gaussians)?;
    before.bytes = Some(bytes);

    let kept = args.keep.of(gaussians.len());
    if kept < gaussians.len() {
        let scores = args.score.of(&gaussians, &work.shown(&mut *renderer)?);
        let best = prune::best(&scores, kept);
        gaussians.retain(|i| best[i]);
        eprintln!(
            "{} of {} kept",
            thousands(kept as u64),
            counted(before.gaussians, "Gaussian")
        );
    }
    drop(renderer);
    if let Some(degree) = wanted {
        gaussians = work.reduced(&gaussians, degree)?;
    }
    let mut pruned = None;
    if args.finetune > 0 {
        pruned = Some(work.measure_scene(&gaussians)?);
        gaussians = finetuned(&work, &output, gaussians, args.finetune)?;
    }
    let found = Report {
        split,
        before,
        pruned,
        after: output.write(&work, &gaussians)?,
    };
    source.pass_on(&args.output)?;
    source.record_move(&args.output, &Similarity::IDENTITY, None)?;
    match args.json {
        true => output::print_json(&found),
        false => output::print(&report::table(&found, &args.output)),
    }
}

/// Lets the scene learn for so many steps: for some as it is, for the rest as the file will hold
/// it.
fn finetuned(
    work: &Work,
    output: &Output<'_>,
    gaussians: Gaussians,
    steps: u32,
) -> Result<Gaussians> {
    let [free, settling] = match output.format.rounds() {
        true => prune::shared_out(steps),
        false => [steps, 0],
    };
    // Over both, and the rounding between them.
    let guard = Guard::start_finetuning()?;
    let config = prune::finetuning(free, gaussians.sh_degree);
    let tuned = work.trained(gaussians, config, "fine-tuning", &guard)?;
    if settling == 0 || guard.stop_requested() {
        return Ok(tuned);
    }
    let rounded = output.rounded(work, &tuned)?;
    let config = prune::settling(settling, rounded.sh_degree);
    work.trained(rounded, config, "fine-tuning the file", &guard)
}

/// Refuses before any long work what would fail after it.
fn check(args: &Args) -> Result<Option<FolderLock>> {
    scene_output::format(&args.output)?;
    if args.keep == Keep::Share(1.0) && args.finetune == 0 && args.sh_degree.is_none() {
        bail!(WrongUsage(
            "nothing to do: give --keep 40%, --sh-degree 1 or --finetune 3000".into()
        ));
    }
    scene_output::take(&args.output, args.overwrite, "prune")
}
