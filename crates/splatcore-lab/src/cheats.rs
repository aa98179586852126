//! Planted changes that the gates are tried with: wrong ones, each of which must be stopped by the
//! gate that it names, and honest ones, which must pass.
//!
//! A file of `cheats/` holds lines `key: value`, an empty line, and edits in the form that
//! [`crate::candidate::parse`] reads. Keys: `about`, `gate` (or `none` for an honest change),
//! `pipeline`, `task`, the file that may be changed (the one that is, if it is missing), and
//! `workload: step` for a change that gradients show.

use crate::candidate::{Candidate, EditError, Operator, Texts, apply, parse};
use crate::evaluate::{Broken, Local, Settings, Toolbox};
use crate::gates::{Gate, Rejection};
use crate::llm::checker::{self, Opinion};
use crate::llm::model::{Model, ModelError};
use crate::llm::question::Setting;
use crate::timing::Plan;
use crate::worker::Limits;
use splatcore_core::Pipeline;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `("name", include_str!("../cheats/name.txt")), ...`
macro_rules! cheats {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../cheats/", $name, ".txt")))),+]
    };
}

/// Changes for which another thread pays: each renders the references anew.
const MIN_A_THREAD: usize = 8;

/// Names and texts, gate by gate.
static CHEATS: &[(&str, &str)] = cheats! {
    "another-file" "no-change" "unknown-file"
    "constructor" "host-code" "include"
    "clock" "sleep"
    "asks-a-signature" "local-saturate" "wide-long-double"
    "active-mask" "cached-by-camera" "first-step"
    "only-1080p" "only-by-grid" "only-on-the-emulator" "only-when-counted"
    "no-wait" "other-parameters"
    "does-not-compile"
    "large-stack"
    "endless"
    "appendix-b-first"
    "background-only" "black-background" "coarse-threshold" "earlier-end" "edited-header" "figure-2"
    "first-batch" "first-gaussians" "first-thousand" "first-tiles" "nearly-square-pixels"
    "no-bright-colours" "keeps-the-last-image" "last-splat" "near-only"
    "no-cap" "no-filter" "no-third-degree" "no-transmittance" "not-on-black" "nothing" "whole-tiles"
    "aligned-image" "cropped" "deep" "first-rows" "long-queue" "looks-ahead"
    "no-inverse-depth" "not-on-white" "product-of-tiles" "stop-position"
    "faint-gradients" "uncut-harmonics"
    "appendix-b-goes-on"
    "coarse-exponential" "coarse-keys" "fixed-cap" "half-colours"
    "counts-cameras" "counts-frames" "reads-the-last-image"
    "odd-places"
    "coarse-when-large" "gradients-when-small"
    "believes-what-it-finds" "reads-past-the-list" "remembers-a-camera"
    "writes-past-the-image"
    "appendix-b-second" "figure-14" "no-barrier" "writes-its-input"
    "honest-ballots" "honest-continue" "honest-early-test" "honest-products"
    "honest-loads" "honest-rectangles" "honest-unroll" "honest-warp-end"
};

/// A planted change.
#[derive(Clone, Debug, PartialEq)]
pub struct Cheat {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: String,
    /// The gate that must stop it; `None` for an honest change.
    pub gate: Option<Gate>,
    /// The pipeline to run it in.
    pub pipeline: Pipeline,
    /// Whether gradients are looked at too.
    pub training: bool,
    /// Files that may be changed.
    pub files: Vec<String>,
    /// The text of the edits.
    edits: &'static str,
}

/// All planted changes.
///
/// # Errors
/// If a file of `cheats/` has errors.
pub fn all() -> Result<Vec<Cheat>, String> {
    CHEATS
        .iter()
        .map(|&(name, text)| read(name, text))
        .collect()
}

fn read(name: &'static str, text: &'static str) -> Result<Cheat, String> {
    let (head, edits) = text
        .split_once("\n\n")
        .ok_or_else(|| format!("{name}: no empty line"))?;
    let value = |key: &str| {
        let mut lines = head.lines();
        let found = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        found.ok_or_else(|| format!("{name}: no {key}"))
    };
    let gate = match value("gate")? {
        "none" => None,
        gate => serde_json::from_value(gate.into()).map_err(|error| format!("{name}: {error}"))?,
    };
    let changed = parse(edits).map_err(|error| format!("{name}: {error}"))?;
    let mut files: Vec<String> = changed.into_iter().map(|edit| edit.file).collect();
    if let Ok(task) = value("task") {
        files = vec![task.into()];
    }
    files.dedup();
    Ok(Cheat {
        name,
        about: value("about")?.into(),
        gate,
        pipeline: value("pipeline")?
            .parse()
            .map_err(|e| format!("{name}: {e}"))?,
        training: value("workload") == Ok("step"),
        files,
        edits,
    })
}

/// What came of a planted change.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// What its file says: the gate's words, if one stopped it.
    AsNamed(Option<Rejection>),
    /// Another gate stopped it, or none.
    Wrong(Option<Rejection>),
    /// Its gate cannot be run here, and why.
    NotRun(String),
}

/// Tries planted changes, some at a time, each thread with a toolbox of its own; `said` hears of
/// each as it comes.
///
/// # Errors
/// If nothing can be judged here.
pub fn try_all<T: Toolbox>(
    cheats: &[Cheat],
    toolbox: &(dyn Fn() -> Result<T, Broken> + Sync),
    limits: Limits,
    said: &(dyn Fn(&Cheat, &Tried) + Sync),
) -> Result<(), Broken> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let threads = cores.min(cheats.len().div_ceil(MIN_A_THREAD));
    let next = AtomicUsize::new(0);
    let some = || {
        let toolbox = toolbox()?;
        try_some(cheats, &next, &toolbox, limits, said)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let ended = running.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(Broken("a thread that tries changes panicked".into())))
        });
        // Every thread is waited for.
        ended.fold(Ok(()), Result::and)
    })
}

/// Tries what is next until nothing is left.
fn try_some(
    cheats: &[Cheat],
    next: &AtomicUsize,
    toolbox: &dyn Toolbox,
    limits: Limits,
    said: &dyn Fn(&Cheat, &Tried),
) -> Result<(), Broken> {
    let mut judges: Vec<((Pipeline, bool), Local)> = Vec::new();
    while let Some(cheat) = cheats.get(next.fetch_add(1, Ordering::Relaxed)) {
        let judged_in = (cheat.pipeline, cheat.training);
        let known = judges.iter().position(|(found, _)| *found == judged_in);
        let at = match known {
            Some(at) => at,
            None => {
                let settings = Settings {
                    pipeline: cheat.pipeline,
                    training: cheat.training,
                    files: vec![],
                    seed: 1,
                    more: vec![],
                    plan: Plan::default(),
                    limits,
                };
                // Honest changes show that the baseline passes its own gates.
                judges.push((judged_in, Local::known(toolbox, settings, vec![])?));
                judges.len() - 1
            }
        };
        let judge = &mut judges[at].1;
        let tried = match cheat.gate.and_then(|gate| judge.cannot_run(gate)) {
            Some(why) => Tried::NotRun(why),
            None => {
                let stopped = stopped(cheat, judge, toolbox.kernels())?;
                match stopped.as_ref().map(|rejection| rejection.gate) == cheat.gate {
                    true => Tried::AsNamed(stopped),
                    false => Tried::Wrong(stopped),
                }
            }
        };
        said(cheat, &tried);
    }
    Ok(())
}

fn stopped(cheat: &Cheat, judge: &mut Local, kernels: &Texts) -> Result<Option<Rejection>, Broken> {
    let candidate = match candidate(cheat, kernels) {
        Ok(candidate) => candidate,
        Err(error @ EditError::UnknownFile { .. }) => {
            return Ok(Some(Rejection::new(Gate::Files, error.to_string())));
        }
        Err(error) => return Err(Broken(format!("cheats/{}.txt: {error}", cheat.name))),
    };
    judge.set_files(cheat.files.clone());
    judge.try_gate(cheat.gate, &candidate)
}

fn candidate(cheat: &Cheat, kernels: &Texts) -> Result<Candidate, EditError> {
    let mut changed = apply(kernels, &parse(cheat.edits)?)?;
    changed.retain(|name, text| kernels.get(name) != Some(text));
    Ok(Candidate {
        parents: vec![],
        operator: Operator::Manual,
        origin: None,
        changed,
        about: cheat.about.clone(),
    })
}

/// What a model that checks says of a planted change. It is told what a candidate of the same
/// pipeline would be told, and not what the change is about. `None` for changes that it cannot
/// judge by its question: those that keep the result, and those that no compiler sees.
///
/// # Errors
/// Those of the model, and if the change does not fit `kernels`.
pub fn ask(
    cheat: &Cheat,
    kernels: &Texts,
    model: &mut impl Model,
    setting: &Setting,
) -> Result<Option<Opinion>, ModelError> {
    if cheat.gate.is_some_and(|gate| !gate.looks_at_results()) {
        return Ok(None);
    }
    let broken = |error| ModelError::Prompt(format!("cheats/{}.txt: {error}", cheat.name));
    let candidate = candidate(cheat, kernels).map_err(broken)?;
    let mut baseline = kernels.clone();
    baseline.retain(|name, _| cheat.files.contains(name) || candidate.changed.contains_key(name));
    checker::check(model, setting, &baseline, &candidate).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_can_be_read() {
        let all = all().unwrap();
        let honest = all.iter().filter(|cheat| cheat.gate.is_none()).count();
        assert!(honest >= 5 && all.len() - honest >= 30, "{}", all.len());
    }
}
