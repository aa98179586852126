//! `splatcore lab accept`: a candidate becomes a patch.

use super::device::DeviceArgs;
use super::opening::{check_build, check_settings, settings};
use super::scenes;
use super::toolbox::Build;
use crate::output;
use anyhow::{Context, Error, Result, bail};
use serde::Serialize;
use similar::TextDiff;
use splatcore_cuda::ops::op_of;
use splatcore_lab::acceptance::{Evidence, accept};
use splatcore_lab::evaluate::{Already, Evaluator, Local, Toolbox};
use splatcore_lab::experiment::{Experiment, Folder, Scene, Task};
use splatcore_lab::gates::Ratio;
use splatcore_lab::gates::result::Wanted;
use splatcore_lab::journal::{Event, NotRun, State, Timed};
use splatcore_lab::starts;
use splatcore_lab::summary::{Row, Summary, rounds, scene_ratios};
use splatcore_lab::timing::interval;
use splatcore_lab::{Candidate, Texts};
use std::path::PathBuf;

/// Make a patch of a candidate, if it may become a commit.
///
/// Every gate and the times are run anew, with another seed and in new processes, on the search's
/// scenes and on those that were held out. EXP/winner then holds ID.patch, for `git apply` in the
/// root of the repository, and ID.json with the evidence.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// The candidate: the first digits of its identity are enough
    id: String,
    #[command(flatten)]
    device: DeviceArgs,
}

/// What stands beside a patch.
#[derive(Serialize)]
struct Record<'a> {
    candidate: &'a Row,
    evidence: &'a Evidence,
    experiment: &'a Experiment,
    device: String,
    version: String,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut folder = Folder::open(&args.folder)?;
    let experiment = folder.experiment.clone();
    let build = Build::new(&args.device)?.starting(&experiment.task)?;
    check_build(&experiment, &build)?;
    check_settings(&folder)?;
    let summary = Summary::of(folder.journal.entries());
    let state = State::replay(Texts::new(), folder.journal.entries(), &folder.blobs)?;
    let judged = state.history.named(&args.id).map_err(Error::msg)?;
    let candidate = judged.candidate.clone();
    let id = candidate.id();
    let mut rows = summary.candidates.iter();
    let row = rows
        .find(|row| row.id == id)
        .context("the journal has no proposal of the candidate")?;
    let Some(noise) = summary.noise else {
        bail!("the journal has no times: run the experiment on a card first");
    };
    let again = Again {
        build: &build,
        experiment: &experiment,
        more: &state.counterexamples,
        candidate: &candidate,
    };
    let mut not_run = Vec::new();
    let (search, scenes) = again.timed(&experiment.scenes.search, 1, &mut not_run)?;
    let held_out = match experiment.scenes.held_out.as_slice() {
        [] => None,
        list => Some(again.timed(list, 2, &mut not_run)?),
    };
    let (held_out, held_out_scenes) = held_out.map_or((None, vec![]), |(r, s)| (Some(r), s));
    let evidence = Evidence {
        search,
        scenes,
        held_out,
        held_out_scenes,
        noise,
        not_run,
    };
    if let Err(why) = accept(row, &evidence) {
        bail!("{} is not accepted: {why}", row.id);
    }
    let winner = args.folder.join("winner");
    std::fs::create_dir_all(&winner).with_context(|| winner.display().to_string())?;
    let patch = winner.join(format!("{}.patch", row.id));
    let changes = diff(build.kernels(), &experiment.task, &candidate.changed);
    std::fs::write(&patch, changes).with_context(|| patch.display().to_string())?;
    let record = Record {
        candidate: row,
        evidence: &evidence,
        experiment: &experiment,
        device: build.describe(),
        version: super::toolbox::version(),
    };
    output::write_json(&winner.join(format!("{}.json", row.id)), &record)?;
    folder
        .journal
        .append(Event::Accepted { id: row.id.clone() })?;
    println!("{}", patch.display());
    Ok(())
}

/// A candidate that is judged once more.
struct Again<'a> {
    build: &'a Build,
    experiment: &'a Experiment,
    /// Counterexamples of a second model, all of the experiment.
    more: &'a [Wanted],
    candidate: &'a Candidate,
}

impl Again<'_> {
    /// All gates and the times, with the `n`-th other seed. Adds gates that could not be run.
    fn timed(
        &self,
        list: &[Scene],
        n: u64,
        not_run: &mut Vec<NotRun>,
    ) -> Result<(Ratio, Vec<(String, f64)>)> {
        let mut settings = settings(self.build, self.experiment, self.more.to_vec())?;
        settings.seed = self.experiment.seed.wrapping_add(n << 32);
        let scenes = scenes::read(list, settings.pipeline)?;
        let mut local = Local::new(self.build, settings, scenes)?;
        let mut series = None;
        let outcome = local.evaluate(
            self.candidate,
            Already::default(),
            &|_| None,
            &mut |event| {
                if let Event::Timed(Timed { series: found, .. }) = event {
                    series = Some(found);
                }
            },
        )?;
        not_run.extend(outcome.not_run);
        let verdict = &outcome.verdict;
        let (Some(series), Some(_)) = (series, verdict.ratio()) else {
            let id = self.candidate.id();
            bail!("{id} is not accepted: tried anew, it was {verdict}");
        };
        let ratio = interval(&rounds(&series), 0.05).context("too few rounds for an interval")?;
        Ok((ratio, scene_ratios(&series)))
    }
}

/// A patch against the tree that the kernels are built from.
pub fn diff(kernels: &Texts, task: &Task, changed: &Texts) -> String {
    let mut patch = String::new();
    for (name, text) in changed {
        let op = op_of(name).unwrap_or("shared");
        let folder = match &task.start {
            Some(start) => starts::folder(start),
            None => format!("crates/splatcore-cuda/src/ops/{op}"),
        };
        let path = format!("{folder}/{name}");
        let old = kernels.get(name).map_or("", String::as_str);
        let diff = TextDiff::from_lines(old, text);
        let mut unified = diff.unified_diff();
        unified.header(&format!("a/{path}"), &format!("b/{path}"));
        patch.push_str(&unified.to_string());
    }
    patch
}
