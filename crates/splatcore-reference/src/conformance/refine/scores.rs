//! What refinements make of scores over several views, against the twin's count of weights.

use super::super::colour::colours;
use super::super::outcome::{Outcome, ensure, gather, said};
use super::super::scenes::{self, random_scene};
use super::families;
use crate::twin;
use crate::twin::colour::{Look, apply};
use splatcore_core::backend::{
    Backend, Consistency, LearnerState, Refine, RefineReport, RenderOptions, Scoring,
};
use splatcore_core::colour::ColourModel;
use splatcore_core::image::to_bytes;
use splatcore_core::random::draw_views;
use splatcore_core::{Pipeline, View};
use std::sync::Arc;

/// An error so near to the limit (of 0 to 1) may be on either side.
const DOUBT: f64 = 2e-3;
/// Relative error of a sum of weights.
const TOLERANCE: f64 = 2e-3;

const THRESHOLD: f32 = 0.25;

/// What images and photos go through before they are compared.
#[derive(Clone, Copy, Debug)]
struct Seen {
    scale: u32,
    colour: Option<ColourModel>,
    /// Photos are transparent in places.
    alpha: bool,
}

/// As they are.
const PLAIN: Seen = Seen {
    scale: 1,
    colour: None,
    alpha: false,
};

impl Seen {
    fn views(self) -> Vec<View> {
        match self.alpha {
            true => scenes::transparent_views(),
            false => scenes::views(),
        }
    }
}

fn scoring(pipeline: Pipeline, views: usize, seen: Seen) -> Scoring {
    Scoring {
        views,
        scale: seen.scale,
        colour: seen.colour,
        render: RenderOptions {
            pipeline,
            background: [0.13, 0.57, 0.31],
            ..RenderOptions::default()
        },
        error_threshold: THRESHOLD,
        seed: 17,
        step: 700,
    }
}

/// The twin's scores of a Gaussian: weights in pixels that are bad for certain, in those that may
/// be, in all; and the largest of the last in one view.
#[derive(Clone, Copy, Default)]
struct TwinScore {
    certain: f64,
    possible: f64,
    weight: f64,
    largest: f64,
}

fn twin_scores(state: &LearnerState, scoring: &Scoring, views: &[View]) -> Vec<TwinScore> {
    let scene = &state.gaussians;
    let area = (scoring.scale * scoring.scale) as f64;
    let mut scores = vec![TwinScore::default(); scene.len()];
    for view in draw_views(scoring.seed, scoring.step, views.len(), scoring.views) {
        let camera = &views[view].camera.reduced(scoring.scale);
        let mut image = twin::render(scene, camera, &scoring.render).image;
        let mut behind = scoring.render.background;
        if let Some(model) = scoring.colour {
            let size = [camera.width, camera.height];
            let look = Look::of(model, &state.colours, (view, view), size);
            image = apply(&image, &look);
            // The affine model's factors are the photo's numbers.
            behind = model
                .entry()
                .of_colour(state.colours.photos.row(view), behind);
        }
        let photo = &views[view]
            .photo
            .reduced(scoring.scale)
            .on(to_bytes(behind));
        let counts = |i: usize| photo.mask.as_ref().is_none_or(|mask| mask[i] != 0);
        let error = |i: usize| {
            let channel = |c: usize| (image[i][c] - photo.rgb[3 * i + c] as f64 / 255.0).abs();
            (channel(0) + channel(1) + channel(2)) / 3.0
        };
        let counted = (0..image.len()).filter(|&i| counts(i)).map(error);
        let (least, most) = counted.fold((f64::INFINITY, 0.0f64), |(least, most), e| {
            (least.min(e), most.max(e))
        });
        let limit = least + THRESHOLD as f64 * (most - least);
        let gradient: Vec<[f64; 3]> = (0..image.len())
            .map(|i| {
                let beyond = |limit: f64| {
                    if counts(i) && error(i) > limit {
                        1.0
                    } else {
                        0.0
                    }
                };
                [beyond(limit + DOUBT), beyond(limit - DOUBT), 1.0]
            })
            .collect();
        let weights = twin::gradients(scene, camera, &scoring.render, &gradient).colours;
        for (score, weights) in scores.iter_mut().zip(weights) {
            let [certain, possible, weight] = weights.map(|sum| area * sum);
            score.certain += certain;
            score.possible += possible;
            score.weight += weight;
            score.largest = score.largest.max(weight);
        }
    }
    scores
}

/// What the twin says about a condition: yes, no, or that roundings decide.
fn decided(least: f64, most: f64, limit: f64) -> Option<bool> {
    let margin = TOLERANCE * limit;
    match () {
        () if least > limit + margin => Some(true),
        () if most < limit - margin => Some(false),
        () => None,
    }
}

fn run(
    backend: &dyn Backend,
    before: &LearnerState,
    seen: Seen,
    refine: &Refine,
) -> Result<(RefineReport, LearnerState), String> {
    let mut learner = backend
        .learner(&before.gaussians, Arc::new(seen.views()))
        .map_err(said)?;
    learner.restore(before).map_err(said)?;
    let report = learner.refine(refine).map_err(said)?;
    let after = learner.snapshot().map_err(said)?;
    learner.restore(before).map_err(said)?;
    let again = learner.refine(refine).map_err(said)?;
    ensure(
        again == report && learner.snapshot().map_err(said)? == after,
        || "the same refinement of the same state gives another result".into(),
    )?;
    Ok((report, after))
}

/// Compares how often each Gaussian is there afterwards with what the twin decided, where it could.
fn compare(
    what: &str,
    before: &LearnerState,
    after: &LearnerState,
    want: &[Option<usize>],
) -> Outcome {
    let families = families(&before.gaussians, &after.gaussians)?;
    let sure = want.iter().flatten().count();
    ensure(10 * sure >= 9 * want.len(), || {
        format!("{what}: the scene tests little, only {sure} decisions are certain")
    })?;
    for (i, (family, want)) in families.iter().zip(want).enumerate() {
        ensure(want.is_none_or(|want| family.len() == want), || {
            format!(
                "{what}: Gaussian {i} became {} Gaussians, {want:?} are right",
                family.len()
            )
        })?;
    }
    Ok(())
}

fn state(seed: u64) -> LearnerState {
    let mut state = LearnerState::fresh(random_scene(seed, 180, 1));
    let n = state.gaussians.len();
    state.gradient_sum = (0..n).map(|i| 1.0 + i as f32).collect();
    state.seen = (0..n).map(|i| 1 + i as u32 % 3).collect();
    state
}

const PIPELINES: [Pipeline; 2] = [Pipeline::AUTO, Pipeline::VANILLA];

/// Bad pixels a view from which on a Gaussian grows.
const MIN_BAD: f64 = 2.5;

/// How many of each Gaussian there are after growth by these scores of two views; `None` where
/// roundings decide.
fn grown(scores: &[TwinScore]) -> Vec<Option<usize>> {
    let copies = |score: &TwinScore| {
        let grows = decided(score.certain, score.possible, 2.0 * MIN_BAD);
        grows.map(|grows| 1 + usize::from(grows))
    };
    scores.iter().map(copies).collect()
}

/// With consistency, of those at the threshold only they grow that have enough weight in bad
/// pixels.
fn growth(backend: &dyn Backend, pipeline: Pipeline, before: &LearnerState, seen: Seen) -> Outcome {
    // Two of three views: which ones is part of the contract.
    let of = |seen: Seen| {
        let scoring = scoring(pipeline, 2, seen);
        grown(&twin_scores(before, &scoring, &seen.views()))
    };
    let want = of(seen);
    let growing = want.iter().filter(|&&copies| copies == Some(2)).count();
    ensure(growing > 20 && growing < 160, || {
        format!("{seen:?}: the scene tests nothing, {growing} grow")
    })?;
    // What is seen must not be what would be seen without any one of what it goes through.
    let without = [
        (seen.scale > 1, Seen { scale: 1, ..seen }),
        (
            seen.colour.is_some(),
            Seen {
                colour: None,
                ..seen
            },
        ),
        (
            seen.alpha,
            Seen {
                alpha: false,
                ..seen
            },
        ),
    ];
    for (_, other) in without.into_iter().filter(|(differs, _)| *differs) {
        let otherwise = want
            .iter()
            .zip(of(other))
            .filter(|(want, other)| match want {
                Some(want) => other.is_some_and(|other| other != *want),
                None => false,
            });
        let count = otherwise.count();
        ensure(count >= 5, || {
            format!("{seen:?} tests nothing beside {other:?}: {count} Gaussians grow otherwise")
        })?;
    }
    let refine = Refine::Adc {
        gradient_threshold: 0.5,
        split_scale: 0.13,
        min_opacity: 0.0,
        max_scale: None,
        max_gaussians: 10_000,
        budget: None,
        consistency: Some(Consistency {
            scoring: scoring(pipeline, 2, seen),
            min_bad: MIN_BAD as f32,
        }),
        region: None,
        seed: 3,
        step: 700,
    };
    let (_, after) = run(backend, before, seen, &refine)?;
    compare(
        &format!("{pipeline}, growth, {seen:?}"),
        before,
        &after,
        &want,
    )
}

/// As `growth` says, of photos as they are.
pub fn growth_wants_agreement(backend: &dyn Backend) -> Outcome {
    gather(PIPELINES.map(|pipeline| growth(backend, pipeline, &state(71), PLAIN)))
}

/// Images and photos are compared as a step compares them: reduced, through the photos' colour
/// models, transparent photos on what those make of the background. A learner without any
/// scores as if none were asked for.
pub fn scores_see_what_steps_see(backend: &dyn Backend) -> Outcome {
    let (colour, alpha) = (Some(ColourModel::Affine), true);
    let cases = [
        (Pipeline::AUTO, Seen { scale: 2, ..PLAIN }),
        (Pipeline::AUTO, Seen { colour, ..PLAIN }),
        (
            Pipeline::AUTO,
            Seen {
                colour,
                alpha,
                ..PLAIN
            },
        ),
        (
            Pipeline::VANILLA,
            Seen {
                scale: 4,
                colour,
                alpha,
            },
        ),
    ];
    let mut before = state(71);
    before.colours = colours(ColourModel::Affine, 72, scenes::views().len());
    gather(cases.map(|(pipeline, seen)| growth(backend, pipeline, &before, seen)))?;

    let before = state(71);
    let refine = |colour| Refine::Prune {
        scoring: scoring(Pipeline::AUTO, usize::MAX, Seen { colour, ..PLAIN }),
        min_importance: 0.0,
        max_bad_share: 0.7,
    };
    let plain = run(backend, &before, PLAIN, &refine(None))?;
    ensure(
        run(backend, &before, PLAIN, &refine(colour))? == plain,
        || "without colour models a score that asks for them is another one, or makes some".into(),
    )?;

    let mut wrong = scoring(Pipeline::AUTO, 1, PLAIN);
    wrong.scale = 3;
    let refine = Refine::Prune {
        scoring: wrong,
        min_importance: 0.0,
        max_bad_share: 0.7,
    };
    ensure(run(backend, &before, PLAIN, &refine).is_err(), || {
        "a scale that there is not is no error".into()
    })
}

/// Pruning by importance and by the share in bad pixels; survivors keep their rows and statistics.
pub fn pruning_follows_scores(backend: &dyn Backend) -> Outcome {
    // By importance, by the share in bad pixels, by both.
    let cases = [(true, 1.0), (false, 0.7), (true, 0.7)];
    gather(
        PIPELINES
            .into_iter()
            .flat_map(|pipeline| cases.map(|case| (pipeline, case)))
            .map(|(pipeline, (by_importance, max_bad_share))| {
                let before = state(71);
                let scoring = scoring(pipeline, usize::MAX, PLAIN);
                let scores = twin_scores(&before, &scoring, &PLAIN.views());
                // A limit that a third of those that are seen at all do not reach.
                let mut seen: Vec<f64> = scores.iter().map(|score| score.largest).collect();
                seen.retain(|&largest| largest > 0.0);
                seen.sort_by(f64::total_cmp);
                let third = seen.len() / 3;
                let min_importance = match by_importance {
                    true => 0.5 * (seen[third] + seen[third + 1]),
                    false => 0.0,
                };
                let what = format!("{pipeline}, pruning by {min_importance} and {max_bad_share}");
                let want: Vec<Option<usize>> = scores
                    .iter()
                    .map(|score| {
                        let important = match min_importance {
                            0.0 => Some(true),
                            limit => decided(score.largest, score.largest, limit),
                        };
                        let bad = match max_bad_share {
                            1.0 => Some(false),
                            share => decided(score.certain, score.possible, share * score.weight),
                        };
                        match (important, bad) {
                            (Some(false), _) | (_, Some(true)) => Some(0),
                            (Some(true), Some(false)) => Some(1),
                            _ => None,
                        }
                    })
                    .collect();
                let gone = want.iter().filter(|&&copies| copies == Some(0)).count();
                ensure(gone > 10 && gone < 170, || {
                    format!("the scene tests nothing: {gone} go")
                })?;
                let refine = Refine::Prune {
                    scoring,
                    min_importance: min_importance as f32,
                    max_bad_share: max_bad_share as f32,
                };
                let (report, after) = run(backend, &before, PLAIN, &refine)?;
                compare(&what, &before, &after, &want)?;
                ensure(
                    report.pruned == 180 - after.gaussians.len()
                        && report.count == after.gaussians.len(),
                    || format!("{what}: {report:?}"),
                )?;
                for (i, family) in families(&before.gaussians, &after.gaussians)?
                    .iter()
                    .enumerate()
                {
                    for &j in family {
                        ensure(
                            super::survived(&before, i, &after, j)
                                && after.gradient_sum[j] == before.gradient_sum[i]
                                && after.seen[j] == before.seen[i],
                            || format!("{what}: Gaussian {i} stayed and is not what it was"),
                        )?;
                    }
                }
                Ok(())
            }),
    )
}
