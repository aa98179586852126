mod growth;
mod pose_rates;
mod refinements;
mod region;

use super::*;
use crate::config::{Appearance, Config, Moments, Preset};
use splatcore_core::backend::BETAS;
use splatcore_core::colour::{ColourModel, Rates};
use splatcore_core::columns::Column;
use splatcore_core::columns::{ColumnPlan, ColumnPlans};

fn scheduled(config: &Config, extent: f64) -> Schedule {
    Schedule::new(&config.complete(), extent)
}

fn close(a: f32, b: f64) -> bool {
    (a as f64 / b - 1.0).abs() < 1e-6
}

/// Adaptive density control, as `train` has it.
const ADC: Config = Config {
    strategy: Some(Strategy::Adc),
    ..Config::UNSET
};

/// Nothing but what the strategies' authors have.
const PLAIN: Config = Config {
    strategy: Some(Strategy::Adc),
    prune_floaters: Some(0.0),
    max_scale: Some(0.0),
    ..Config::UNSET
};

fn refinements(config: &Config) -> Vec<(u32, Refine)> {
    let schedule = scheduled(config, 2.0);
    (1..=schedule.config().iterations)
        .flat_map(|step| {
            schedule
                .refinements(step)
                .into_iter()
                .map(move |refine| (step, refine))
        })
        .collect()
}

/// The steps of those refinements that are wanted.
fn steps_of(all: &[(u32, Refine)], wanted: impl Fn(&Refine) -> bool) -> Vec<u32> {
    let found = all.iter().filter(|(_, refine)| wanted(refine));
    found.map(|(step, _)| *step).collect()
}

fn resets(config: &Config) -> Vec<u32> {
    steps_of(&refinements(config), |r| {
        matches!(r, Refine::ResetOpacity { .. })
    })
}

#[test]
fn rates_are_inrias() {
    let schedule = scheduled(&Config::UNSET, 2.0);
    assert!(close(schedule.rates(30_000).means, 3.2e-6));
    // Half way between 1.6e-4 and 1.6e-6 on a logarithmic axis is their geometric mean.
    assert!(close(schedule.rates(15_000).means, 3.2e-5));
    assert!(close(
        schedule.rates(7_500).means,
        2.0 * 1.6e-4 * 10f64.powf(-0.5)
    ));
    let first = schedule.rates(1);
    assert!(close(
        first.means,
        2.0 * 1.6e-4 * 10f64.powf(-2.0 / 30_000.0)
    ));
    assert!(close(first.sh_base, 2.5e-3) && close(first.sh_rest, 1.25e-4));
    assert!(
        close(first.opacity_logits, 0.025)
            && close(first.log_scales, 5e-3)
            && close(first.rotations, 1e-3)
    );
    assert_eq!(log_linear(1.0, 4.0, 9.0), log_linear(1.0, 4.0, 1.0));
}

#[test]
fn filters_are_computed_every_hundred_steps_but_at_the_end() {
    let config = Config {
        iterations: Some(750),
        ..Config::UNSET
    };
    let steps = |config: &Config| -> Vec<u32> {
        let all = refinements(config);
        let filters = all
            .iter()
            .filter(|(_, r)| *r == Refine::ComputeColumn(Column::Filter));
        filters.map(|(step, _)| *step).collect()
    };
    assert!(steps(&config).is_empty() && scheduled(&config, 1.0).preparations().count() == 0);
    let config = Config {
        antialias: Some(true),
        ..config
    };
    assert_eq!(steps(&config), [100, 200, 300, 400, 500, 600]);
    let schedule = scheduled(&config, 1.0);
    let first: Vec<Refine> = schedule.preparations().collect();
    assert_eq!(first, [Refine::ComputeColumn(Column::Filter)]);
    assert!(schedule.render(1).antialias);
    // After what changes the Gaussians in the same step.
    let both = schedule.refinements(300);
    assert!(
        matches!(
            both[..],
            [Refine::Adc { .. }, Refine::ComputeColumn(Column::Filter)]
        ),
        "{both:?}"
    );
}

#[test]
fn colour_models_are_learned_if_asked_for() {
    let plain = scheduled(&Config::UNSET, 2.0);
    assert_eq!(plain.plan(1, vec![0]).colour, None);
    let with = Config {
        exposure: Some(true),
        ..Config::UNSET
    };
    let plan = |step| scheduled(&with, 2.0).plan(step, vec![0]).colour.unwrap();
    assert_eq!(plan(1).model, ColourModel::Affine);
    let rate = |step| plan(step).photo_rate;
    assert!(close(rate(30_000), 1e-3) && close(rate(15_000), 1e-2 * 10f64.powf(-0.5)));
}

/// However few visits there are, one moves a photo's numbers no further than the model says, and
/// none before the model says.
#[test]
fn a_visit_moves_numbers_a_little() {
    let with = Config {
        appearance: Some(Appearance(Some(ColourModel::Bilateral))),
        iterations: Some(300),
        ..Config::UNSET
    };
    let plan = |step| scheduled(&with, 2.0).plan(step, vec![0]).colour.unwrap();
    let Rates::Travel { visit, .. } = ColourModel::Bilateral.entry().rates else {
        panic!("its numbers do not travel");
    };
    assert_eq!(plan(50).photo_rate, 0.0);
    assert!((plan(100).photo_rate - visit as f32).abs() < 1e-9);
    assert!(plan(300).photo_rate < visit as f32);
}

#[test]
fn sh_degree_rises_every_thousand_steps() {
    let schedule = scheduled(&Config::UNSET, 1.0);
    let at = [1, 999, 1000, 1999, 2000, 3000, 30_000].map(|step| schedule.sh_degree(step));
    assert_eq!(at, [0, 0, 1, 1, 2, 3, 3]);
    let flat = scheduled(
        &Config {
            sh_degree: Some(1),
            ..Config::UNSET
        },
        1.0,
    );
    assert_eq!(flat.sh_degree(30_000), 1);
}

#[test]
fn plans_of_adc_collect_statistics_until_densification_ends() {
    let schedule = scheduled(&ADC, 1.0);
    let plan = schedule.plan(14_999, vec![5]);
    assert!(
        plan.statistics == Some(Statistic::Mean)
            && plan.noise.is_none()
            && plan.views == [5]
            && plan.step == 14_999
    );
    assert_eq!(
        (
            plan.opacity_regulariser,
            plan.scale_regulariser,
            plan.ssim_weight
        ),
        (0.0, 0.0, 0.2)
    );
    assert!(schedule.plan(15_000, vec![0]).statistics.is_none());
    let frozen = Config {
        densify_until: Some(0),
        ..PLAIN
    };
    assert!(
        refinements(&frozen).is_empty()
            && scheduled(&frozen, 1.0)
                .plan(1, vec![0])
                .statistics
                .is_none()
    );
}

#[test]
fn photos_grow_from_coarse_to_fine() {
    let config = Config {
        resolution_schedule: Some(ResolutionSchedule::CoarseToFine),
        ..Config::UNSET
    };
    let schedule = scheduled(&config, 1.0);
    let at = [1, 5000, 5001, 10_000, 10_001, 30_000].map(|step| schedule.plan(step, vec![0]).scale);
    assert_eq!(at, [4, 4, 2, 2, 1, 1]);
    assert_eq!(scheduled(&ADC, 1.0).plan(1, vec![0]).scale, 1);
    let never = Config {
        coarse_until: Some(0),
        ..config
    };
    assert_eq!(scheduled(&never, 1.0).plan(1, vec![0]).scale, 1);
}

#[test]
fn a_random_background_is_of_the_seed_and_the_step() {
    let random = |seed| {
        let config = Config {
            background: Some(Background::Random),
            seed: Some(seed),
            ..Config::UNSET
        };
        scheduled(&config, 1.0)
    };
    let colours: Vec<[f32; 3]> = (1..=300)
        .map(|step| random(1).plan(step, vec![0]).render.background)
        .collect();
    for (step, colour) in (1..).zip(&colours) {
        assert_eq!(random(1).plan(step, vec![7]).render.background, *colour);
        assert_ne!(random(2).plan(step, vec![0]).render.background, *colour);
        for value in colour {
            assert!(
                (0.0..=1.0).contains(value)
                    && (value * 255.0).fract().min(1.0 - (value * 255.0).fract()) < 1e-4
            );
        }
    }
    for channel in 0..3 {
        let mean = colours.iter().map(|colour| colour[channel]).sum::<f32>() / 300.0;
        // Six standard deviations of the mean of 300 uniform numbers.
        assert!(
            (mean - 0.5).abs() < 6.0 * (1.0f32 / 12.0 / 300.0).sqrt(),
            "{mean}"
        );
    }
    // Inference renders on black.
    assert_eq!(random(1).render(5).background, [0.0; 3]);
    assert_eq!(
        scheduled(&Config::UNSET, 1.0)
            .plan(5, vec![0])
            .render
            .background,
        [0.0; 3]
    );
}

#[test]
fn the_optimiser_reaches_the_plan() {
    let config = Config {
        optimizer: Some(Optimizer::SparseAdam),
        ..Config::UNSET
    };
    let plan = scheduled(&config, 1.0).plan(1, vec![0]);
    assert!(plan.sparse_adam);
    let plan = scheduled(&Config::UNSET, 1.0).plan(1, vec![0]);
    assert!(!plan.sparse_adam);
}

#[test]
fn learned_masks_reach_the_plan() {
    let config = Config {
        learned_masks: Some(5e-4),
        lr_masks: Some(0.02),
        ..Config::UNSET
    };
    for step in [1, 20_000] {
        let plan = scheduled(&config, 3.0).plan(step, vec![0]).columns[Column::Mask];
        let (weight, rate) = (5e-4, 0.02);
        assert_eq!(plan, Some(ColumnPlan { weight, rate }));
    }
    let plan = scheduled(&Config::UNSET, 1.0).plan(1, vec![0]);
    assert_eq!(plan.columns, ColumnPlans::default());
}

/// After each step that clears moments the rates rise as a first moment would.
#[test]
fn steps_without_a_first_moment_begin_slowly() {
    let plan = |moments, step| {
        let config = Config {
            strategy: Some(Strategy::Adc),
            moments: Some(moments),
            ..Config::UNSET
        };
        scheduled(&config, 2.0).plan(step, vec![0])
    };
    let share = |step| {
        let [with, without] = [Moments::Compact, Moments::Second].map(|m| plan(m, step));
        assert_eq!((with.betas, without.betas), (BETAS, [0.0, BETAS[1]]));
        let [with, without] = [with.rates, without.rates].map(|rates| rates.sh_rest);
        f64::from(without) / f64::from(with)
    };
    // Rounds of adc at multiples of 100 after step 500.
    for (step, since) in [(601, 1), (610, 10), (644, 44), (701, 1)] {
        let want = 1.0 - 0.9f64.powi(since);
        assert!((share(step) - want).abs() < 1e-6, "{step}: {}", share(step));
    }
    for step in [1, 500, 501, 645, 700, 29_901] {
        assert_eq!(share(step), 1.0, "{step}");
    }
}

#[test]
fn rates_follow_the_batch_by_the_square_root_rule() {
    let config = |batch_scaling| Config {
        batch: Some(4),
        batch_scaling: Some(batch_scaling),
        ..Config::UNSET
    };
    let one = scheduled(&Config::UNSET, 2.0).plan(7, vec![0]);
    let same = scheduled(&config(BatchScaling::None), 2.0).plan(7, vec![0]);
    assert_eq!((same.rates, same.betas), (one.rates, BETAS));
    let scaled = scheduled(&config(BatchScaling::Sqrt), 2.0).plan(7, vec![0, 1, 2, 3]);
    assert_eq!(scaled.rates.means, 2.0 * one.rates.means);
    assert_eq!(scaled.rates.sh_rest, 2.0 * one.rates.sh_rest);
    assert_eq!(scaled.betas, [0.9f64.powi(4), 0.999f64.powi(4)]);
}
