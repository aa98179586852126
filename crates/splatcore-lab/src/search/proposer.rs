//! Candidates from a search: other values of tunables, transformations of marked places.

use super::space::{Config, Space};
use super::strategy::Strategy;
use super::trials::{Outcome, Trial};
use super::variants::Variants;
use crate::candidate::merge::merge;
use crate::candidate::{Candidate, Id, Operator, Texts};
use crate::gates::Verdict;
use crate::propose::{History, Judged, ProposeError, Proposer};
use splatcore_core::random::Rng;
use std::collections::{BTreeSet, HashMap};

/// Proposes points of the space that the tunables and marks of a text span, by a strategy.
///
/// The text itself is the first trial if its time is known, so that a search starts from it.
/// Candidates of others that lie in the space count as trials too. A candidate that was not timed
/// teaches as little as one that failed.
#[derive(Debug)]
pub struct SearchProposer {
    strategy: Strategy,
    seed: u64,
    around: Around,
    /// What was found in the texts last seen.
    known: Option<Known>,
}

/// Whose text a search goes out from. A candidate's text may declare tunables of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// The baseline's.
    Baseline,
    /// That of the fastest candidate, as soon as one is faster than the baseline.
    Best,
    /// That of the candidate whose identity begins so. It must be in the history by the time of the
    /// first proposal.
    Candidate(String),
}

impl Around {
    /// The candidate; `None` for the baseline.
    fn find<'a>(&self, history: &'a History) -> Result<Option<&'a Judged>, ProposeError> {
        match self {
            Self::Baseline => Ok(None),
            Self::Best => Ok(history.best().filter(|best| {
                let ratio = best.verdict.ratio();
                ratio.is_some_and(|ratio| ratio.ratio < 1.0)
            })),
            Self::Candidate(digits) => {
                let found = history.named(digits);
                found.map(Some).map_err(ProposeError::Stop)
            }
        }
    }
}

#[derive(Debug)]
struct Known {
    texts: Texts,
    variants: Variants,
    space: Space,
    /// Points of candidates that were looked at; None for those outside the space.
    points: HashMap<Id, Option<Config>>,
}

impl SearchProposer {
    /// A search around the baseline. The seed is the experiment's.
    pub fn new(strategy: Strategy, seed: u64) -> Self {
        Self::around(strategy, seed, Around::Baseline)
    }

    /// A search around a text.
    pub fn around(strategy: Strategy, seed: u64, around: Around) -> Self {
        Self {
            strategy,
            seed,
            around,
            known: None,
        }
    }
}

impl Known {
    fn new(texts: Texts) -> Result<Self, ProposeError> {
        // Texts that no search can work on: the run stops with the reason.
        let stop = |error: String| ProposeError::Stop(error);
        let variants = Variants::find(&texts).map_err(|error| stop(error.to_string()))?;
        let space = variants.space().map_err(|error| stop(error.to_string()))?;
        Ok(Self {
            texts,
            variants,
            space,
            points: HashMap::new(),
        })
    }

    /// The point of a candidate, if its text is what the space has there.
    fn point(&mut self, judged: &Judged, history: &History) -> Option<Config> {
        let id = judged.candidate.id();
        if let Some(point) = self.points.get(&id) {
            return point.clone();
        }
        let texts = history.texts_of(&judged.candidate);
        let point = self.variants.locate(&texts, &judged.candidate.about);
        let same =
            |point: &Config| self.variants.apply(&self.texts, point).as_ref() == Some(&texts);
        let point = point.filter(same);
        self.points.insert(id, point.clone());
        point
    }
}

fn outcome(verdict: &Verdict) -> Outcome {
    verdict
        .ratio()
        .map_or(Outcome::Failed, |ratio| Outcome::Time(ratio.ratio))
}

/// The files of `texts` that differ from the baseline's.
fn changed(baseline: &Texts, texts: Texts) -> Texts {
    let differs = |(name, text): &(String, String)| baseline.get(name) != Some(text);
    texts.into_iter().filter(differs).collect()
}

impl Proposer for SearchProposer {
    /// The strategy's next point. Texts that were judged before, whoever made them, are not
    /// proposed again.
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError> {
        let base = self.around.find(history)?;
        let texts = base.map_or(history.baseline.clone(), |b| history.texts_of(&b.candidate));
        if self.known.as_ref().is_none_or(|known| known.texts != texts) {
            self.known = Some(Known::new(texts)?);
        }
        let Some(known) = &mut self.known else {
            return Err(ProposeError::Exhausted);
        };
        let start = match base {
            None => Outcome::Time(1.0),
            Some(base) => outcome(&base.verdict),
        };
        let mut trials = vec![Trial {
            config: known.variants.start(),
            outcome: start,
        }];
        for judged in &history.judged {
            let point = known
                .point(judged, history)
                .filter(|point| *point != trials[0].config);
            trials.extend(point.map(|config| Trial {
                config,
                outcome: outcome(&judged.verdict),
            }));
        }
        loop {
            let next = self
                .strategy
                .next(&known.space, &trials, self.seed, history.proposed);
            let config = next.ok_or(ProposeError::Exhausted)?;
            let texts = known.variants.apply(&known.texts, &config);
            let candidate = texts.map(|texts| Candidate {
                parents: base.map(|base| base.candidate.id()).into_iter().collect(),
                operator: known.variants.operator(&config),
                origin: None,
                changed: changed(&history.baseline, texts),
                about: known.variants.about(&config),
            });
            // Changes that exclude each other count as failed; texts that are known, as known.
            let outcome = match candidate {
                None => Outcome::Failed,
                Some(candidate) => match history.find(&candidate.id()) {
                    Some(judged) => outcome(&judged.verdict),
                    None if candidate.changed.is_empty() => Outcome::Time(1.0),
                    None => return Ok(candidate),
                },
            };
            trials.push(Trial { config, outcome });
        }
    }
}

/// Unites the changes of two candidates that passed every gate: GEVO (Liou et al., "GEVO: GPU code
/// optimization using evolutionary computation", TACO 2020) found that gains of single edits add up
/// only in combination.
#[derive(Debug)]
pub struct CrossoverProposer {
    seed: u64,
}

impl CrossoverProposer {
    /// Pairs are drawn from the experiment's seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl Proposer for CrossoverProposer {
    /// Draws pairs of timed candidates, fast ones more often, until one can be merged to a text
    /// that is new.
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError> {
        let timed = history
            .judged
            .iter()
            .filter_map(|j| Some((j.verdict.ratio()?.ratio, j)));
        let mut timed: Vec<(f64, &Judged)> = timed.collect();
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let known: BTreeSet<Id> = history.judged.iter().map(|j| j.candidate.id()).collect();
        let mut pairs: Vec<(usize, usize)> = (0..timed.len())
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .collect();
        let mut rng = Rng::new(self.seed, history.proposed);
        rng.shuffle(&mut pairs);
        // Tournaments of four by the sum of ranks.
        while !pairs.is_empty() {
            let drawn = pairs.len().min(4);
            let best = (0..drawn).min_by_key(|&at| pairs[at].0 + pairs[at].1);
            let (a, b) = pairs.swap_remove(best.unwrap_or_default());
            let (a, b) = (&timed[a].1.candidate, &timed[b].1.candidate);
            let merged = merge(
                &history.baseline,
                &history.texts_of(a),
                &history.texts_of(b),
            );
            let Ok(texts) = merged else { continue };
            let candidate = Candidate {
                parents: vec![a.id(), b.id()],
                operator: Operator::Crossover,
                origin: None,
                changed: changed(&history.baseline, texts),
                about: format!("{}; {}", a.about, b.about),
            };
            if !candidate.changed.is_empty() && !known.contains(&candidate.id()) {
                return Ok(candidate);
            }
        }
        Err(ProposeError::Exhausted)
    }
}

#[cfg(test)]
#[path = "proposer_tests.rs"]
mod tests;
