//! Compares strategies on recorded spaces at equal numbers of evaluations.
//!
//! The score is that of autotuning_methodology (Willemsen et al., "A methodology for comparing
//! optimization algorithms for auto-tuning", 2024): 0 is random search, 1 is the optimum from the
//! first evaluation on. With S(t) the best time after t evaluations, B(t) its expectation for
//! random search and O the optimum, the score is the mean over t of (B(t) - S(t)) / (B(t) - O),
//! for t up to the evaluations after which random search has closed 95 % of the gap between the
//! median and the optimum. Two things differ from that paper's program: B(t) is the exact
//! expectation, and points without a time count as evaluations for random search too. Before its
//! first success a search is given the worst time of the space.

use super::recorded::Recorded;
use super::space::SpaceError;
use super::strategy::Strategy;
use super::trials::Trial;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The times that one search measured, in order; None where a point has none.
pub type Run = Vec<Option<f64>>;

/// How far random search must close the gap between median and optimum.
pub const CUTOFF: f64 = 0.95;

/// Runs of another program's strategies, as `scripts/compare-kernel-tuner` writes them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Peers {
    /// The program and its version.
    pub program: String,
    /// Runs by kernel ([`Recorded::kernel`]), then by strategy.
    pub runs: BTreeMap<String, BTreeMap<String, Vec<Run>>>,
}

/// A recorded space seen by a searcher that draws at random.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// All times, ascending; the worst one for points that have none.
    sorted: Vec<f64>,
    /// The expected best time of random search after 1, 2, ... evaluations, up to the cut-off.
    pub curve: Vec<f64>,
}

/// Why strategies cannot be compared on a space.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The axes are no space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Fewer than two different times.
    #[error("{0}: nothing to find: fewer than two different times are recorded")]
    Flat(String),
}

impl Baseline {
    /// Random search without repetition on this space, up to the cut-off or `most` evaluations.
    ///
    /// # Errors
    /// If the space holds fewer than two different times.
    pub fn new(recorded: &Recorded, most: usize) -> Result<Self, CompareError> {
        let entries = recorded.entries.values();
        let mut times: Vec<f64> = entries.filter_map(|entry| entry.result.ok()).collect();
        times.sort_by(f64::total_cmp);
        let flat = || CompareError::Flat(recorded.kernel.clone());
        let (&optimum, &worst) = times.first().zip(times.last()).ok_or_else(flat)?;
        let median = times[times.len() / 2];
        if median <= optimum {
            return Err(flat());
        }
        times.resize(recorded.entries.len(), worst);
        let mut baseline = Self {
            sorted: times,
            curve: Vec::new(),
        };
        let target = optimum + (1.0 - CUTOFF) * (median - optimum);
        for draws in 1..=baseline.sorted.len().min(most) {
            let expected = baseline.expected(draws);
            // All points of a small space: nothing is left between random search and the optimum.
            if expected <= optimum {
                break;
            }
            baseline.curve.push(expected);
            if expected <= target {
                break;
            }
        }
        Ok(baseline)
    }

    /// The expected minimum of `draws` times drawn without repetition.
    fn expected(&self, draws: usize) -> f64 {
        let count = self.sorted.len();
        // The chance that all draws lie behind the first i times: C(count - i, draws) over
        // C(count, draws).
        let (mut behind, mut expected) = (1.0, 0.0);
        for (i, time) in self.sorted.iter().enumerate() {
            let left = (count - i) as f64;
            let next = behind * ((left - draws as f64) / left).max(0.0);
            expected += time * (behind - next);
            behind = next;
        }
        expected
    }

    /// The optimum.
    pub fn optimum(&self) -> f64 {
        self.sorted[0]
    }

    /// Best time so far of a run, at each evaluation up to the cut-off. A run that ended early
    /// stays where it was.
    pub fn best_so_far(&self, run: &Run) -> Vec<f64> {
        let worst = self.sorted[self.sorted.len() - 1];
        let mut best = worst;
        let mut times = run.iter();
        let next = |_: &f64| {
            best = best.min(times.next().copied().flatten().unwrap_or(worst));
            best
        };
        self.curve.iter().map(next).collect()
    }

    /// The score of a run.
    pub fn score(&self, run: &Run) -> f64 {
        let best = self.best_so_far(run);
        let standard = |(best, random): (&f64, &f64)| (random - best) / (random - self.optimum());
        best.iter().zip(&self.curve).map(standard).sum::<f64>() / best.len() as f64
    }
}

/// What came of a strategy's runs on a space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Score {
    /// The strategy; Kernel Tuner's begin with `kernel-tuner:`.
    pub strategy: String,
    /// The number of runs, each with another seed.
    pub runs: usize,
    /// The mean score: 0 is random search, 1 the optimum at once.
    pub score: f64,
    /// The standard error of the mean score.
    pub error: f64,
    /// The optimum over the mean best time, at the cut-off.
    pub share: f64,
    /// The share of runs that found the optimum before the cut-off.
    pub found: f64,
    /// The mean best time after each evaluation.
    pub curve: Vec<f64>,
}

impl Score {
    /// The scores of runs. `strategy` is only a label.
    pub fn new(strategy: &str, baseline: &Baseline, runs: &[Run]) -> Self {
        let count = runs.len() as f64;
        let scores: Vec<f64> = runs.iter().map(|run| baseline.score(run)).collect();
        let score = scores.iter().sum::<f64>() / count;
        let square = scores.iter().map(|s| (s - score).powi(2)).sum::<f64>();
        let mut curve = vec![0.0; baseline.curve.len()];
        let mut found = 0;
        for run in runs {
            let best = baseline.best_so_far(run);
            found += usize::from(best.last() == Some(&baseline.optimum()));
            for (mean, best) in curve.iter_mut().zip(best) {
                *mean += best / count;
            }
        }
        Self {
            strategy: strategy.to_owned(),
            runs: runs.len(),
            score,
            error: (square / (count * (count - 1.0).max(1.0))).sqrt(),
            share: curve.last().map_or(0.0, |last| baseline.optimum() / last),
            found: found as f64 / count,
            curve,
        }
    }
}

/// The scores of all strategies on one space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// [`Recorded::kernel`].
    pub kernel: String,
    /// The number of points, and of those without a time.
    pub points: [usize; 2],
    /// Evaluations up to the cut-off.
    pub evaluations: usize,
    /// The optimum, in milliseconds.
    pub optimum: f64,
    /// Ours in the given order, then the peers'.
    pub scores: Vec<Score>,
}

/// Replays a search on a recorded space.
///
/// # Errors
/// If the axes are no space.
pub fn replay(
    strategy: &Strategy,
    recorded: &Recorded,
    seed: u64,
    evaluations: usize,
) -> Result<Run, SpaceError> {
    let space = recorded.space()?;
    let mut trials: Vec<Trial> = Vec::with_capacity(evaluations);
    let mut run = Run::with_capacity(evaluations);
    while run.len() < evaluations {
        let n = trials.len() as u64;
        let Some(config) = strategy.next(&space, &trials, seed, n) else {
            break;
        };
        let Some(entry) = recorded.entries.get(&config) else {
            break;
        };
        let outcome = entry.outcome();
        trials.push(Trial { config, outcome });
        run.push(entry.result.ok());
    }
    Ok(run)
}

/// Scores our strategies, given by label, and the peers' runs on one space, up to the cut-off or
/// `most` evaluations, which the peers' runs must have. Seeds are counted from 0.
///
/// # Errors
/// If the space cannot be searched or has nothing to find.
pub fn compare(
    recorded: &Recorded,
    strategies: &[(String, Strategy)],
    seeds: u64,
    most: usize,
    peers: &Peers,
) -> Result<Comparison, CompareError> {
    let baseline = Baseline::new(recorded, most)?;
    let evaluations = baseline.curve.len();
    let mut scores = Vec::new();
    for (label, strategy) in strategies {
        let run = |seed| replay(strategy, recorded, seed, evaluations);
        let runs: Result<Vec<Run>, SpaceError> = (0..seeds).map(run).collect();
        scores.push(Score::new(label, &baseline, &runs?));
    }
    for (name, runs) in peers.runs.get(&recorded.kernel).into_iter().flatten() {
        scores.push(Score::new(&format!("kernel-tuner:{name}"), &baseline, runs));
    }
    let failed = recorded
        .entries
        .values()
        .filter(|entry| entry.result.is_err());
    Ok(Comparison {
        kernel: recorded.kernel.clone(),
        points: [recorded.entries.len(), failed.count()],
        evaluations,
        optimum: baseline.optimum(),
        scores,
    })
}

/// A table in Markdown: a row for each strategy, a column for each space, and the mean.
pub fn table(comparisons: &[Comparison]) -> String {
    let mut rows: Vec<(&str, Vec<Option<&Score>>)> = Vec::new();
    let names = comparisons
        .iter()
        .flat_map(|c| &c.scores)
        .map(|score| score.strategy.as_str());
    for name in names {
        if rows.iter().all(|(known, _)| *known != name) {
            let of = |c: &'_ Comparison| c.scores.iter().position(|s| s.strategy == name);
            let scores = comparisons
                .iter()
                .map(|c| of(c).map(|at| &c.scores[at]))
                .collect();
            rows.push((name, scores));
        }
    }
    let mean = |scores: &[Option<&Score>]| {
        let all = scores.iter().flatten().map(|score| score.score);
        all.sum::<f64>() / scores.iter().flatten().count().max(1) as f64
    };
    rows.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
    let mut text = String::from("| strategy |");
    for c in comparisons {
        let [points, failed] = c.points;
        let Comparison {
            kernel,
            evaluations,
            ..
        } = c;
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            " {kernel}: {points} points, {failed} fail, {evaluations} tries |"
        );
    }
    text += " mean |\n| --- |";
    text += &" --- |".repeat(comparisons.len() + 1);
    for (name, scores) in rows {
        let _ = write!(text, "\n| {name} |");
        for score in &scores {
            let _ = match score {
                None => write!(text, " - |"),
                Some(s) => {
                    let (share, found) = (s.share * 100.0, s.found * 100.0);
                    let Score { score, error, .. } = s;
                    write!(
                        text,
                        " {score:.3} ± {error:.3}, {share:.1} %, {found:.0} % |"
                    )
                }
            };
        }
        let _ = write!(text, " {:.3} |", mean(&scores));
    }
    text + "\n\nScore ± standard error, share of the optimum, runs that found it.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::recorded::{Entry, Failure};
    use crate::search::space::{Axis, Value};
    use crate::search::synthetic::Family;

    /// One axis; a point without a time where the number is 0.
    fn recorded(times: &[f64]) -> Recorded {
        let result = |time: f64| {
            if time == 0.0 {
                Err(Failure::Runtime)
            } else {
                Ok(time)
            }
        };
        Recorded {
            kernel: "k".into(),
            axes: vec![Axis {
                name: "A".into(),
                values: (0..times.len() as i64).map(Value::Integer).collect(),
            }],
            entries: (0..)
                .map(|i| vec![i])
                .zip(times.iter().map(|t| Entry::new(result(*t))))
                .collect(),
            ..Family::Cliffs.record(0)
        }
    }

    #[test]
    fn the_baseline_is_the_exact_expectation() {
        let baseline = Baseline::new(&recorded(&[4.0, 1.0, 2.0, 0.0]), 400).unwrap();
        // A failure counts as 4, the worst time.
        assert!((baseline.expected(1) - 11.0 / 4.0).abs() < 1e-12);
        // Of six pairs, three hold 1, two hold 2, one holds neither.
        assert!((baseline.expected(2) - (3.0 + 4.0 + 4.0) / 6.0).abs() < 1e-12);
        assert!((baseline.expected(4) - 1.0).abs() < 1e-12);
        assert_eq!(baseline.curve.len(), 3);
        assert!(matches!(
            Baseline::new(&recorded(&[1.0, 1.0, 0.0]), 400),
            Err(CompareError::Flat(_))
        ));
    }

    #[test]
    fn random_search_scores_nothing_and_the_optimum_everything() {
        for family in Family::ALL {
            let recorded = family.record(3);
            let baseline = Baseline::new(&recorded, 400).unwrap();
            assert!((baseline.score(&vec![recorded.optimum()]) - 1.0).abs() < 1e-9);
            let random = [("random".to_owned(), Strategy::Random)];
            let compared = compare(&recorded, &random, 40, 400, &Peers::default()).unwrap();
            let Score { score, error, .. } = compared.scores[0];
            assert!(score.abs() < 4.0 * error, "{family:?}: {score} ± {error}");
        }
    }

    #[test]
    fn runs_are_scored_by_their_best_so_far() {
        let baseline = Baseline::new(&recorded(&[4.0, 1.0, 2.0, 3.0, 0.0]), 400).unwrap();
        let run = vec![None, Some(3.0), Some(4.0), Some(2.0)];
        assert_eq!(baseline.best_so_far(&run), [4.0, 3.0, 3.0, 2.0]);
        let score = Score::new("a", &baseline, &[run, vec![Some(1.0)]]);
        assert_eq!((score.runs, score.found), (2, 0.5));
        assert_eq!(score.curve[0], 2.5);
        assert!(score.error > 0.0);
    }

    #[test]
    fn peers_are_matched_by_kernel() {
        let space = recorded(&[4.0, 1.0, 2.0, 3.0]);
        let json = r#"{"program": "kernel_tuner 1.5.0", "runs": {
            "k": {"greedy_ils": [[4.0, null, 1.0], [2.0]]}, "other": {"x": [[1.0]]}}}"#;
        let peers: Peers = serde_json::from_str(json).unwrap();
        let ours = [("exhaustive".to_owned(), Strategy::Exhaustive)];
        let compared = compare(&space, &ours, 2, 400, &peers).unwrap();
        let names: Vec<&str> = compared
            .scores
            .iter()
            .map(|s| s.strategy.as_str())
            .collect();
        assert_eq!(names, ["exhaustive", "kernel-tuner:greedy_ils"]);
        let table = table(&[compared]);
        assert!(table.contains("| k: 4 points, 0 fail, "), "{table}");
        assert_eq!(table.matches("kernel-tuner:greedy_ils").count(), 1);
    }
}
