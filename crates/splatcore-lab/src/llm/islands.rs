//! Which advice the next try follows, and which candidate it starts from.
//!
//! Each advice has an island of the search. All is a function of the history and the experiment's
//! seed: a run that was killed goes on with the same choice.

use crate::candidate::{Candidate, Id};
use crate::gates::{Gate, Verdict};
use crate::propose::{History, Judged};
use splatcore_core::random::Rng;

/// How often a candidate that does not compile is repaired.
const REPAIRS: usize = 2;

/// Candidates of a tournament.
const TOURNAMENT: usize = 3;

/// Generations that are looked through for an island.
const MAX_DEPTH: usize = 64;

/// Stream of the random numbers of rounds; those of tries have other numbers.
const ROUNDS: u64 = 1 << 62;

/// What the next try does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Number of the advice, if there is any.
    pub advice: Option<usize>,
    /// The candidate to start from; the baseline if none.
    pub parent: Option<Id>,
}

/// The choice of a try. `advice` holds the numbers of the advice that is followed.
///
/// If the model's last candidate does not compile, it is repaired: at most twice, and at once.
/// Otherwise the islands take turns, in another order each round. The parent is the best of the
/// island, the winner of a tournament in it, or the best of all islands; it is the baseline where
/// no candidate is faster.
pub fn choose(history: &History, seed: u64, number: u64, advice: &[usize]) -> Choice {
    if let Some(choice) = repair(history, number, advice) {
        return choice;
    }
    let mut rng = Rng::new(seed, number);
    let advice = (!advice.is_empty()).then(|| {
        let islands = advice.len() as u64;
        let mut order = advice.to_vec();
        Rng::new(seed, ROUNDS | (number / islands)).shuffle(&mut order);
        order[(number % islands) as usize]
    });
    let all: Vec<&Judged> = history
        .judged
        .iter()
        .filter(|j| time(j).is_some())
        .collect();
    let island: Vec<&Judged> = all
        .iter()
        .copied()
        .filter(|judged| island_of(history, &judged.candidate) == advice)
        .collect();
    let parent = match rng.uniform() {
        way if way < 0.5 => best(&island),
        way if way < 0.75 => {
            let drawn = (0..TOURNAMENT).filter(|_| !island.is_empty());
            let drawn: Vec<_> = drawn.map(|_| island[rng.below(island.len())]).collect();
            best(&drawn)
        }
        _ => best(&all),
    };
    Choice { advice, parent }
}

/// The model's last candidate, if it does not compile and may still be repaired.
fn repair(history: &History, number: u64, advice: &[usize]) -> Option<Choice> {
    let mut latest = history.judged.iter().rev();
    let (last, origin) = latest.find_map(|j| Some((j, j.candidate.origin.as_ref()?)))?;
    let known = origin.advice_number().is_none_or(|n| advice.contains(&n));
    let at_once = (1..=REPAIRS as u64).contains(&number.checked_sub(origin.number)?);
    let mut chain = 0;
    let mut of = Some(last);
    while let Some(judged) = of.filter(|j| does_not_compile(j) && chain <= REPAIRS) {
        chain += 1;
        of = judged
            .candidate
            .parents
            .first()
            .and_then(|id| history.find(id));
    }
    (known && at_once && (1..=REPAIRS).contains(&chain)).then(|| Choice {
        advice: origin.advice_number(),
        parent: Some(last.candidate.id()),
    })
}

fn does_not_compile(judged: &Judged) -> bool {
    matches!(&judged.verdict, Verdict::Rejected(r) if r.gate == Gate::Compile)
}

/// The advice that a candidate follows, or the nearest ancestor that follows one.
pub fn island_of(history: &History, candidate: &Candidate) -> Option<usize> {
    let mut of = Some(candidate);
    for _ in 0..MAX_DEPTH {
        let candidate = of?;
        if let Some(origin) = &candidate.origin {
            return origin.advice_number();
        }
        let parent = candidate.parents.first()?;
        of = history.find(parent).map(|judged| &judged.candidate);
    }
    None
}

/// Time over the baseline's of a candidate that passed its gates.
fn time(judged: &Judged) -> Option<f64> {
    match &judged.verdict {
        Verdict::Untimed => Some(1.0),
        verdict => verdict.ratio().map(|ratio| ratio.ratio),
    }
}

/// The fastest, if it is faster than the baseline; the earliest of equals.
fn best(of: &[&Judged]) -> Option<Id> {
    let faster = of.iter().filter_map(|j| Some((j, time(j)?)));
    let faster = faster.filter(|(_, time)| *time < 1.0);
    let best = faster.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(best.0.candidate.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Followed, Guided, Operator, Origin, Texts};
    use crate::gates::{Ratio, Rejection};

    /// A model's candidate of a try, for an advice.
    fn judged(text: &str, of: (u64, usize), parents: Vec<Id>, verdict: Verdict) -> Judged {
        let (number, advice) = of;
        Judged {
            candidate: Candidate {
                parents,
                operator: Operator::Llm,
                origin: Some(Origin {
                    number,
                    model: "coder".into(),
                    guided: Guided::Planner,
                    advice: Some(Followed {
                        number: advice,
                        what: "faster".into(),
                        predicted_percent: 10.0,
                    }),
                }),
                changed: Texts::from([("a.cu".into(), text.into())]),
                about: text.into(),
            },
            verdict,
        }
    }

    fn takes(ratio: f64) -> Verdict {
        Verdict::Faster(Ratio {
            ratio,
            low: ratio - 0.01,
            high: ratio + 0.01,
        })
    }

    fn broken() -> Verdict {
        Verdict::Rejected(Rejection::new(Gate::Compile, "error"))
    }

    #[test]
    fn islands_take_turns_and_start_from_faster_candidates() {
        let mut history = History::default();
        for number in 0..30 {
            let choice = choose(&history, 1, number, &[2, 5, 7]);
            assert_eq!(choice.parent, None);
        }
        let round = |number: u64| {
            let of = |n| {
                choose(&History::default(), 1, n, &[2, 5, 7])
                    .advice
                    .unwrap()
            };
            let mut round: Vec<usize> = (number..number + 3).map(of).collect();
            round.sort_unstable();
            round
        };
        assert!((0..10).all(|n| round(3 * n) == [2, 5, 7]));
        history.judged = vec![
            judged("slow", (0, 2), Vec::new(), takes(1.2)),
            judged("good", (1, 2), Vec::new(), takes(0.8)),
            judged("fair", (2, 2), Vec::new(), takes(0.9)),
            judged("best", (3, 5), Vec::new(), takes(0.7)),
        ];
        let id = |at: usize| Some(history.judged[at].candidate.id());
        let choices: Vec<Choice> = (10..210)
            .map(|number| choose(&history, 1, number, &[2, 5, 7]))
            .collect();
        let count = |advice: usize, parent: Option<Id>| {
            let wanted = Choice {
                advice: Some(advice),
                parent,
            };
            choices.iter().filter(|c| **c == wanted).count()
        };
        assert!(count(2, id(1)) > 30, "best of the island");
        assert!(count(2, id(3)) > 5, "best of all");
        assert_eq!(count(2, id(0)), 0, "a slower one");
        assert!(count(7, None) > 30, "an empty island");
        assert!(count(7, id(3)) > 5, "an empty island takes the best of all");
    }

    #[test]
    fn other_candidates_belong_to_their_parents_island() {
        let first = judged("a", (0, 2), Vec::new(), takes(0.9));
        let mut tuned = judged("b", (1, 5), vec![first.candidate.id()], takes(0.8));
        tuned.candidate.operator = Operator::Tunable;
        tuned.candidate.origin = None;
        let history = History {
            judged: vec![first, tuned.clone()],
            ..History::default()
        };
        assert_eq!(island_of(&history, &tuned.candidate), Some(2));
    }

    #[test]
    fn what_does_not_compile_is_repaired_twice() {
        let mut history = History::default();
        let mut parents = Vec::new();
        for (number, text) in ["a", "b", "c"].iter().enumerate() {
            let of = (number as u64, 5);
            let broken = judged(text, of, parents.clone(), broken());
            parents = vec![broken.candidate.id()];
            history.judged.push(broken);
            let choice = choose(&history, 1, number as u64 + 1, &[2, 5, 7]);
            let repairs = choice.parent.as_ref() == parents.first();
            assert_eq!(repairs, number < 2, "{number}");
            assert!(!repairs || choice.advice == Some(5));
        }
        // Another proposer's candidate in between does not hinder a repair.
        let mut between = history.clone();
        between.judged.truncate(1);
        let mut other = judged("d", (1, 5), Vec::new(), takes(0.9));
        other.candidate.origin = None;
        between.judged.push(other);
        let choice = choose(&between, 1, 2, &[2, 5, 7]);
        assert_eq!(choice.parent, Some(between.judged[0].candidate.id()));
        // Tries that gave no candidate do not repair for ever.
        history.judged.truncate(1);
        let repairs = |number| choose(&history, 1, number, &[5]).parent.is_some();
        let all: Vec<bool> = (1..5).map(repairs).collect();
        assert_eq!(all, [true, true, false, false]);
    }
}
