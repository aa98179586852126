//! What figures 9 to 13 and table IV of Hu & Zhou 2025 (arXiv 2509.25626) show, from journals of
//! experiments. What no journal has is absent here: a report says so and invents nothing.

use crate::acceptance::Evidence;
use crate::candidate::{Guided, Id};
use crate::gates::Verdict;
use crate::summary::{Row, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// An experiment as figures see it.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its name, for legends.
    pub name: String,
    /// The pipeline whose kernels it changes.
    pub pipeline: String,
    /// What its journal comes down to.
    pub summary: Summary,
    /// What its accepted candidates were accepted on.
    pub accepted: Vec<(Id, Evidence)>,
}

/// What guided an experiment's model; `None` for a search without one. The first candidate with an
/// origin decides.
pub fn mode(source: &Source) -> Option<Guided> {
    let mut rows = source.summary.candidates.iter();
    rows.find_map(|row| Some(row.origin.as_ref()?.guided))
}

/// A value after each candidate, over the runs of one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What guided the model.
    pub mode: Option<Guided>,
    /// The number of runs.
    pub runs: usize,
    /// The mean over the runs after 1, 2, ... candidates. A run that ended stays where it was.
    pub mean: Vec<f64>,
}

/// Figure 9: the speed-up of the best candidate so far over the baseline, at least 1; the geometric
/// mean over runs. Runs in which nothing was timed are left out.
pub fn best_so_far(sources: &[Source]) -> Vec<Curve> {
    let timed = sources.iter().filter(|s| was_timed(&s.summary));
    let value = |source: &Source| source.summary.best_so_far();
    let mean = |values: &[f64]| {
        let logs = values.iter().map(|value| value.ln()).sum::<f64>();
        (logs / values.len() as f64).exp()
    };
    curves(timed, value, mean)
}

/// Figure 10: the share of candidates so far that a gate stopped; the mean over runs. The paper
/// counts those that did not compile or did not run to the end, which are among them.
pub fn error_rate(sources: &[Source]) -> Vec<Curve> {
    let value = |source: &Source| source.summary.error_rate();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    curves(sources.iter(), value, mean)
}

fn was_timed(summary: &Summary) -> bool {
    summary.best().is_some()
}

fn curves<'a>(
    sources: impl Iterator<Item = &'a Source>,
    value: impl Fn(&Source) -> Vec<f64>,
    mean: impl Fn(&[f64]) -> f64,
) -> Vec<Curve> {
    let mut runs: BTreeMap<Option<Guided>, Vec<Vec<f64>>> = BTreeMap::new();
    for source in sources {
        let values = value(source);
        if !values.is_empty() {
            runs.entry(mode(source)).or_default().push(values);
        }
    }
    let curve = |(mode, runs): (Option<Guided>, Vec<Vec<f64>>)| {
        let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
        let at = |i: usize| {
            let values = runs.iter().filter_map(|run| run.get(i).or(run.last()));
            mean(&values.copied().collect::<Vec<f64>>())
        };
        Curve {
            mode,
            runs: runs.len(),
            mean: (0..longest).map(at).collect(),
        }
    };
    runs.into_iter().map(curve).collect()
}

/// Speed-ups over the baseline, scene by scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What the speed-ups are of.
    pub name: String,
    /// Scenes; `true` for those that the search was timed on.
    pub scenes: Vec<(String, bool, f64)>,
}

impl Bars {
    /// The geometric mean over the scenes that the search did not see, or over all if it saw all.
    pub fn mean(&self) -> Option<f64> {
        let of = |seen: bool| {
            let scenes = self.scenes.iter().filter(|(_, search, _)| *search == seen);
            let logs: Vec<f64> = scenes.map(|(.., speed_up)| speed_up.ln()).collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        of(false).or_else(|| of(true))
    }
}

/// Figure 11: for each experiment its best candidate's speed-up on every scene, held-out ones too
/// where it was accepted.
pub fn scenes(sources: &[Source]) -> Vec<Bars> {
    sources.iter().filter_map(bars_of_best).collect()
}

/// Figure 13: the same for experiments on Seele's blend.
pub fn seele(sources: &[Source]) -> Vec<Bars> {
    let of_seele = |source: &&Source| source.pipeline.split('+').any(|part| part == "seele");
    sources
        .iter()
        .filter(of_seele)
        .filter_map(bars_of_best)
        .collect()
}

fn bars_of_best(source: &Source) -> Option<Bars> {
    let best = source.summary.best()?;
    let evidence = source.accepted.iter().find(|(id, _)| *id == best.id);
    let speed_ups = |ratios: &[(String, f64)], search: bool| -> Vec<(String, bool, f64)> {
        let of = |(scene, ratio): &(String, f64)| (scene.clone(), search, 1.0 / ratio);
        ratios.iter().map(of).collect()
    };
    let scenes = match evidence {
        Some((_, evidence)) => [
            speed_ups(&evidence.scenes, true),
            speed_ups(&evidence.held_out_scenes, false),
        ]
        .concat(),
        None => speed_ups(&best.scenes, true),
    };
    (!scenes.is_empty()).then(|| Bars {
        name: source.name.clone(),
        scenes,
    })
}

/// Figure 12: one candidate on several cards, a [`Bars`] each. The candidate is the best one of the
/// first experiment that was timed on more cards than one; empty if there is none.
pub fn cards(sources: &[Source]) -> Vec<Bars> {
    let of_card = |id: &Id| -> Vec<Bars> {
        let mut seen = BTreeSet::new();
        let mut bars = Vec::new();
        for source in sources {
            let Some(opened) = &source.summary.opened else {
                continue;
            };
            let rows = source.summary.candidates.iter();
            let mut timed = rows.filter(|row| row.id == *id && !row.scenes.is_empty());
            if let Some(row) = timed.next()
                && seen.insert(&opened.device)
            {
                let of = |(scene, ratio): &(String, f64)| (scene.clone(), true, 1.0 / ratio);
                bars.push(Bars {
                    name: opened.device.clone(),
                    scenes: row.scenes.iter().map(of).collect(),
                });
            }
        }
        bars
    };
    let best = sources.iter().filter_map(|source| source.summary.best());
    let mut bars = best.map(|best| of_card(&best.id));
    bars.find(|bars| bars.len() > 1).unwrap_or_default()
}

/// What became of one checker's opinions on one coder's candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opinions {
    /// Candidates that it objected to. They are evaluated no further: nobody knows if it was right.
    pub objected: usize,
    /// Candidates that it found equivalent and a gate on results stopped.
    pub missed: usize,
    /// Candidates that it found equivalent and that passed.
    pub passed: usize,
}

/// Table IV: by checker and coder.
pub fn checkers(sources: &[Source]) -> BTreeMap<(String, String), Opinions> {
    let mut table: BTreeMap<(String, String), Opinions> = BTreeMap::new();
    for source in sources {
        for row in &source.summary.candidates {
            let Some((by, objected)) = &row.checked else {
                continue;
            };
            let coder = row.origin.as_ref().map_or("?", |o| o.model.as_str());
            let opinions = table.entry((by.clone(), coder.to_owned())).or_default();
            match &row.verdict {
                _ if *objected => opinions.objected += 1,
                Some(Verdict::Rejected(why)) if why.gate.looks_at_results() => {
                    opinions.missed += 1;
                }
                Some(Verdict::Rejected(_)) | None => {}
                Some(_) => opinions.passed += 1,
            }
        }
    }
    table
}

/// What came of a planner's advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// Its number in the plan.
    pub number: usize,
    /// What to change.
    pub what: String,
    /// Percent of the frame's time that it should save.
    pub predicted_percent: f64,
    /// Candidates that followed it: all, faster ones, and those that a gate stopped.
    pub counts: [usize; 3],
    /// The fastest of them: its time over the baseline's.
    pub best: Option<f64>,
}

/// Advice that candidates followed, in the order of the plan.
pub fn advice(summary: &Summary) -> Vec<Advised> {
    let mut table: BTreeMap<usize, Advised> = BTreeMap::new();
    for row in &summary.candidates {
        let Some(followed) = row.origin.as_ref().and_then(|o| o.advice.as_ref()) else {
            continue;
        };
        let entry = table.entry(followed.number).or_insert_with(|| Advised {
            number: followed.number,
            what: followed.what.clone(),
            predicted_percent: followed.predicted_percent,
            counts: [0; 3],
            best: None,
        });
        entry.counts[0] += 1;
        entry.counts[1] += usize::from(matches!(row.verdict, Some(Verdict::Faster(_))));
        entry.counts[2] += usize::from(matches!(row.verdict, Some(Verdict::Rejected(_))));
        entry.best = [entry.best, time(row)]
            .into_iter()
            .flatten()
            .min_by(f64::total_cmp);
    }
    table.into_values().collect()
}

fn time(row: &Row) -> Option<f64> {
    Some(row.verdict.as_ref()?.ratio()?.ratio)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
