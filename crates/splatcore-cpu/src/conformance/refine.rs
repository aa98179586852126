//! Densification: nothing is lost, what is new is what it should be. The order of Gaussians afterwards is the
//! backend's own affair: harmonics tell who came from whom.

use super::scenes::{plain_camera, random_scene};
use super::{Outcome, ensure, said};
use crate::twin::densify::{self, Growth};
use crate::twin::project::{Shape, sigmoid};
use crate::twin::{self, Scene};
use splatcore_core::backend::{Backend, LearnerState, Refine, RefineReport, RenderOptions};
use splatcore_core::gaussians::logit;
use splatcore_core::{Gaussians, Image, Learner, metrics};
use std::collections::HashMap;
use std::sync::Arc;

/// A state in mid-training: every moment and statistic is different and not zero.
fn state(seed: u64, count: usize) -> LearnerState {
    let gaussians = random_scene(seed, count, 1);
    let moments = |scale: f32| {
        let mut m = random_scene(seed + 1, count, 1);
        for v in m.sh.iter_mut().flatten().chain(m.means.iter_mut().flatten()) {
            *v = scale * v.abs() + 1e-3;
        }
        m
    };
    LearnerState {
        first: moments(0.1),
        second: moments(0.01),
        // Never seen means no sum.
        gradient_sum: (0..count)
            .map(|i| (i % 10 * (i % 4).min(1)) as f32 * 1e-3)
            .collect(),
        seen: (0..count).map(|i| (i % 4) as u32).collect(),
        gaussians,
    }
}

fn learner(backend: &dyn Backend, state: &LearnerState) -> Result<Box<dyn Learner>, String> {
    let mut learner = backend
        .learner(&state.gaussians, Arc::new(Vec::new()))
        .map_err(said)?;
    learner.restore(state).map_err(said)?;
    Ok(learner)
}

/// Refines, and checks what holds for every refinement: shapes, the report's count, and that doing it again from the
/// same state gives the same.
fn refined(
    backend: &dyn Backend,
    before: &LearnerState,
    refine: &Refine,
) -> Result<(RefineReport, LearnerState), String> {
    let run = || -> Result<_, String> {
        let mut learner = learner(backend, before)?;
        let report = learner.refine(refine).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        ensure(
            report.count == learner.count() && report.count == after.gaussians.len(),
            || {
                format!(
                    "the report says {} Gaussians, there are {}",
                    report.count,
                    after.gaussians.len()
                )
            },
        )?;
        Ok((report, after))
    };
    let (report, after) = run()?;
    ensure(run()? == (report, after.clone()), || {
        "the same refinement of the same state gives another result".into()
    })?;
    let n = after.gaussians.len();
    let shapes = [&after.gaussians, &after.first, &after.second];
    ensure(
        shapes.iter().all(|g| g.len() == n && g.sh.len() == 4 * n)
            && after.gradient_sum.len() == n
            && after.seen.len() == n,
        || "shapes of parameters, moments and statistics differ".into(),
    )?;
    ensure((0..n).all(|i| after.gaussians.is_sound(i)), || {
        "a refinement made numbers that are not finite".into()
    })?;
    Ok((report, after))
}

/// Rows of `after` by the harmonics of the row of `before` that they come from.
fn families(before: &Gaussians, after: &Gaussians) -> Result<Vec<Vec<usize>>, String> {
    let key = |g: &Gaussians, i: usize| -> Vec<u32> {
        g.sh_of(i).as_flattened().iter().map(|v| v.to_bits()).collect()
    };
    let parents: HashMap<Vec<u32>, usize> = (0..before.len()).map(|i| (key(before, i), i)).collect();
    let mut families = vec![Vec::new(); before.len()];
    for i in 0..after.len() {
        let parent = parents
            .get(&key(after, i))
            .ok_or_else(|| format!("Gaussian {i} has nobody's harmonics"))?;
        families[*parent].push(i);
    }
    Ok(families)
}

/// Row `i` of `a` and row `j` of `b` are the same bits.
fn same_row(a: &Gaussians, i: usize, b: &Gaussians, j: usize) -> bool {
    a.means[i] == b.means[j]
        && a.log_scales[i] == b.log_scales[j]
        && a.rotations[i] == b.rotations[j]
        && a.opacity_logits[i] == b.opacity_logits[j]
        && a.sh_of(i) == b.sh_of(j)
}

fn moments_are_zero(state: &LearnerState, i: usize) -> bool {
    let zero = Gaussians::zeros(1, state.gaussians.sh_degree);
    same_row(&state.first, i, &zero, 0) && same_row(&state.second, i, &zero, 0)
}

/// The whole row with its moments survived.
fn survived(before: &LearnerState, i: usize, after: &LearnerState, j: usize) -> bool {
    same_row(&before.gaussians, i, &after.gaussians, j)
        && same_row(&before.first, i, &after.first, j)
        && same_row(&before.second, i, &after.second, j)
}

fn statistics_are_clear(state: &LearnerState) -> Outcome {
    ensure(
        state.seen.iter().all(|&v| v == 0) && state.gradient_sum.iter().all(|&v| v == 0.0),
        || "statistics were not cleared".into(),
    )
}

fn adc(gradient_threshold: f32, min_opacity: f32, max_gaussians: usize) -> Refine {
    Refine::Adc {
        gradient_threshold,
        split_scale: 0.13,
        min_opacity,
        max_scale: None,
        max_gaussians,
        seed: 3,
        step: 600,
    }
}

fn twin_growth(before: &LearnerState, threshold: f32, limit: usize) -> Vec<Growth> {
    let means: Vec<f64> = before
        .gradient_sum
        .iter()
        .zip(&before.seen)
        .map(|(&sum, &seen)| densify::mean_gradient(sum as f64, seen))
        .collect();
    densify::growth(
        &Scene::from(&before.gaussians),
        &means,
        threshold as f64,
        0.13,
        limit,
    )
}

/// Without pruning: who stays stays as it was, a clone equals its parent, a split parent is replaced by two smaller
/// ones within its spread.
pub fn adc_clones_and_splits(backend: &dyn Backend) -> Outcome {
    let before = state(61, 400);
    let threshold = 1.7e-3;
    let (report, after) = refined(backend, &before, &adc(threshold, 0.0, 10_000))?;
    let growth = twin_growth(&before, threshold, 10_000);
    let count = |kind| growth.iter().filter(|&&g| g == kind).count();
    let (clones, splits) = (count(Growth::Clone), count(Growth::Split));
    ensure(clones > 20 && splits > 20, || {
        format!("the scene tests nothing: {clones} clones, {splits} splits")
    })?;
    ensure(
        [report.cloned, report.split, report.pruned, report.count]
            == [clones, splits, 0, 400 + clones + splits],
        || format!("{report:?}; the twin clones {clones}, splits {splits}"),
    )?;
    statistics_are_clear(&after)?;
    let mut square = 0.0;
    let families = families(&before.gaussians, &after.gaussians)?;
    for (i, family) in families.iter().enumerate() {
        let expected = if growth[i] == Growth::Keep { 1 } else { 2 };
        ensure(family.len() == expected, || {
            format!(
                "Gaussian {i} should {:?} and became {} Gaussians",
                growth[i],
                family.len()
            )
        })?;
        let originals = family
            .iter()
            .filter(|&&j| survived(&before, i, &after, j))
            .count();
        let new_clones = family
            .iter()
            .filter(|&&j| same_row(&before.gaussians, i, &after.gaussians, j) && moments_are_zero(&after, j))
            .count();
        let right = match growth[i] {
            Growth::Keep => originals == 1,
            Growth::Clone => originals == 1 && new_clones == 1,
            Growth::Split => originals == 0 && family.iter().all(|&j| moments_are_zero(&after, j)),
        };
        ensure(right, || {
            format!(
                "Gaussian {i} should {:?}: {originals} of it are as before, {new_clones} are copies without moments",
                growth[i]
            )
        })?;
        if growth[i] == Growth::Split {
            for &j in family {
                square += split_child(&before.gaussians, i, &after.gaussians, j)?;
            }
        }
    }
    // Drawn from the parent: a squared distance of 3 (one an axis) on average, standard error sqrt(6 / children).
    let (mean, error) = (square / (2 * splits) as f64, (6.0 / (2 * splits) as f64).sqrt());
    ensure((mean - 3.0).abs() < 4.0 * error, || {
        format!("split children lie at a mean squared distance of {mean:.2} sigmas, 3 is right")
    })
}

/// Checks a split child and returns its squared distance from its parent in sigmas.
fn split_child(before: &Gaussians, parent: usize, after: &Gaussians, child: usize) -> Result<f64, String> {
    for k in 0..3 {
        let want = before.log_scales[parent][k] as f64 - densify::SPLIT_DIVISOR.ln();
        ensure((after.log_scales[child][k] as f64 - want).abs() < 1e-5, || {
            format!(
                "a child of Gaussian {parent} has log scale {}, {want} is right",
                after.log_scales[child][k]
            )
        })?;
    }
    ensure(
        after.rotations[child] == before.rotations[parent]
            && after.opacity_logits[child] == before.opacity_logits[parent],
        || format!("a child of Gaussian {parent} has another rotation or opacity"),
    )?;
    let wide = Scene::from(before);
    let shape = Shape::new(wide.log_scales[parent], wide.rotations[parent]).ok_or("no quaternion")?;
    let offset: [f64; 3] = std::array::from_fn(|k| after.means[child][k] as f64 - wide.means[parent][k]);
    let axes = twin::matrix::transpose_times(&shape.rotation, offset);
    let distance: f64 = (0..3).map(|k| (axes[k] / shape.scales[k]).powi(2)).sum();
    // 5 sigma in three dimensions: 1.5e-5 a child.
    ensure(distance > 0.0 && distance < 30.0, || {
        format!(
            "a child of Gaussian {parent} lies {:.1} sigmas away",
            distance.sqrt()
        )
    })?;
    Ok(distance)
}

/// Pruning by opacity and by size; the limit stops growth, the largest gradients first.
pub fn adc_prunes_and_respects_the_limit(backend: &dyn Backend) -> Outcome {
    let before = state(62, 300);
    let opacity = |i: usize| sigmoid(before.gaussians.opacity_logits[i] as f64);
    // Nothing grows at an infinite threshold.
    let mut refine = adc(f32::INFINITY, 0.2, 10_000);
    if let Refine::Adc { max_scale, .. } = &mut refine {
        *max_scale = Some(0.4);
    }
    let (report, after) = refined(backend, &before, &refine)?;
    let largest = |i: usize| densify::largest_scale(before.gaussians.log_scales[i].map(f64::from));
    let kept: Vec<usize> = (0..300)
        .filter(|&i| opacity(i) >= 0.2 && largest(i) <= 0.4)
        .collect();
    let by_opacity = (0..300).filter(|&i| opacity(i) < 0.2).count();
    ensure(kept.len() < 300 - by_opacity && by_opacity > 10, || {
        "the scene tests nothing".into()
    })?;
    ensure(
        report.pruned == 300 - kept.len() && report.count == kept.len() && report.cloned + report.split == 0,
        || format!("{report:?}; the twin keeps {}", kept.len()),
    )?;
    for (i, family) in families(&before.gaussians, &after.gaussians)?.iter().enumerate() {
        let right = match (kept.contains(&i), family.as_slice()) {
            (true, &[j]) => survived(&before, i, &after, j),
            (false, &[]) => true,
            _ => false,
        };
        ensure(right, || {
            format!(
                "Gaussian {i} of opacity {:.3} and size {:.3} was treated wrongly by pruning",
                opacity(i),
                largest(i)
            )
        })?;
    }

    let threshold = 1e-4;
    for limit in [320, 300, 10] {
        let (report, after) = refined(backend, &before, &adc(threshold, 0.0, limit))?;
        let growth = twin_growth(&before, threshold, limit);
        let want = growth.iter().filter(|&&g| g != Growth::Keep).count();
        ensure(
            report.count == 300 + want && report.cloned + report.split == want,
            || format!("limit {limit}: {report:?}; the twin grows by {want}"),
        )?;
        let families = families(&before.gaussians, &after.gaussians)?;
        // Among equal gradients at the edge of the limit the index decides.
        let wrong = (0..300).find(|&i| (families[i].len() == 2) != (growth[i] != Growth::Keep));
        ensure(wrong.is_none(), || {
            format!("limit {limit}: Gaussian {wrong:?} grew out of turn")
        })?;
    }
    Ok(())
}

/// Opacities are capped, the rest of the parameters stays, the opacity's moments are cleared.
pub fn opacity_reset_caps(backend: &dyn Backend) -> Outcome {
    let before = state(63, 100);
    let (report, after) = refined(backend, &before, &Refine::ResetOpacity { ceiling: 0.01 })?;
    ensure(report.count == 100, || format!("{report:?}"))?;
    for i in 0..100 {
        let (old, new) = (
            before.gaussians.opacity_logits[i],
            after.gaussians.opacity_logits[i],
        );
        let opacity = sigmoid(old as f64).min(0.01);
        ensure(
            (sigmoid(new as f64) - opacity).abs() < 1e-6 && (opacity == 0.01 || new == old),
            || format!("the opacity logit of Gaussian {i} went from {old} to {new}"),
        )?;
        ensure(
            after.first.opacity_logits[i] == 0.0 && after.second.opacity_logits[i] == 0.0,
            || format!("the opacity of Gaussian {i} keeps its moments"),
        )?;
    }
    let mut rest = after.clone();
    rest.gaussians.opacity_logits = before.gaussians.opacity_logits.clone();
    rest.first.opacity_logits = before.first.opacity_logits.clone();
    rest.second.opacity_logits = before.second.opacity_logits.clone();
    ensure(
        rest.gaussians == before.gaussians && rest.first == before.first && rest.second == before.second,
        || "an opacity reset changed something else".into(),
    )
}

fn mcmc(growth: f32, max_gaussians: usize) -> Refine {
    Refine::Mcmc {
        min_opacity: 0.02,
        growth,
        max_gaussians,
        seed: 3,
        step: 700,
    }
}

/// A family of copies shares opacity and scale by equation 9 and has no moments.
fn family_shares(before: &LearnerState, i: usize, after: &LearnerState, family: &[usize]) -> Outcome {
    let copies = family.len();
    let opacity = sigmoid(before.gaussians.opacity_logits[i] as f64);
    let shared = densify::shared_opacity(opacity, copies);
    let factor = densify::shared_scale_factor(opacity, copies);
    for &j in family {
        let g = &after.gaussians;
        ensure(
            g.means[j] == before.gaussians.means[i] && g.rotations[j] == before.gaussians.rotations[i],
            || format!("a copy of Gaussian {i} lies elsewhere"),
        )?;
        // The floor of the authors' code.
        let got = sigmoid(g.opacity_logits[j] as f64);
        ensure((got - shared.max(0.02)).abs() < 1e-5, || {
            format!("{copies} copies of an opacity of {opacity:.5} have {got:.5} each, {shared:.5} is right")
        })?;
        for k in 0..3 {
            let grown = (g.log_scales[j][k] - before.gaussians.log_scales[i][k]) as f64;
            ensure((grown - factor.ln()).abs() < 1e-4, || {
                format!(
                    "{copies} copies of an opacity of {opacity:.5} have {:.6} of the scale each, {factor:.6} is right",
                    grown.exp()
                )
            })?;
        }
        ensure(moments_are_zero(after, j), || {
            format!("a copy of Gaussian {i} has moments")
        })?;
    }
    Ok(())
}

/// The picture from one side, by the twin.
fn picture(gaussians: &Gaussians) -> Image {
    let options = RenderOptions {
        background: [0.5; 3],
        ..RenderOptions::default()
    };
    let frame = twin::render(gaussians, &plain_camera(80, 60), &options);
    Image {
        width: 80,
        height: 60,
        data: frame.image.iter().map(|p| p.map(|v| v as f32)).collect(),
    }
}

/// Without growth: the dead move onto the living, whose families share; nobody else changes; the picture stays.
pub fn mcmc_relocates(backend: &dyn Backend) -> Outcome {
    let mut before = state(64, 500);
    let dead: Vec<bool> = (0..500).map(|i| i % 9 == 4).collect();
    for i in 0..500 {
        let opacity = if dead[i] {
            0.01
        } else {
            0.1 + 0.8 * (i % 13) as f32 / 13.0
        };
        before.gaussians.opacity_logits[i] = logit(opacity);
    }
    let count = dead.iter().filter(|&&d| d).count();
    let (report, after) = refined(backend, &before, &mcmc(0.0, 10_000))?;
    ensure(
        [report.relocated, report.added, report.count] == [count, 0, 500],
        || format!("{report:?}; {count} of 500 are dead"),
    )?;
    let (mut drawn, mut drawn_opacity) = (0, 0.0);
    for (i, family) in families(&before.gaussians, &after.gaussians)?.iter().enumerate() {
        match (dead[i], family.as_slice()) {
            (true, []) => {}
            (true, _) => return Err(format!("Gaussian {i} is dead and was not moved")),
            (false, []) => return Err(format!("Gaussian {i} is alive and is gone")),
            (false, &[j]) => ensure(survived(&before, i, &after, j), || {
                format!("Gaussian {i} was not drawn and changed")
            })?,
            (false, family) => {
                family_shares(&before, i, &after, family)?;
                drawn += family.len() - 1;
                drawn_opacity +=
                    (family.len() - 1) as f64 * sigmoid(before.gaussians.opacity_logits[i] as f64);
            }
        }
    }
    ensure(drawn == count, || format!("{drawn} were drawn for {count} dead"))?;
    // Drawn in proportion to opacity: the mean opacity of those drawn is E[o²]/E[o], here 0.58, not E[o] = 0.47. Its
    // standard error over some 55 draws is 0.03.
    let (mut first, mut second) = (0.0, 0.0);
    for i in (0..500).filter(|&i| !dead[i]) {
        let o = sigmoid(before.gaussians.opacity_logits[i] as f64);
        first += o;
        second += o * o;
    }
    let (got, want) = (drawn_opacity / drawn as f64, second / first);
    ensure((got - want).abs() < 0.1, || {
        format!("those drawn have a mean opacity of {got:.3}; in proportion to opacity it is {want:.3}")
    })?;
    // The dead were nearly invisible, and families look like their parents but for their flanks.
    let psnr = metrics::psnr_between(&picture(&before.gaussians), &picture(&after.gaussians));
    ensure(psnr > 30.0, || {
        format!("relocation changes the picture: {psnr:.1} dB")
    })
}

/// Without dead ones: the set grows by its share up to the limit.
pub fn mcmc_grows(backend: &dyn Backend) -> Outcome {
    let mut before = state(65, 400);
    for (i, l) in before.gaussians.opacity_logits.iter_mut().enumerate() {
        *l = logit(0.1 + 0.8 * (i % 13) as f32 / 13.0);
    }
    for (limit, want) in [(10_000, 20), (407, 7), (400, 0), (100, 0)] {
        let (report, after) = refined(backend, &before, &mcmc(0.05, limit))?;
        ensure(
            [report.relocated, report.added, report.count] == [0, want, 400 + want],
            || format!("limit {limit}: {report:?}; growth by {want} is right"),
        )?;
        for (i, family) in families(&before.gaussians, &after.gaussians)?.iter().enumerate() {
            match family.as_slice() {
                [] => return Err(format!("limit {limit}: Gaussian {i} is gone")),
                &[j] => ensure(survived(&before, i, &after, j), || {
                    format!("limit {limit}: Gaussian {i} was not drawn and changed")
                })?,
                family => family_shares(&before, i, &after, family)?,
            }
        }
        let psnr = metrics::psnr_between(&picture(&before.gaussians), &picture(&after.gaussians));
        ensure(psnr > 35.0, || {
            format!("limit {limit}: growth changes the picture: {psnr:.1} dB")
        })?;
    }
    Ok(())
}
