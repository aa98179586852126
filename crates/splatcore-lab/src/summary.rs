//! What a journal comes down to: for `lab status` and for reports.

use crate::candidate::{Bill, Id, Operator, Origin, described};
use crate::gates::{Gate, Ratio, Verdict};
use crate::journal::{Entry, Event, NotRun, Opened, Series};
use crate::timing::{interval, noise};
use serde::Serialize;
use std::collections::BTreeMap;

/// An experiment so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The last run's beginning.
    pub opened: Option<Opened>,
    /// Why the last run ended; `None` if it was killed or goes on.
    pub stopped: Option<String>,
    /// Candidates in the order of their proposal.
    pub candidates: Vec<Row>,
    /// Proposals that repeated one that was judged.
    pub repeated: u64,
    /// Tries of a proposer that brought no candidate.
    pub fruitless: u64,
    /// The baseline against itself, the last time.
    pub noise: Option<Ratio>,
    /// Seconds of the device.
    pub device_seconds: f64,
    /// What models took, by role and model.
    pub models: Vec<Asked>,
}

/// What the answers of one model in one role took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    /// `planner`, `coder` or `checker`.
    pub role: String,
    /// The model, if anybody said which.
    pub model: Option<String>,
    /// Its version, likewise.
    pub version: Option<String>,
    /// Answers.
    pub answers: u64,
    /// Tokens that it read.
    pub tokens_in: u64,
    /// Tokens that it wrote.
    pub tokens_out: u64,
    /// Some of the tokens are estimated.
    pub estimated: bool,
    /// What was paid; unknown if the price of an answer is.
    pub cost: Option<f64>,
    /// Seconds of waiting for it.
    pub seconds: f64,
}

impl Asked {
    fn is_of(&self, bill: &Bill) -> bool {
        (&self.role, &self.model, &self.version) == (&bill.role, &bill.model, &bill.version)
    }

    fn take(&mut self, bill: &Bill) {
        self.answers += 1;
        self.tokens_in = self.tokens_in.saturating_add(bill.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(bill.tokens_out);
        self.estimated |= bill.estimated;
        self.cost = self.cost.zip(bill.cost).map(|(sum, cost)| sum + cost);
        self.seconds += bill.seconds;
    }

    /// The model and its version, in words.
    pub fn named(&self) -> String {
        let model = self.model.as_deref().unwrap_or("a model that nobody named");
        let version = self.version.as_ref();
        version.map_or_else(
            || model.to_owned(),
            |version| format!("{model} ({version})"),
        )
    }

    /// What it took, in words.
    pub fn described(&self) -> String {
        let about = if self.estimated { "about " } else { "" };
        let cost = self
            .cost
            .map_or(String::new(), |cost| format!(", {cost:.4} paid"));
        format!(
            "{} answers, {about}{} tokens in, {} out{cost}, {:.0} s",
            self.answers, self.tokens_in, self.tokens_out, self.seconds
        )
    }
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its identity.
    pub id: Id,
    /// What it was made from.
    pub parents: Vec<Id>,
    /// How it came about.
    pub operator: Operator,
    /// What led a model to it.
    pub origin: Option<Origin>,
    /// The second model that compared it with the baseline, and whether it objected.
    pub checked: Option<(String, bool)>,
    /// What was changed.
    pub about: String,
    /// Seconds of the device that it took.
    pub device_seconds: f64,
    /// What came of it, once it is known.
    pub verdict: Option<Verdict>,
    /// Gates that could not be run.
    pub not_run: Vec<NotRun>,
    /// The median ratio of times, scene by scene.
    pub scenes: Vec<(String, f64)>,
    /// Its time over the baseline's at a first look.
    pub looked: Option<f64>,
}

impl Row {
    /// As [`crate::Candidate::described`].
    pub fn described(&self) -> String {
        described(self.origin.as_ref(), &self.about)
    }
}

impl Summary {
    /// Reads a journal's entries.
    pub fn of(entries: &[Entry]) -> Self {
        let mut summary = Self::default();
        for entry in entries {
            summary.take(&entry.event);
        }
        summary
    }

    fn row(&mut self, id: &Id) -> Option<&mut Row> {
        self.candidates.iter_mut().rev().find(|row| row.id == *id)
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Opened(opened) => {
                self.opened = Some(opened.clone());
                self.stopped = None;
            }
            Event::Proposed(proposed) => self.candidates.push(Row {
                id: proposed.id.clone(),
                parents: proposed.parents.clone(),
                operator: proposed.operator,
                origin: proposed.origin.clone(),
                checked: None,
                about: proposed.about.clone(),
                device_seconds: 0.0,
                verdict: None,
                not_run: vec![],
                scenes: vec![],
                looked: None,
            }),
            Event::Answered(bill) => {
                let known = self.models.iter().position(|asked| asked.is_of(bill));
                let at = known.unwrap_or_else(|| {
                    self.models.push(Asked {
                        role: bill.role.clone(),
                        model: bill.model.clone(),
                        version: bill.version.clone(),
                        cost: Some(0.0),
                        ..Asked::default()
                    });
                    self.models.len() - 1
                });
                self.models[at].take(bill);
            }
            Event::NoProposal { .. } => self.fruitless += 1,
            Event::Repeated { .. } => self.repeated += 1,
            Event::Timed(timed) => {
                let scenes = scene_ratios(&timed.series);
                if let Some(row) = self.row(&timed.id) {
                    row.scenes = scenes;
                }
            }
            Event::Judged {
                id,
                verdict,
                not_run,
                device_seconds,
            } => {
                self.device_seconds += device_seconds;
                if let Some(row) = self.row(id) {
                    row.verdict = Some(verdict.clone());
                    row.not_run = not_run.clone();
                    row.device_seconds += device_seconds;
                }
            }
            Event::Looked {
                id,
                ratio,
                device_seconds,
            } => {
                self.device_seconds += device_seconds;
                if let Some(row) = self.row(id) {
                    row.looked = Some(*ratio);
                    row.device_seconds += device_seconds;
                }
            }
            Event::Noise(timed) => self.noise = noise(&rounds(&timed.series)),
            Event::Stopped { reason } => self.stopped = Some(reason.clone()),
            Event::CrossChecked(checked) => {
                if let Some(row) = self.row(&checked.id) {
                    row.checked = Some((checked.by.clone(), checked.objection.is_some()));
                }
            }
            Event::Compiled(_)
            | Event::SameCode { .. }
            | Event::Checked(_)
            | Event::Accepted { .. } => {}
        }
    }

    /// The fastest candidate that passed every gate that was run.
    pub fn best(&self) -> Option<&Row> {
        let ratio = |row: &Row| row.verdict.as_ref()?.ratio().map(|ratio| ratio.ratio);
        let timed = self.candidates.iter().filter(|row| ratio(row).is_some());
        timed.min_by(|a, b| ratio(a).unwrap_or(1.0).total_cmp(&ratio(b).unwrap_or(1.0)))
    }

    /// After each candidate: the speed-up of the best so far over the baseline, at least 1 (figure
    /// 9 of Hu & Zhou 2025).
    pub fn best_so_far(&self) -> Vec<f64> {
        let speed_up = |row: &Row| match &row.verdict {
            Some(Verdict::Faster(ratio)) => 1.0 / ratio.ratio,
            _ => 1.0,
        };
        let mut best = 1.0f64;
        let after = self.candidates.iter().map(|row| {
            best = best.max(speed_up(row));
            best
        });
        after.collect()
    }

    /// After each candidate: the share of candidates so far that a gate rejected (figure 10).
    pub fn error_rate(&self) -> Vec<f64> {
        let mut wrong = 0.0;
        let rejected = |row: &Row| matches!(row.verdict, Some(Verdict::Rejected(_)));
        let rates = self.candidates.iter().enumerate().map(|(n, row)| {
            wrong += f64::from(u8::from(rejected(row)));
            wrong / (n + 1) as f64
        });
        rates.collect()
    }

    /// How many candidates each gate stopped.
    pub fn rejections(&self) -> BTreeMap<Gate, usize> {
        let mut counts = BTreeMap::new();
        for row in &self.candidates {
            if let Some(Verdict::Rejected(rejection)) = &row.verdict {
                *counts.entry(rejection.gate).or_default() += 1;
            }
        }
        counts
    }

    /// Counts by way of making: proposed, faster, rejected.
    pub fn operators(&self) -> BTreeMap<String, [usize; 3]> {
        let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for row in &self.candidates {
            let name = serde_json::to_value(row.operator).unwrap_or_default();
            let count = counts
                .entry(name.as_str().unwrap_or_default().to_owned())
                .or_default();
            count[0] += 1;
            match row.verdict {
                Some(Verdict::Faster(_)) => count[1] += 1,
                Some(Verdict::Rejected(_)) => count[2] += 1,
                _ => {}
            }
        }
        counts
    }
}

/// The median ratio of each scene.
pub fn scene_ratios(series: &[Series]) -> Vec<(String, f64)> {
    let of = |series: &Series| {
        let ratios = rounds(std::slice::from_ref(series));
        let ratio = interval(&ratios, 0.5).map_or(f64::NAN, |ratio| ratio.ratio);
        (series.scene.clone(), ratio)
    };
    series.iter().map(of).collect()
}

/// The mean over the scenes of ln(candidate / baseline), round by round.
pub fn rounds(series: &[Series]) -> Vec<f64> {
    let count = series.iter().map(|s| s.candidate.len()).min().unwrap_or(0);
    let round = |i: usize| {
        let logs = series.iter().map(|s| (s.candidate[i] / s.baseline[i]).ln());
        logs.sum::<f64>() / series.len() as f64
    };
    (0..count).map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Rejection;
    use crate::journal::{Proposed, Timed};

    fn entry(event: Event) -> Entry {
        Entry {
            n: 0,
            at: 0,
            previous: String::new(),
            event,
        }
    }

    fn id(name: &str) -> Id {
        Id::of(&[("a".to_owned(), name.to_owned())].into())
    }

    fn candidate(name: &str, verdict: Verdict) -> Vec<Entry> {
        let proposed = Event::Proposed(Proposed {
            id: id(name),
            parents: vec![],
            operator: Operator::Llm,
            origin: None,
            about: name.into(),
            changed: BTreeMap::new(),
        });
        let judged = Event::Judged {
            id: id(name),
            verdict,
            not_run: vec![],
            device_seconds: 2.0,
        };
        vec![entry(proposed), entry(judged)]
    }

    fn ratio(ratio: f64) -> Ratio {
        Ratio {
            ratio,
            low: ratio - 0.01,
            high: ratio + 0.01,
        }
    }

    #[test]
    fn a_journal_comes_down_to_its_best_and_its_errors() {
        let wrong = Verdict::Rejected(Rejection::new(Gate::Races, "x"));
        let mut entries = candidate("wrong", wrong);
        entries.extend(candidate("slow", Verdict::Slower(ratio(1.2))));
        entries.extend(candidate("fast", Verdict::Faster(ratio(0.8))));
        entries.extend(candidate("maybe", Verdict::Unclear(ratio(0.999))));
        let series = Series {
            scene: "scene".into(),
            baseline: vec![1.0; 9],
            candidate: vec![0.8; 9],
            clock: [vec![1.0; 9], vec![0.8; 9]],
        };
        entries.push(entry(Event::Timed(Timed {
            id: id("fast"),
            series: vec![series],
        })));
        let summary = Summary::of(&entries);
        assert_eq!(summary.best().unwrap().about, "fast");
        assert!((summary.best().unwrap().scenes[0].1 - 0.8).abs() < 1e-12);
        assert_eq!(summary.best_so_far(), [1.0, 1.0, 1.25, 1.25]);
        assert_eq!(summary.error_rate(), [1.0, 0.5, 1.0 / 3.0, 0.25]);
        assert_eq!(summary.rejections()[&Gate::Races], 1);
        assert_eq!(summary.operators()["llm"], [4, 1, 1]);
        assert_eq!(summary.device_seconds, 8.0);
    }

    #[test]
    fn tokens_beyond_counting_stay_the_most_that_can_be_counted() {
        let bill = Bill {
            request: "a".into(),
            role: "coder".into(),
            number: 0,
            id: None,
            model: None,
            version: None,
            tokens_in: u64::MAX,
            tokens_out: u64::MAX,
            estimated: false,
            cost: None,
            seconds: 1.0,
        };
        let twice = [bill.clone(), bill].map(|bill| entry(Event::Answered(bill)));
        let models = Summary::of(&twice).models;
        assert_eq!(
            (models[0].tokens_in, models[0].tokens_out),
            (u64::MAX, u64::MAX)
        );
    }
}
