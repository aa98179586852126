//! Adaptive density control against the twin's decisions.

use super::super::outcome::{Outcome, ensure};
use super::{families, moments_are_zero, refined, same_row, state, statistics_are_clear, survived};
use crate::twin::densify::{self, Growth};
use crate::twin::project::{Shape, sigmoid};
use crate::twin::{Scene, matrix};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::random::draw_key;

fn adc(gradient_threshold: f32, min_opacity: f32, max_gaussians: usize) -> Refine {
    Refine::Adc {
        gradient_threshold,
        split_scale: 0.13,
        min_opacity,
        max_scale: None,
        max_gaussians,
        budget: None,
        region: None,
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

/// Without pruning: who stays stays as it was, a clone equals its parent, a split parent is
/// replaced by two smaller ones within its spread.
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
            .filter(|&&j| {
                same_row(&before.gaussians, i, &after.gaussians, j) && moments_are_zero(&after, j)
            })
            .count();
        let right = match growth[i] {
            Growth::Keep => originals == 1,
            Growth::Clone => originals == 1 && new_clones == 1,
            Growth::Split => originals == 0 && family.iter().all(|&j| moments_are_zero(&after, j)),
        };
        ensure(right, || {
            format!(
                "Gaussian {i} should {:?}: {originals} of it are as before, {new_clones} are \
                 copies without moments",
                growth[i]
            )
        })?;
        if growth[i] == Growth::Split {
            for &j in family {
                square += split_child(&before.gaussians, i, &after.gaussians, j)?;
            }
        }
    }
    // Drawn from the parent: a squared distance of 3 (one an axis) on average, standard error
    // sqrt(6 / children).
    let (mean, error) = (
        square / (2 * splits) as f64,
        (6.0 / (2 * splits) as f64).sqrt(),
    );
    ensure((mean - 3.0).abs() < 4.0 * error, || {
        format!("split children lie at a mean squared distance of {mean:.2} sigmas, 3 is right")
    })
}

/// Checks a split child and returns its squared distance from its parent in sigmas.
fn split_child(
    before: &Gaussians,
    parent: usize,
    after: &Gaussians,
    child: usize,
) -> Result<f64, String> {
    for k in 0..3 {
        let want = before.log_scales[parent][k] as f64 - densify::SPLIT_DIVISOR.ln();
        ensure(
            (after.log_scales[child][k] as f64 - want).abs() < 1e-5,
            || {
                format!(
                    "a child of Gaussian {parent} has log scale {}, {want} is right",
                    after.log_scales[child][k]
                )
            },
        )?;
    }
    ensure(
        after.rotations[child] == before.rotations[parent]
            && after.opacity_logits[child] == before.opacity_logits[parent],
        || format!("a child of Gaussian {parent} has another rotation or opacity"),
    )?;
    let wide = Scene::from(before);
    let shape =
        Shape::new(wide.log_scales[parent], wide.rotations[parent]).ok_or("no quaternion")?;
    let offset: [f64; 3] =
        std::array::from_fn(|k| after.means[child][k] as f64 - wide.means[parent][k]);
    let axes = matrix::transpose_times(&shape.rotation, offset);
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
        report.pruned == 300 - kept.len()
            && report.count == kept.len()
            && report.cloned + report.split == 0,
        || format!("{report:?}; the twin keeps {}", kept.len()),
    )?;
    for (i, family) in families(&before.gaussians, &after.gaussians)?
        .iter()
        .enumerate()
    {
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

/// Which Gaussians a draw of `room` takes.
fn twin_draw(before: &LearnerState, room: usize) -> Vec<bool> {
    let n = before.gaussians.len();
    let key = |i: usize| draw_key(3, 600, i as u64, before.gradient_sum[i]);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
    let mut taken = vec![false; n];
    for &i in order.iter().take(room).filter(|&&i| key(i) > 0.0) {
        taken[i] = true;
    }
    taken
}

/// Growth by a budget: so many are drawn whatever their gradients, and then cloned or split.
pub fn adc_draws_by_the_budget(backend: &dyn Backend) -> Outcome {
    let before = state(64, 300);
    for (share, room) in [(0.125, 50), (1.0, 400)] {
        let mut refine = adc(f32::INFINITY, 0.1, 700);
        if let Refine::Adc { budget, .. } = &mut refine {
            *budget = Some(share);
        }
        let (report, after) = refined(backend, &before, &refine)?;
        let taken = twin_draw(&before, room);
        let count = taken.iter().filter(|&&taken| taken).count();
        ensure(report.cloned + report.split == count, || {
            format!("{report:?}; a draw of {room} takes {count}")
        })?;
        ensure(
            count > 40 && report.cloned > 5 && report.split > 5 && report.pruned > 5,
            || format!("the scene tests nothing: {report:?}"),
        )?;
        statistics_are_clear(&after)?;
        let families = families(&before.gaussians, &after.gaussians)?;
        for (i, family) in families.iter().enumerate() {
            let opacity = sigmoid(before.gaussians.opacity_logits[i] as f64);
            let expected = match (opacity < 0.1, taken[i]) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => 2,
            };
            ensure(family.len() == expected, || {
                format!("Gaussian {i} became {} Gaussians", family.len())
            })?;
        }
    }
    Ok(())
}
