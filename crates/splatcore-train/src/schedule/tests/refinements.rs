//! What follows which step.

use super::*;
use crate::config::Interval;
use splatcore_core::Camera;
use splatcore_core::backend::budget_room;
use splatcore_core::columns::Column;

#[test]
fn adc_refines_when_inria_does() {
    let all = refinements(&PLAIN);
    let rounds = steps_of(&all, |r| matches!(r, Refine::Adc { .. }));
    assert_eq!(
        (rounds[0], rounds[rounds.len() - 1], rounds.len()),
        (600, 14_900, 144)
    );
    assert_eq!(resets(&ADC), [3000, 6000, 9000, 12_000]);
    let max_scale_at = |step: u32| {
        all.iter().find_map(|(s, r)| match r {
            Refine::Adc { max_scale, .. } if *s == step => Some(*max_scale),
            _ => None,
        })
    };
    assert_eq!(max_scale_at(3000), Some(None));
    assert_eq!(max_scale_at(3100), Some(Some(0.2)));
    // Densification comes before the reset of the same step.
    let at_3000: Vec<_> = all.iter().filter(|(s, _)| *s == 3000).collect();
    assert!(
        matches!(at_3000[0].1, Refine::Adc { .. })
            && matches!(at_3000[1].1, Refine::ResetOpacity { .. })
    );
    assert_eq!(
        all[0].1,
        Refine::Adc {
            gradient_threshold: 2e-4,
            split_scale: 0.02,
            min_opacity: 0.005,
            max_scale: None,
            max_gaussians: usize::MAX,
            budget: None,
            region: None,
            seed: 0,
            step: 600,
        }
    );
}

#[test]
fn a_white_background_adds_one_early_reset() {
    let white = Config {
        background: Some(Background::White),
        ..ADC
    };
    assert_eq!(resets(&white), [500, 3000, 6000, 9000, 12_000]);
}

#[test]
fn short_runs_have_fewer_resets_not_hastier_ones() {
    let run = |iterations| {
        resets(&Config {
            iterations: Some(iterations),
            ..ADC
        })
    };
    assert_eq!(run(7000), [1000, 2000, 3000]);
    assert_eq!(run(3000), [1000]);
    assert!(run(2000).is_empty());
}

#[test]
fn mcmc_relocates_and_walks_but_never_resets() {
    let config = Config {
        strategy: Some(Strategy::Mcmc),
        ..PLAIN
    };
    let all = refinements(&config);
    assert_eq!(
        (all[0].0, all[all.len() - 1].0, all.len()),
        (600, 24_900, 244)
    );
    assert_eq!(
        all[0].1,
        Refine::Mcmc {
            min_opacity: 0.005,
            growth: 0.05,
            max_gaussians: 1_000_000,
            region: None,
            seed: 0,
            step: 600,
        }
    );
    let plan = scheduled(&config, 2.0).plan(30_000, vec![3]);
    assert!(close(plan.noise.unwrap(), 5e5 * 3.2e-6));
    assert!(close(plan.rates.opacity_logits, 0.05) && plan.statistics.is_none());
    assert!(close(plan.opacity_regulariser, 0.01) && close(plan.scale_regulariser, 0.01));
}

/// To the end of the run, and before whatever else happens then: opacities are as they were learnt.
#[test]
fn floaters_go_first() {
    let config = Config {
        prune_floaters: Some(0.8),
        ..ADC
    };
    let all = refinements(&config);
    let rounds = steps_of(
        &all,
        |r| matches!(r, Refine::PruneFloaters { depth_share, .. } if *depth_share == 0.8),
    );
    assert_eq!(rounds, (1..10).map(|k| 3000 * k).collect::<Vec<u32>>());
    let at_3000: Vec<_> = all
        .iter()
        .filter(|(s, _)| *s == 3000)
        .map(|(_, r)| r)
        .collect();
    assert!(matches!(
        at_3000[..],
        [
            Refine::PruneFloaters { .. },
            Refine::Adc { .. },
            Refine::ResetOpacity { .. }
        ]
    ));
    // adc does so unasked, mcmc if asked.
    let by_default = refinements(&ADC);
    assert_eq!(
        steps_of(&by_default, |r| matches!(r, Refine::PruneFloaters { .. })),
        rounds
    );
    let mcmc = Config {
        strategy: Some(Strategy::Mcmc),
        ..Config::UNSET
    };
    assert!(
        steps_of(&refinements(&mcmc), |r| matches!(
            r,
            Refine::PruneFloaters { .. }
        ))
        .is_empty()
    );
}

/// From the end of densification to the last step, and after whatever else that does.
#[test]
fn scales_are_limited_in_the_end() {
    let mcmc = Config {
        strategy: Some(Strategy::Mcmc),
        ..Config::UNSET
    };
    let limits = |config: &Config| {
        steps_of(&refinements(config), |r| {
            matches!(r, Refine::LimitScales { share: 0.25, .. })
        })
    };
    assert_eq!(
        limits(&mcmc),
        (250..=300).map(|k| 100 * k).collect::<Vec<u32>>()
    );
    let adc = Config {
        strategy: Some(Strategy::Adc),
        ..Config::UNSET
    };
    assert!(limits(&adc).is_empty());
    // The default strategy lets Gaussians grow to the size of the scene, if cameras tell it.
    assert!(limits(&Config::UNSET).is_empty());
    let around = |k: u32| {
        let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 12.0).sin_cos();
        let eye = [3.0 * sin, -0.8, 3.0 * cos];
        Camera::look_at(eye, [0.0, -0.8, 0.0], [0.0, -1.0, 0.0], 0.8, 64, 48)
    };
    let cameras: Vec<Camera> = (0..12).map(around).collect();
    for (config, extent, floor) in [
        (Config::UNSET, 2.0, 3.0),
        (Config::UNSET, 4.5, 4.5),
        (mcmc.clone(), 2.0, 0.0),
    ] {
        let schedule = scheduled(&config, extent).within(&cameras).unwrap();
        for step in [24_000, 30_000] {
            let limits = schedule.refinements(step);
            let limits = limits.iter().filter_map(|refine| match refine {
                Refine::LimitScales { share: 0.25, floor } => Some(*floor),
                _ => None,
            });
            let limits: Vec<f32> = limits.collect();
            let expected = usize::from(step == 30_000 || floor > 0.0);
            assert_eq!(limits.len(), expected, "{limits:?}");
            assert!(
                limits.iter().all(|limit| (limit - floor).abs() < 1e-3),
                "{limits:?}"
            );
        }
    }
    // The last step is one, whether its number is round or not.
    let short = Config {
        iterations: Some(777),
        densify_until: Some(777),
        ..mcmc.clone()
    };
    assert_eq!(limits(&short), [777]);
    let at_the_end = scheduled(
        &Config {
            densify_until: Some(0),
            ..mcmc
        },
        1.0,
    );
    assert!(matches!(
        at_the_end.refinements(100)[..],
        [Refine::LimitScales { .. }]
    ));
}

/// Where no round of adc removes them: every 1,000 steps after densification, and at the end.
#[test]
fn masked_gaussians_are_removed_to_the_end() {
    let removals = |config: &Config| {
        steps_of(&refinements(config), |r| {
            matches!(r, Refine::PruneByColumn(Column::Mask))
        })
    };
    let config = Config {
        learned_masks: Some(5e-4),
        ..ADC
    };
    let all: Vec<u32> = (15..=30).map(|k| 1000 * k).collect();
    assert_eq!(removals(&config), all);
    assert!(removals(&ADC).is_empty());
    let odd = Config {
        iterations: Some(2345),
        ..config
    };
    assert_eq!(removals(&odd), [2000, 2345]);
}

#[test]
fn growth_options_reach_the_learner() {
    let config = Config {
        densify_statistic: Some(DensifyStatistic::Absolute),
        ..Config::UNSET
    };
    let schedule = scheduled(&config, 2.0);
    assert_eq!(
        schedule.plan(10, vec![0]).statistics,
        Some(Statistic::Absolute)
    );
    let [
        Refine::Adc {
            gradient_threshold, ..
        },
    ] = &schedule.refinements(600)[..]
    else {
        panic!("a round of adc follows step 600");
    };
    assert_eq!(*gradient_threshold, 3e-4);
}

/// Resets follow pruning, never the other way round, however short the run.
#[test]
fn pruning_is_never_soon_after_a_reset() {
    for iterations in [2000, 4000, 6000, 7000, 15_000, 30_000] {
        let config = Config {
            prune_floaters: Some(0.8),
            iterations: Some(iterations),
            ..Config::UNSET
        };
        let all = refinements(&config);
        let mut reset = None;
        for (step, refine) in &all {
            match refine {
                Refine::ResetOpacity { .. } => reset = Some(*step),
                Refine::PruneFloaters { .. } => {
                    let since = reset.map_or(u32::MAX, |reset| step - reset);
                    assert!(
                        since >= 1000,
                        "{iterations}: pruned {since} steps after a reset"
                    );
                }
                _ => {}
            }
        }
        assert!(
            all.iter()
                .any(|(_, refine)| matches!(refine, Refine::PruneFloaters { .. }))
        );
    }
}

/// mcmc's set is full at the same share of a run, whatever its length.
#[test]
fn growth_is_over_at_the_same_share_of_every_run() {
    let full_at = |preset: Option<Preset>, iterations: Option<u32>, most: usize| {
        let config = Config {
            preset,
            iterations,
            strategy: Some(Strategy::Mcmc),
            max_gaussians: Some(most),
            ..Config::UNSET
        };
        let schedule = scheduled(&config, 1.0);
        let total = schedule.config().iterations;
        let mut count = 10_000;
        let rounds = steps_of(&refinements(&config), |r| matches!(r, Refine::Mcmc { .. }));
        let full = rounds.into_iter().find(|&step| {
            let Some(Refine::Mcmc { growth, .. }) = schedule.densification(step) else {
                return false;
            };
            count = (count as f64 * (1.0 + f64::from(growth))) as usize;
            count >= most
        });
        let share = |steps: u32| f64::from(steps) / f64::from(total);
        (share(full.unwrap()), share(schedule.config().densify.every))
    };
    // Limits that each preset's own run reaches at about a third or half of its steps.
    for (preset, most) in [
        (Some(Preset::Fast), 30_000),
        (Some(Preset::Fast), 60_000),
        (Some(Preset::Balanced), 110_000),
        (Some(Preset::Quality), 1_000_000),
        (None, 1_000_000),
    ] {
        let (own, own_round) = full_at(preset, None, most);
        assert!((0.2..0.6).contains(&own), "{preset:?}: {own}");
        for iterations in [600, 1000, 3000, 5000, 10_000, 30_000, 50_000] {
            let (share, round) = full_at(preset, Some(iterations), most);
            // `densify-from` lies between a hundredth and a thirtieth of these runs.
            let tolerance = 1.0 / 30.0 - 1.0 / 100.0 + round + own_round;
            assert!(
                (share - own).abs() < tolerance,
                "{preset:?}, {iterations} steps: {share}, not {own}"
            );
        }
    }
}

/// Rounds are found without walking all steps, of which there may be four billion.
#[test]
fn the_final_number_is_that_of_every_round_in_turn() {
    for (start, densify_from, growth) in [
        (200, 50, 0.05),
        (10, 50, 0.05),
        (200, 333, 0.5),
        (5000, 50, 0.05),
    ] {
        let config = Config {
            iterations: Some(1000),
            strategy: Some(Strategy::Mcmc),
            max_gaussians: Some(1000),
            densify_every: Some(30),
            densify_from: Some(densify_from),
            densify_until: Some(870),
            growth: Some(growth),
            ..Config::UNSET
        };
        let schedule = scheduled(&config, 1.0);
        for step in [0, 30, 331, 869, 1000] {
            let walked = (step + 1..=1000)
                .flat_map(|step| schedule.refinements(step))
                .fold(start, |count: usize, refine| match refine {
                    Refine::Mcmc {
                        growth,
                        max_gaussians,
                        ..
                    } => ((count as f64 * (1.0 + growth as f64)) as usize)
                        .min(max_gaussians)
                        .max(count),
                    _ => count,
                });
            assert_eq!(schedule.gaussians_in_the_end(step, start), walked, "{step}");
        }
    }
    let endless = Config {
        iterations: Some(u32::MAX),
        strategy: Some(Strategy::Mcmc),
        ..Config::UNSET
    };
    assert_eq!(
        scheduled(&endless, 1.0).gaussians_in_the_end(0, 1000),
        1_000_000
    );
}

/// The set reaches its limit in the last round, by equal steps wherever it starts.
#[test]
fn a_budget_is_reached_on_a_straight_line() {
    let config = Config {
        densify_growth: Some(DensifyGrowth::Budget),
        densify_until: Some(1650),
        iterations: Some(2000),
        max_gaussians: Some(50_000),
        ..PLAIN
    };
    let (mut count, mut counts) = (10_000, Vec::new());
    for (_, refine) in refinements(&config) {
        if let Refine::Adc {
            budget: Some(share),
            max_gaussians,
            ..
        } = refine
        {
            count += budget_room(share, count, max_gaussians);
            counts.push(count);
        }
    }
    assert_eq!(counts.len(), 16);
    assert!(
        (0..16).all(|k| counts[k].abs_diff(12_500 + 2500 * k) < 20),
        "{counts:?}"
    );
    assert_eq!(counts[15], 50_000);
    let schedule = scheduled(&config, 1.0);
    assert_eq!(schedule.gaussians_in_the_end(0, 10_000), 50_000);
}

#[test]
fn halvings_come_in_place_of_resets() {
    let config = Config {
        opacity_halving_every: Some(Interval::Steps(2500)),
        ..PLAIN
    };
    assert!(resets(&config).is_empty());
    let halvings = steps_of(&refinements(&config), |r| {
        matches!(r, Refine::FadeOpacity { factor: 0.5, .. })
    });
    assert_eq!(halvings, [2500, 5000, 7500, 10_000, 12_500]);
}

/// LiteGS: every 10 epochs, and none in the last fifth.
#[test]
fn halvings_follow_the_epochs() {
    let config = Config {
        opacity_halving_every: Some(Interval::Epochs(10)),
        densify_growth: Some(DensifyGrowth::Budget),
        batch: Some(2),
        ..PLAIN
    };
    // 193 photos, two a step: an epoch takes 97 steps.
    let schedule = scheduled(&config, 1.0).with_photos([], 193);
    let is_halving = |r: &Refine| matches!(r, Refine::FadeOpacity { .. });
    let steps = (1..=30_000).filter(|&step| schedule.refinements(step).iter().any(is_halving));
    let expected: Vec<u32> = (1..=24).map(|i| 970 * i).collect();
    assert_eq!(steps.collect::<Vec<_>>(), expected);
}

/// From the end of densification on, but for the means.
#[test]
fn rates_fall_to_their_final_share() {
    let config = Config {
        lr_final_share: Some(0.1),
        ..PLAIN
    };
    let (falling, plain) = (scheduled(&config, 2.0), scheduled(&PLAIN, 2.0));
    let share = |step| {
        let (now, then) = (falling.rates(step), plain.rates(step));
        assert_eq!(now.means, then.means);
        assert!((now.log_scales / then.log_scales - now.sh_base / then.sh_base).abs() < 1e-6);
        now.opacity_logits / then.opacity_logits
    };
    assert_eq!((share(1), share(15_000)), (1.0, 1.0));
    assert!((share(22_500) - 0.55).abs() < 1e-6 && (share(30_000) - 0.1).abs() < 1e-6);
}
