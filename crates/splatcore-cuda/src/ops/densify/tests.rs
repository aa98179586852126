//! The refinement kernels, run on the processor: the CPU backend's order and values, many blocks
//! and pieces, memory that runs out, and in `conformance` the conformance suite's checks.

mod conformance;

use crate::device::emulated::Emulated;
use crate::device::{Device, Kernels};
use crate::ops::densify::{Densify, reserve};
use crate::ops::state::State;
use crate::tests::support::device::emulator as device;
use crate::tests::support::watched::Watched;
use splatcore_core::backend::{LearnerState, Refine, RefineReport};
use splatcore_core::columns::Column;
use splatcore_core::gaussians::{logit, sigmoid};
use splatcore_core::random::Rng;
use splatcore_core::{BackendError, Gaussians};
use splatcore_cpu::densify::share;
use std::sync::Arc;

/// Everything different and not zero; gradients with many ties, some never seen.
fn state(seed: u64, n: usize, sh_degree: u8) -> LearnerState {
    let mut rng = Rng::new(seed, 2);
    let mut random = |spread: f32| {
        let mut g = Gaussians::zeros(n, sh_degree);
        let mut draw = || spread * (2.0 * rng.uniform() - 1.0) + 1e-3;
        g.means.as_flattened_mut().fill_with(&mut draw);
        g.log_scales.as_flattened_mut().fill_with(&mut draw);
        g.rotations.as_flattened_mut().fill_with(&mut draw);
        g.opacity_logits.fill_with(&mut draw);
        g.sh.as_flattened_mut().fill_with(&mut draw);
        g
    };
    LearnerState {
        gaussians: random(3.0),
        first: random(0.1),
        second: random(0.01),
        gradient_sum: (0..n)
            .map(|i| (i * 7 % 13 * (i % 4).min(1)) as f32 * 1e-3)
            .collect(),
        seen: (0..n).map(|i| (i % 4) as u32).collect(),
        colours: Default::default(),
        sky: Default::default(),
        columns: Default::default(),
    }
}

fn adc(gradient_threshold: f32, max_scale: Option<f32>, max_gaussians: usize) -> Refine {
    Refine::Adc {
        gradient_threshold,
        split_scale: 4.0,
        min_opacity: 0.1,
        max_scale,
        max_gaussians,
        budget: None,
        region: None,
        seed: 3,
        step: 600,
    }
}

fn refined(
    device: &Arc<Emulated>,
    before: &LearnerState,
    refine: &Refine,
) -> (RefineReport, LearnerState, usize) {
    let device: Arc<dyn Device> = device.clone();
    let mut state = State::upload(&device, before).unwrap();
    let report = Densify::new(&Kernels::new(device.clone()))
        .unwrap()
        .refine(&mut state, refine, None)
        .unwrap();
    device.synchronize().unwrap();
    (report, state.download(None).unwrap(), state.capacity)
}

/// Same rows in the same order; bits, but for the means of split children, which go through log,
/// sin and cos.
fn assert_same_as_cpu(
    device: &Arc<Emulated>,
    before: &LearnerState,
    refine: &Refine,
) -> RefineReport {
    let mut want = before.clone();
    let want_report = splatcore_cpu::densify::densify(&mut want, refine);
    let (report, mut got, _) = refined(device, before, refine);
    assert_eq!(report, want_report, "{refine:?}");
    for (i, (a, b)) in got
        .gaussians
        .means
        .iter_mut()
        .zip(&want.gaussians.means)
        .enumerate()
    {
        for k in 0..3 {
            assert!(
                (a[k] - b[k]).abs() <= 1e-5 * (1.0 + b[k].abs()),
                "{refine:?}: mean {i} is {a:?}, {b:?} is right"
            );
        }
        *a = *b;
    }
    assert!(
        got == want,
        "{refine:?}: something else than a mean differs from the CPU's"
    );
    report
}

/// Twelve blocks, and nine pieces of compaction: 192 bytes a row of harmonics, 64 KiB of scratch.
#[test]
fn adc_is_the_cpus_in_order_and_bits() {
    let Some(device) = device() else { return };
    let n = 3001;
    let before = state(5, n, 3);
    let all = assert_same_as_cpu(&device, &before, &adc(1.7e-3, None, 100_000));
    assert!(
        all.cloned > 200 && all.split > 200 && all.pruned > 200,
        "{all:?}"
    );
    let large = assert_same_as_cpu(&device, &before, &adc(1.7e-3, Some(9.0), 100_000));
    assert!(large.pruned > all.pruned, "{large:?}");
    // Limits that fall among equal gradients; room for all; for one; for none; already beyond.
    for limit in [n + 777, n + 100, n + 2000, n + 1, n, 10] {
        let report = assert_same_as_cpu(&device, &before, &adc(1e-4, None, limit));
        let candidates = before.gradient_sum.iter().filter(|&&g| g > 0.0).count();
        assert_eq!(
            report.cloned + report.split,
            candidates.min(limit.saturating_sub(n))
        );
    }
    // Everyone is a candidate, also those of gradient 0, and nobody is.
    assert_same_as_cpu(&device, &before, &adc(0.0, None, n + 2500));
    assert_same_as_cpu(&device, &before, &adc(f32::INFINITY, None, 100_000));
    // Nobody is left.
    let mut faint = before.clone();
    faint.gaussians.opacity_logits.fill(-9.0);
    assert_eq!(
        assert_same_as_cpu(&device, &faint, &adc(1e-3, None, 100_000)).count,
        0
    );
    assert_eq!(
        refined(&device, &state(5, 0, 0), &adc(1e-3, None, 10)).0,
        RefineReport::default()
    );
}

#[test]
fn growth_by_a_budget_is_the_cpus() {
    let Some(device) = device() else { return };
    let n = 1001;
    let before = state(14, n, 1);
    let drawn = |share, limit| {
        let mut refine = adc(f32::INFINITY, None, limit);
        if let Refine::Adc { budget, .. } = &mut refine {
            *budget = Some(share);
        }
        let report = assert_same_as_cpu(&device, &before, &refine);
        report.cloned + report.split
    };
    assert_eq!(drawn(0.25, n + 200), 50);
    assert_eq!(drawn(1.0, n + 1), 1);
    assert_eq!(drawn(1.0, n), 0);
    // More room than candidates.
    let all = drawn(1.0, 100_000);
    assert!(all > 600 && all < n, "{all}");
    let fade = Refine::FadeOpacity {
        factor: 0.5,
        floor: 0.25,
    };
    assert_same_as_cpu(&device, &before, &fade);
}

#[test]
fn pruning_is_the_cpus_and_keeps_statistics() {
    let Some(device) = device() else { return };
    let n = 1001;
    let prune = Refine::PruneByColumn(Column::Mask);
    let pruned = |masks: Vec<f32>| {
        let mut before = state(13, n, 2);
        before.columns.set(Column::Mask, masks);
        assert_same_as_cpu(&device, &before, &prune).pruned
    };
    assert_eq!(pruned(vec![9.0; n]), 0);
    let some = pruned((0..n).map(|i| (i * 5 % 11) as f32 - 7.0).collect());
    assert!(some > 100 && some < n - 100, "{some}");
    assert_eq!(pruned(vec![-99.0; n]), n);
}

/// A missing barrier would show.
#[test]
fn the_order_of_threads_does_not_matter() {
    let Some(device) = device() else { return };
    let before = state(11, 900, 1);
    for refine in [adc(1e-4, Some(9.0), 1300), mcmc(0.2, 0.3, 5000)] {
        device.set_backward(false);
        let forward = refined(&device, &before, &refine);
        device.set_backward(true);
        assert!(refined(&device, &before, &refine) == forward, "{refine:?}");
    }
}

/// More blocks than the scan of their sums takes at once.
#[test]
fn many_blocks_are_scanned_in_pieces() {
    let Some(device) = device() else { return };
    let before = state(6, 256 * 256 + 300, 0);
    let report = assert_same_as_cpu(&device, &before, &adc(5e-3, None, 70_000));
    assert_eq!(report.cloned + report.split, 70_000 - before.seen.len());
}

fn mcmc(min_opacity: f32, growth: f32, max_gaussians: usize) -> Refine {
    Refine::Mcmc {
        min_opacity,
        growth,
        max_gaussians,
        region: None,
        seed: 3,
        step: 700,
    }
}

/// One lives among eighty dead: more copies than equation 9 is evaluated for.
#[test]
fn a_single_survivor_takes_all() {
    let Some(device) = device() else { return };
    for opacity in [0.3f32, 0.9, 0.9999] {
        let mut before = state(7, 81, 1);
        before.gaussians.opacity_logits.fill(logit(0.001));
        before.gaussians.opacity_logits[40] = logit(opacity);
        let (report, after, _) = refined(&device, &before, &mcmc(0.005, 0.0, 1000));
        assert_eq!((report.relocated, report.added, report.count), (80, 0, 81));
        let (shared, factor) = share(sigmoid(logit(opacity)) as f64, 81);
        for i in 0..81 {
            assert_eq!(after.gaussians.means[i], before.gaussians.means[40]);
            let got = sigmoid(after.gaussians.opacity_logits[i]) as f64;
            assert!(
                (got - shared.max(0.005)).abs() < 1e-6,
                "{got}, {shared} is right"
            );
            for k in 0..3 {
                let grown =
                    (after.gaussians.log_scales[i][k] - before.gaussians.log_scales[40][k]) as f64;
                assert!(
                    (grown - factor.ln()).abs() < 1e-5,
                    "{grown}, {} is right",
                    factor.ln()
                );
            }
        }
        assert_eq!(after.first, Gaussians::zeros(81, 1));
        assert_eq!(after.second, Gaussians::zeros(81, 1));
    }
}

/// The dead cannot move without a living one, and growing goes on.
#[test]
fn all_dead_stay_where_they_are() {
    let Some(device) = device() else { return };
    let mut before = state(8, 300, 0);
    before.gaussians.opacity_logits.fill(-30.0);
    let (report, after, capacity) = refined(&device, &before, &mcmc(0.005, 0.1, 310));
    assert_eq!((report.relocated, report.added, report.count), (0, 10, 310));
    assert_eq!(after.gaussians.means[..300], before.gaussians.means);
    assert!((0..310).all(|i| after.gaussians.is_sound(i)));
    assert_eq!(capacity, 310, "no more than the limit");
}

/// A draw's probability is the opacity: 20,000 draws over four opacities, within four standard
/// errors.
#[test]
fn draws_follow_opacity() {
    let Some(device) = device() else { return };
    let n = 20_000;
    let mut before = state(9, n, 0);
    let opacity = |i: usize| [0.1, 0.2, 0.4, 0.8][i % 4];
    for i in 0..n {
        before.gaussians.opacity_logits[i] = logit(opacity(i));
        // Tells rows apart.
        before.gaussians.sh[i] = [i as f32; 3];
    }
    let (report, after, _) = refined(&device, &before, &mcmc(0.005, 1.0, 10 * n));
    assert_eq!(report.added, n);
    let mut drawn = [0usize; 4];
    for sh in &after.gaussians.sh[n..] {
        drawn[sh[0] as usize % 4] += 1;
    }
    for class in 0..4 {
        let p = opacity(class) / 1.5;
        let error = (p as f64 * (1.0 - p as f64) / n as f64).sqrt();
        let got = drawn[class] as f64 / n as f64;
        assert!(
            (got - p as f64).abs() < 4.0 * error,
            "class {class}: {got}, {p} is right"
        );
    }
}

/// When memory is short, capacity grows by a tenth, the state stays as it was and the error says
/// what was wanted.
#[test]
fn growth_keeps_the_state_and_fails_cleanly() {
    let Some(device) = device() else { return };
    let before = state(10, 1000, 3);
    let shared: Arc<dyn Device> = device.clone();
    let mut held = State::upload(&shared, &before).unwrap();
    let bytes = 1320 * (59 * 12 + 8);
    device.set_memory_limit(10 * bytes);
    reserve(&shared, &mut held, 1200, usize::MAX).unwrap();
    assert_eq!(held.capacity, 1320);
    assert!(held.download(None).unwrap() == before);
    let mut densify = Densify::new(&Kernels::new(shared.clone())).unwrap();
    // What the state has now, the lists, and not enough for half as much again.
    for extra in [0, 20_000, 100_000] {
        device.set_memory_limit(bytes + extra);
        let refine = mcmc(0.005, 0.5, 100_000);
        let error = densify.refine(&mut held, &refine, None).unwrap_err();
        assert!(matches!(error, BackendError::OutOfMemory { .. }), "{error}");
        assert!(
            held.download(None).unwrap() == before,
            "a failed refinement changed the state"
        );
    }
    device.set_memory_limit(10 * bytes);
    assert_eq!(
        densify
            .refine(&mut held, &mcmc(0.005, 0.5, 100_000), None)
            .unwrap()
            .count,
        1500
    );
}

/// An array goes by way of the host only if the device has no memory for two of it.
#[test]
fn growth_stays_on_the_device_if_it_can() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let shared: Arc<dyn Device> = watched.clone();
    let before = state(10, 1000, 3);
    let grown = |room: usize| {
        let mut held = State::upload(&shared, &before).unwrap();
        // Harmonics have the largest rows, 180 bytes of 716.
        watched.watch().limit = Some(held.bytes() as usize + 100 * 716 + room);
        watched.watch().said_free = Some(room as u64);
        watched.watch().moved = 0;
        reserve(&shared, &mut held, 1100, 1100).unwrap();
        let moved = watched.watch().moved;
        watched.watch().plenty();
        assert!(held.capacity == 1100 && held.download(None).unwrap() == before);
        moved
    };
    assert_eq!(grown(1100 * 192), 0);
    // No more than the statistics want at the end.
    let by_host = grown(4 * 1100);
    assert!(by_host >= 3 * 2 * 1000 * 180, "{by_host}");
}

/// When memory is plenty, capacity doubles, nothing goes by way of the host, and later refinements
/// allocate nothing.
#[test]
fn where_memory_is_plenty_nothing_waits() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let shared: Arc<dyn Device> = watched.clone();
    let before = state(10, 1000, 3);
    let mut held = State::upload(&shared, &before).unwrap();
    let mut densify = Densify::new(&Kernels::new(shared.clone())).unwrap();
    watched.watch().said_free = Some(1 << 40);
    watched.watch().moved = 0;
    densify
        .refine(&mut held, &adc(1.7e-3, None, 100_000), None)
        .unwrap();
    assert!(held.capacity > 2000, "{}", held.capacity);
    // The numbers, for the sizes and for the report.
    assert_eq!(watched.watch().moved, 2 * 128);
    let allocations = watched.watch().allocations;
    for more in [0, 5] {
        let refine = adc(1e-3, None, held.count + more);
        densify.refine(&mut held, &refine, None).unwrap();
    }
    let again = watched.watch().allocations - allocations;
    assert!(
        again <= 2,
        "{again} allocations of refinements that need no more room"
    );
    // Not kept when it is needed elsewhere.
    watched.watch().said_free = Some(0);
    densify
        .refine(&mut held, &mcmc(0.005, 0.0, 1), None)
        .unwrap();
    assert_eq!(watched.watch().bytes as u64, held.bytes() + densify.bytes());
}
