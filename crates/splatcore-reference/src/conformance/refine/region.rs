//! Growth in a region: who is out of it has no copies, and all who would be made are made inside.

use super::super::outcome::{Outcome, ensure, gather};
use super::{families, refined, state, survived};
use crate::twin::Scene;
use crate::twin::densify::{self, Growth};
use splatcore_core::Region;
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::gaussians::logit;
use splatcore_core::random::draw_key;

const COUNT: usize = 300;
const THRESHOLD: f32 = 1e-4;

/// Holds about a third of the Gaussians, and has one of them on a face.
fn region(state: &LearnerState) -> Region {
    let axis = |k: usize| {
        let mut values: Vec<f32> = state.gaussians.means.iter().map(|mean| mean[k]).collect();
        values.sort_by(f32::total_cmp);
        values
    };
    let [x, y, z] = [0, 1, 2].map(axis);
    let last = COUNT - 1;
    Region {
        low: [x[COUNT / 3], y[COUNT / 6], z[0] - 1.0],
        high: [x[last] + 1.0, y[2 * COUNT / 3], z[last] + 1.0],
    }
}

const NOWHERE: Region = Region {
    low: [1e6; 3],
    high: [2e6; 3],
};

/// By the twin.
fn inside(state: &LearnerState, region: Region) -> Result<Vec<bool>, String> {
    let [low, high] = [region.low, region.high].map(|corner| corner.map(f64::from));
    let means = state.gaussians.means.iter();
    let inside: Vec<bool> = means
        .map(|mean| densify::is_within(mean.map(f64::from), low, high))
        .collect();
    let count = inside.iter().filter(|&&inside| inside).count();
    ensure(count == 0 || (60..200).contains(&count), || {
        format!("the region tests little: {count} of {COUNT} are in it")
    })?;
    Ok(inside)
}

fn adc(max_gaussians: usize, budget: Option<f32>, region: Region) -> Refine {
    Refine::Adc {
        gradient_threshold: THRESHOLD,
        split_scale: 0.13,
        min_opacity: 0.0,
        max_scale: None,
        max_gaussians,
        budget,
        region: Some(region),
        seed: 3,
        step: 600,
    }
}

/// How many of each there are after a round, by who grows.
fn compare(
    backend: &dyn Backend,
    before: &LearnerState,
    refine: &Refine,
    grows: &[bool],
) -> Outcome {
    let (report, after) = refined(backend, before, refine)?;
    let count = grows.iter().filter(|&&grows| grows).count();
    ensure(report.cloned + report.split == count, || {
        format!("{report:?}; {count} grow by the twin")
    })?;
    let families = families(&before.gaussians, &after.gaussians)?;
    let wrong = (0..COUNT).find(|&i| (families[i].len() == 2) != grows[i]);
    ensure(wrong.is_none(), || {
        format!("Gaussian {wrong:?} grew where it should not, or did not")
    })
}

/// By the threshold, with room for all and for some.
fn by_threshold(backend: &dyn Backend, region: Region) -> Outcome {
    let before = state(66, COUNT);
    let inside = inside(&before, region)?;
    let statistics = before.gradient_sum.iter().zip(&before.seen).zip(&inside);
    let means: Vec<f64> = statistics
        .map(|((&sum, &seen), &inside)| match inside {
            true => densify::mean_gradient(sum as f64, seen),
            false => f64::NEG_INFINITY,
        })
        .collect();
    let scene = Scene::from(&before.gaussians);
    gather([10_000, COUNT + 20].map(|limit| {
        let growth = densify::growth(&scene, &means, THRESHOLD as f64, 0.13, limit);
        let grows: Vec<bool> = growth
            .iter()
            .map(|&growth| growth != Growth::Keep)
            .collect();
        compare(backend, &before, &adc(limit, None, region), &grows)
    }))
}

/// By a budget, with fewer to draw than are in the region and with more.
fn by_budget(backend: &dyn Backend, region: Region) -> Outcome {
    let before = state(67, COUNT);
    let inside = inside(&before, region)?;
    gather([30, 250].map(|room| {
        let key = |i: usize| draw_key(3, 600, i as u64, before.gradient_sum[i]);
        let may = |&i: &usize| inside[i] && key(i) > 0.0;
        let mut order: Vec<usize> = (0..COUNT).filter(may).collect();
        order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
        let mut grows = vec![false; COUNT];
        order.iter().take(room).for_each(|&i| grows[i] = true);
        let refine = adc(COUNT + room, Some(1.0), region);
        compare(backend, &before, &refine, &grows)
    }))
}

/// The dead, wherever they are, move into the region, and growth is in it.
fn mcmc(backend: &dyn Backend, region: Region) -> Outcome {
    let mut before = state(68, COUNT);
    let dead: Vec<bool> = (0..COUNT).map(|i| i % 9 == 4).collect();
    for (i, value) in before.gaussians.opacity_logits.iter_mut().enumerate() {
        *value = logit(if dead[i] {
            0.01
        } else {
            0.1 + 0.06 * (i % 13) as f32
        });
    }
    let inside = inside(&before, region)?;
    let refine = Refine::Mcmc {
        min_opacity: 0.02,
        growth: 0.1,
        max_gaussians: 10_000,
        region: Some(region),
        seed: 3,
        step: 700,
    };
    let (report, after) = refined(backend, &before, &refine)?;
    let moved = dead.iter().filter(|&&dead| dead).count();
    let [moved, added] = match inside.contains(&true) {
        true => [moved, COUNT / 10],
        false => [0, 0],
    };
    ensure(
        [report.relocated, report.added, report.count] == [moved, added, COUNT + added],
        || format!("{report:?}; {moved} move, {added} are added"),
    )?;
    let families = families(&before.gaussians, &after.gaussians)?;
    for i in 0..COUNT {
        let right = match (&families[i][..], dead[i] && moved > 0, inside[i]) {
            (&[], is_dead, _) => is_dead,
            (_, true, _) => false,
            (&[j], _, false) => survived(&before, i, &after, j),
            (_, _, inside) => inside,
        };
        ensure(right, || {
            let (there, copies) = (inside[i], families[i].len());
            format!("Gaussian {i} (in the region: {there}) is there {copies} times")
        })?;
    }
    Ok(())
}

/// Every way to grow, in a region that holds some and in one that holds none.
pub fn growth_stays_in_the_region(backend: &dyn Backend) -> Outcome {
    let checks = [by_threshold, by_budget, mcmc];
    gather(checks.into_iter().flat_map(|check| {
        let some = region(&state(66, COUNT));
        [some, NOWHERE].map(|region| check(backend, region))
    }))
}
