//! Which Gaussians are floaters, against the twin's depth.

use super::super::case::through;
use super::super::outcome::{Outcome, ensure, gather, said};
use super::super::scenes::{random_scene, views};
use super::{families, survived};
use crate::twin;
use splatcore_core::backend::{Backend, LearnerState, Refine, RenderOptions};
use splatcore_core::floaters::HIDDEN;
use splatcore_core::lens::Projection;
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, Lens, Pipeline, View};
use std::sync::Arc;

const SHARE: f32 = 0.8;
/// Relative error of a ratio of depths near which roundings decide: of f32, and of halves, which
/// may hold the pixel's.
const DOUBT: f64 = 0.02;
/// A mean so near to the border of a pixel may be in either.
const BORDER: f64 = 1e-3;

/// What the twin says of every Gaussian in one view: `Err` where roundings decide.
fn verdicts(
    state: &LearnerState,
    view: &View,
    options: &RenderOptions,
) -> Vec<Result<Option<bool>, ()>> {
    let camera = &view.camera;
    let frame = twin::render(&state.gaussians, camera, options);
    let mean = |i: usize| state.gaussians.means[i].map(f64::from);
    (0..state.gaussians.len())
        .map(|i| {
            let point = camera.to_view(mean(i));
            let projection = Projection::new(camera).ok_or(())?;
            let z = projection.depth(point);
            let near = options.semantics.near_plane as f64;
            if (z / near - 1.0).abs() < BORDER {
                return Err(());
            }
            if z < near {
                return Ok(None);
            }
            if !camera.is_pinhole() && !projection.sees_centre(point) {
                return Ok(None);
            }
            let [u, v] = match camera.is_pinhole() {
                true => {
                    let [x, y, z] = point;
                    [camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy]
                }
                false => projection.project(point),
            };
            let (width, height) = (frame.width as f64, frame.height as f64);
            if u < -BORDER || u > width + BORDER || v < -BORDER || v > height + BORDER {
                return Ok(None);
            }
            if [u, v].iter().any(|at| (at - at.round()).abs() < BORDER) {
                return Err(());
            }
            let pixel = v as usize * frame.width + u as usize;
            let taken = 1.0 - frame.transmittance[pixel];
            if taken == 0.0 {
                return Ok(None);
            }
            let ratio = z * frame.inverse_depth[pixel] / taken;
            let at = |limit: f64| (ratio / limit - 1.0).abs() < DOUBT;
            // Of an alpha so small that 8 bits would not show it, roundings are a large share.
            if taken < 0.01 || at(SHARE as f64) || at(HIDDEN as f64) {
                return Err(());
            }
            Ok((ratio < HIDDEN as f64).then_some(ratio > SHARE as f64))
        })
        .collect()
}

/// A wall before the first view and faint Gaussians between them; other views see some of those
/// beside the wall.
fn wall_and_floaters() -> Gaussians {
    let (rows, floaters) = (14, 120);
    let camera = &views()[0].camera;
    let mut rng = Rng::new(31, 7);
    let mut scene = random_scene(77, rows * rows + floaters, 1);
    for i in 0..scene.len() {
        // Places in the image from 0 to 1, and depth.
        let (u, v, z) = match i.checked_sub(rows * rows) {
            None => {
                let place = |k: usize| 1.5 * (k as f64 + 0.5) / rows as f64 - 0.25;
                (place(i % rows), place(i / rows), 6.0)
            }
            Some(_) => {
                let mut random = || rng.uniform() as f64;
                (random(), random(), 2.0 + 2.0 * random())
            }
        };
        let point = [
            (u * camera.width as f64 - camera.cx) / camera.fx * z - camera.translation[0],
            (v * camera.height as f64 - camera.cy) / camera.fy * z - camera.translation[1],
            z - camera.translation[2],
        ];
        scene.means[i] = std::array::from_fn(|k| {
            let along: f64 = (0..3).map(|j| camera.rotation[j][k] * point[j]).sum();
            along as f32
        });
        let spacing = 1.5 * camera.width as f64 / camera.fx * 6.0 / rows as f64;
        let (scale, logit) = match i < rows * rows {
            true => (0.6 * spacing, 3.0),
            false => (0.1 * spacing, -3.0),
        };
        scene.log_scales[i] = [scale.ln() as f32; 3];
        scene.opacity_logits[i] = logit;
    }
    scene
}

/// Who is a part of what some view shows stays, who only hangs before it goes, and who nobody can
/// tell stays; survivors keep their rows and statistics. Without views all stay.
pub fn floaters_go(backend: &dyn Backend) -> Outcome {
    let pipelines = [Pipeline::AUTO, Pipeline::VANILLA];
    gather(pipelines.map(|pipeline| one_pipeline(backend, pipeline, &views())))
}

/// The same in views through these lenses, one a view.
pub fn floaters_go_through(backend: &dyn Backend, lenses: &[Lens]) -> Outcome {
    let mut views = views();
    for (view, &lens) in views.iter_mut().zip(lenses) {
        view.camera = through(view.camera.clone(), lens);
    }
    floaters_go_in(backend, &views)
}

/// The same in these views.
pub fn floaters_go_in(backend: &dyn Backend, views: &[View]) -> Outcome {
    one_pipeline(backend, Pipeline::AUTO, views)
}

fn one_pipeline(backend: &dyn Backend, pipeline: Pipeline, views: &[View]) -> Outcome {
    let mut before = LearnerState::fresh(wall_and_floaters());
    let n = before.gaussians.len();
    before.gradient_sum = (0..n).map(|i| 1.0 + i as f32).collect();
    before.seen = (0..n).map(|i| 1 + i as u32 % 3).collect();
    let render = RenderOptions {
        pipeline,
        background: [0.13, 0.57, 0.31],
        ..RenderOptions::default()
    };
    let want = copies_wanted(&before, &render, views)?;
    let refine = Refine::PruneFloaters {
        render,
        depth_share: SHARE,
    };
    let run = |views: Vec<View>| -> Result<_, String> {
        let mut learner = backend
            .learner(&before.gaussians, Arc::new(views))
            .map_err(said)?;
        learner.restore(&before).map_err(said)?;
        let report = learner.refine(&refine).map_err(said)?;
        Ok((report, learner.snapshot().map_err(said)?))
    };
    let (report, after) = run(views.to_vec())?;
    ensure(run(views.to_vec())? == (report, after.clone()), || {
        "the same refinement of the same state gives another result".into()
    })?;
    ensure(
        report.pruned == n - after.gaussians.len() && report.count == after.gaussians.len(),
        || format!("{pipeline}: {report:?}, {} are left", after.gaussians.len()),
    )?;
    who_stays_stays_whole(&before, &after, &want).map_err(|what| format!("{pipeline}: {what}"))?;
    let (report, after) = run(Vec::new())?;
    ensure(report.pruned == 0 && after == before, || {
        "Gaussians go though no view says anything".into()
    })
}

/// How many copies of each Gaussian there should be afterwards, 0 or 1; `None` where roundings
/// decide.
fn copies_wanted(
    before: &LearnerState,
    render: &RenderOptions,
    views: &[View],
) -> Result<Vec<Option<usize>>, String> {
    let n = before.gaussians.len();
    let said_by_views: Vec<_> = views
        .iter()
        .map(|view| verdicts(before, view, render))
        .collect();
    let want: Vec<Option<usize>> = (0..n)
        .map(|i| {
            let of = |wanted: Result<Option<bool>, ()>| {
                said_by_views.iter().any(|view| view[i] == wanted)
            };
            match () {
                () if of(Ok(Some(true))) => Some(1),
                () if of(Err(())) => None,
                () => Some(usize::from(!of(Ok(Some(false))))),
            }
        })
        .collect();
    let count = |wanted| want.iter().filter(|&&copies| copies == wanted).count();
    let cleared = (0..n).filter(|&i| {
        let says = |wanted| said_by_views.iter().any(|view| view[i] == Ok(Some(wanted)));
        says(true) && says(false)
    });
    let counts = [count(Some(0)), count(Some(1)), count(None), cleared.count()];
    ensure(
        counts[0] > 10 && counts[1] > 40 && 5 * counts[2] < n && counts[3] > 3,
        || {
            format!(
                "the scene tests nothing: {counts:?} go, stay, are doubtful, are judged differently"
            )
        },
    )?;
    Ok(want)
}

/// Every Gaussian has as many copies as it should, moments and statistics included.
fn who_stays_stays_whole(
    before: &LearnerState,
    after: &LearnerState,
    want: &[Option<usize>],
) -> Outcome {
    for (i, family) in families(&before.gaussians, &after.gaussians)?
        .iter()
        .enumerate()
    {
        ensure(want[i].is_none_or(|want| family.len() == want), || {
            format!(
                "Gaussian {i} became {} Gaussians, {:?} are right",
                family.len(),
                want[i]
            )
        })?;
        for &j in family {
            ensure(
                survived(before, i, after, j)
                    && after.gradient_sum[j] == before.gradient_sum[i]
                    && after.seen[j] == before.seen[i],
                || format!("Gaussian {i} stayed and is not what it was"),
            )?;
        }
    }
    Ok(())
}
