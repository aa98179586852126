use super::*;
use crate::search::space::{Axis, Value, distance};
use crate::search::trials::Outcome;
use std::collections::HashSet;

fn axes(counts: &[usize]) -> Vec<Axis> {
    let axis = |(at, &count): (usize, &usize)| Axis {
        name: format!("A{at}"),
        values: (0..count as i64).map(Value::Integer).collect(),
    };
    counts.iter().enumerate().map(axis).collect()
}

fn space(counts: &[usize], conditions: &[&str]) -> Space {
    let conditions: Vec<_> = conditions.iter().map(|c| c.parse().unwrap()).collect();
    Space::new(axes(counts), &conditions).unwrap()
}

fn all() -> impl Iterator<Item = Strategy> {
    Strategy::all().into_iter()
}

/// Trials of a search from its start.
fn run(
    strategy: &Strategy,
    space: &Space,
    seed: u64,
    trials: usize,
    outcome: &dyn Fn(&[u16]) -> Outcome,
) -> Vec<Trial> {
    let mut done: Vec<Trial> = Vec::new();
    while done.len() < trials
        && let Some(config) = strategy.next(space, &done, seed, done.len() as u64)
    {
        assert!(space.allows(&config), "{strategy:?} proposed {config:?}");
        let outcome = outcome(&config);
        done.push(Trial { config, outcome });
    }
    done
}

/// Smallest at the largest indices; some axes work together.
fn valley(config: &[u16]) -> Outcome {
    let sum: u16 = config.iter().sum();
    let both = if config[0] == config[1] { 0.0 } else { 1.5 };
    Outcome::Time(100.0 - f64::from(sum) + both)
}

#[test]
fn each_point_is_proposed_once_and_then_none() {
    let space = space(&[4, 3, 5, 2], &["A0 + A1 != 3", "A2 >= A3"]);
    let count = space.points().unwrap().len();
    for strategy in all() {
        for failing in [0u16, 2, 9] {
            let outcome = |config: &[u16]| match config[2] < failing {
                true => Outcome::Failed,
                false => valley(config),
            };
            let trials = run(&strategy, &space, 3, 1000, &outcome);
            let distinct: HashSet<_> = trials.iter().map(|trial| &trial.config).collect();
            assert_eq!(distinct.len(), trials.len(), "{strategy:?}");
            assert_eq!(trials.len(), count, "{strategy:?}");
        }
    }
}

#[test]
fn a_search_goes_on_after_a_restart_as_if_it_had_not_stopped() {
    let space = space(&[6, 4, 5, 3, 2], &["A0 != A1"]);
    for strategy in all() {
        let whole = run(&strategy, &space, 7, 150, &valley);
        for stop in [1, 17, 60, 149] {
            // Nothing but the trials is kept.
            let strategy = strategy.clone();
            let next = strategy.next(&space, &whole[..stop], 7, stop as u64);
            assert_eq!(next.as_ref(), Some(&whole[stop].config), "{strategy:?}");
        }
        let other = run(&strategy, &space, 8, 150, &valley);
        assert_eq!(
            other == whole,
            strategy == Strategy::Exhaustive,
            "{strategy:?}"
        );
    }
}

#[test]
fn trials_from_elsewhere_are_no_obstacle() {
    let space = space(&[5, 5, 5], &["A0 != 1"]);
    for strategy in all() {
        // Outside the space, repeated, failed, without a number.
        let outcomes = [Outcome::Time(f64::NAN), Outcome::Failed, Outcome::Time(0.1)];
        let foreign: Vec<Trial> = (0..40)
            .map(|i| Trial {
                config: vec![1, i % 3, i % 5],
                outcome: outcomes[usize::from(i) % 3],
            })
            .collect();
        let next = strategy.next(&space, &foreign, 0, 40).unwrap();
        assert!(space.allows(&next), "{strategy:?}");
    }
}

/// Mean over seeds of the best time after some trials.
fn mean_best(strategy: &Strategy, space: &Space, trials: usize) -> f64 {
    let best = |seed| {
        let done = run(strategy, space, seed, trials, &valley);
        done.iter().map(Trial::time).fold(f64::INFINITY, f64::min)
    };
    (0..20).map(best).sum::<f64>() / 20.0
}

#[test]
fn searches_beat_chance() {
    let space = space(&[6, 6, 6, 6, 6], &["A0 + A4 != 4"]);
    let chance = mean_best(&Strategy::Random, &space, 80);
    for name in ["local", "genetic", "tpe", "portfolio"] {
        let mean = mean_best(&name.parse().unwrap(), &space, 80);
        assert!(mean < chance - 1.5, "{name}: {mean} against {chance}");
    }
}

#[test]
fn where_most_points_fail_the_rest_is_found() {
    // One point in 64 works.
    let space = space(&[8, 8, 8, 8], &[]);
    let outcome = |config: &[u16]| match config[0] == 5 && config[1] == 2 {
        true => valley(config),
        false => Outcome::Failed,
    };
    let working = |strategy: &Strategy| -> usize {
        let of = |seed| run(strategy, &space, seed, 400, &outcome);
        let timed = |trials: Vec<Trial>| trials.iter().filter(|t| t.time().is_finite()).count();
        (0..5).map(|seed| timed(of(seed))).sum()
    };
    let chance = working(&Strategy::Random);
    for name in ["local", "genetic", "tpe", "portfolio"] {
        let found = working(&name.parse().unwrap());
        assert!(found > 3 * chance, "{name}: {found} against {chance}");
    }
}

#[test]
fn large_spaces_are_searched_in_time() {
    let listed = space(&[8, 8, 8, 8, 5, 5], &["A0 * A1 <= A2 * A3 + 20"]);
    let unlisted = space(&[10; 12], &["A0 + A1 < 15"]);
    assert!(listed.points().unwrap().len() > 80_000 && unlisted.points().is_none());
    for space in [&listed, &unlisted] {
        for strategy in all() {
            assert_eq!(
                run(&strategy, space, 1, 300, &valley).len(),
                300,
                "{strategy:?}"
            );
        }
    }
}

/// Falls towards the largest indices, without local minima.
fn slope(config: &[u16]) -> Outcome {
    Outcome::Time(f64::from(100 - config.iter().sum::<u16>()))
}

#[test]
fn local_search_goes_from_neighbour_to_neighbour() {
    let square = space(&[6, 6, 6, 6], &[]);
    let local = LocalSearch::default();
    let strategy = Strategy::Local(local.clone());
    for seed in 0..10 {
        let trials = run(&strategy, &square, seed, local.start + 40, &slope);
        for at in local.start..trials.len() {
            let before = trials[..at].iter();
            let best = before.min_by(|a, b| a.time().total_cmp(&b.time())).unwrap();
            let near = distance(&best.config, &trials[at].config);
            assert!(near == 1 || best.config == [5, 5, 5, 5], "trial {at}");
        }
    }
    // Every point of a line is a neighbour of every other: starts follow one another.
    let line = space(&[300], &[]);
    assert_eq!(run(&strategy, &line, 4, 1000, &slope_of_one).len(), 300);
}

fn slope_of_one(config: &[u16]) -> Outcome {
    Outcome::Time(1.0 + f64::from(config[0].abs_diff(170)))
}
