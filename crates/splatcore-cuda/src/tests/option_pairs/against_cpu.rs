//! Steps and refinements of the device against the CPU's, with the options that are tested on the
//! device.

use super::*;
use crate::tests::support::device::{device, is_card};
use crate::tests::support::watched::Watched;
use splatcore_core::backend::{LearnerState, Refine};
use splatcore_core::colour::ColourState;
use splatcore_core::columns::Column;
use splatcore_core::{BackendError, Gaussians, Learner, metrics};
use splatcore_train::schedule::Schedule;

/// How far the device is from the CPU in one run, the worst of all steps.
#[derive(Default)]
struct Apart {
    /// Relative L2 of what a step adds to the first moments, of any group of parameters.
    moments: f64,
    /// The same of parameters. Larger: where a gradient is all but 0, its sign is chance, and Adam
    /// makes a whole step of it.
    parameters: f64,
    /// Of the statistics, the colour models' numbers and the moments of masks.
    others: f64,
    /// PSNR between images after a step, and after a refinement.
    step: f64,
    refinement: f64,
    /// The smallest number of Gaussians at any time.
    least: usize,
    /// Difference in the number of Gaussians that a refinement leaves.
    gaussians: usize,
}

fn relative(want: &[f32], got: &[f32], before: &[f32]) -> f64 {
    let norm =
        |of: &dyn Fn(usize) -> f64| (0..want.len()).map(|i| of(i).powi(2)).sum::<f64>().sqrt();
    let error = norm(&|i| (got[i] - want[i]) as f64);
    let change = norm(&|i| (want[i] - before[i]) as f64);
    if error == 0.0 { 0.0 } else { error / change }
}

/// Means, log scales, opacities, base colours, other harmonics. Rotations of round Gaussians have
/// no gradient but roundings.
fn groups(g: &Gaussians) -> [Vec<f32>; 5] {
    let harmonics = |base: bool| -> Vec<f32> {
        let of = g.sh.iter().enumerate();
        let of = of.filter(|(i, _)| (i % g.coefficients() == 0) == base);
        of.flat_map(|(_, rgb)| *rgb).collect()
    };
    [
        g.means.concat(),
        g.log_scales.concat(),
        g.opacity_logits.clone(),
        harmonics(true),
        harmonics(false),
    ]
}

fn images(
    learner: &mut dyn Learner,
    views: &[View],
    options: &RenderOptions,
) -> Result<Image, BackendError> {
    let mut data = Vec::new();
    for view in [&views[0], &views[3]] {
        data.extend(learner.render(&view.camera, options)?.image.data);
    }
    Ok(one_row(data))
}

/// Takes every step and every refinement of a run on both, each from the CPU's state before it.
fn in_step(
    photos: &Photos,
    config: &ResolvedConfig,
    device: &dyn Backend,
) -> Result<Apart, BackendError> {
    let views = photos.of(config);
    let points = &photos.dataset.points;
    let start = init::from_points(&points.positions, &points.colours, config, 1.0).gaussians;
    let extent = camera::extent(views.iter().map(|view| &view.camera));
    let schedule = Schedule::new(config, extent);
    let cpu = CpuBackend::new(Some(1));
    let mut want = cpu.learner(&start, views.clone())?;
    let mut got = device.learner(&start, views.clone())?;
    let mut apart = Apart {
        step: f64::INFINITY,
        refinement: f64::INFINITY,
        least: usize::MAX,
        ..Apart::default()
    };
    for step in 0..=config.iterations {
        let options = RenderOptions {
            pipeline: SINGLE,
            ..schedule.render(step)
        };
        if step > 0 {
            let before = want.snapshot()?;
            got.restore(&before)?;
            let plan = schedule.plan(step, vec![(step as usize * 5) % views.len()]);
            want.step(&plan)?;
            got.step(&plan)?;
            let (to, found) = (want.snapshot()?, got.snapshot()?);
            let worst = |of: fn(&LearnerState) -> &Gaussians| {
                let each = groups(of(&to)).into_iter().zip(groups(of(&found)));
                let each = each.zip(groups(of(&before)));
                each.fold(0.0, |worst: f64, ((to, found), before)| {
                    worst.max(relative(&to, &found, &before))
                })
            };
            apart.moments = apart.moments.max(worst(|state| &state.first));
            apart.parameters = apart.parameters.max(worst(|state| &state.gaussians));
            let statistics = relative(&to.gradient_sum, &found.gradient_sum, &before.gradient_sum);
            let rows = |state: &LearnerState| {
                let colours = match (state.colours.is_empty(), to.colours.model) {
                    (true, Some(model)) => ColourState::fresh(model, views.len(), 1),
                    _ => state.colours.clone(),
                };
                colours.photos.parameters
            };
            let colours = relative(&rows(&to), &rows(&found), &rows(&before));
            let learned = |state: &LearnerState| match !state.columns.has(Column::Mask) {
                true => vec![0.0; state.gaussians.len()],
                false => state.columns.arrays(Column::Mask)[1].clone(),
            };
            let masks = relative(&learned(&to), &learned(&found), &learned(&before));
            apart.others = apart.others.max(statistics).max(colours).max(masks);
            let ours = images(got.as_mut(), &views, &options)?;
            let psnr = metrics::psnr_between(&ours, &images(want.as_mut(), &views, &options)?);
            apart.step = apart.step.min(psnr);
        }
        let refinements: Vec<Refine> = match step {
            0 => schedule.preparations().collect(),
            _ => schedule.refinements(step),
        };
        for refine in refinements {
            got.restore(&want.snapshot()?)?;
            let [left, same] = [want.refine(&refine)?.count, got.refine(&refine)?.count];
            apart.gaussians = apart.gaussians.max(left.abs_diff(same));
            apart.least = apart.least.min(left);
            let ours = images(got.as_mut(), &views, &options)?;
            let psnr = metrics::psnr_between(&ours, &images(want.as_mut(), &views, &options)?);
            apart.refinement = apart.refinement.min(psnr);
        }
    }
    Ok(apart)
}

/// Works with a thread on a card, else with many. A card has one queue, in which a kernel may begin
/// before the one in front of it has ended: it must be of the same run.
fn with_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(is_card()));
    pool.build().unwrap().install(work)
}

/// Steps and refinements of the device against the CPU's, each from the same state; and the same
/// bits where photos come one by one.
#[test]
fn the_device_trains_what_the_cpu_trains() {
    let Some(device) = device() else {
        return;
    };
    let watched = Watched::on(device.clone());
    let short_of_memory = Watched::on(device);
    // Photos come one by one then.
    short_of_memory.watch().said_free = Some(100);
    let photos = Photos::new();
    let choices = on_the_device();
    let wrong = with_threads(|| {
        let each = choices.par_iter().filter_map(|pair| {
            let (what, config) = (name(pair), config(pair));
            if config.check().is_err() {
                return None;
            }
            let (most, most_of_parameters, least) = allowed(config.compute.pipeline);
            let apart = match in_step(&photos, &config, &watched.backend()) {
                Ok(apart) => apart,
                Err(error) => return Some(format!("{what}: {error}")),
            };
            let Apart {
                moments,
                parameters,
                others,
                step,
                refinement,
                least: left,
                gaussians,
            } = apart;
            let line = format!(
                "moments {moments:.1e}, parameters {parameters:.1e}, others {others:.1e}, images \
                 {step:.1} dB, after a \
                 refinement {refinement:.1} dB, at least {left} Gaussians, {gaussians} apart: \
                 {what}"
            );
            eprintln!("{line}");
            let same_bits = || {
                let [ring, resident] = [&short_of_memory, &watched]
                    .map(|device| trained(&photos, &config, &device.backend()));
                ring.is_ok_and(|ring| resident.is_ok_and(|resident| ring == resident))
            };
            if pair.len() == 1 && !same_bits() {
                return Some(format!(
                    "{what}: photos that come one by one train something else"
                ));
            }
            // A pixel near the limit is bad by one image and not by the other. (Nor do the
            // backends draw for mcmc alike.)
            let may_decide_otherwise = config.compute.pipeline == Pipeline::AUTO;
            let sound = moments < most
                && parameters < most_of_parameters
                && others < most
                && step > least
                && left > 10
                && (may_decide_otherwise || gaussians == 0)
                && (may_decide_otherwise
                    || refinement > least
                    || config.strategy == Strategy::Mcmc);
            (!sound).then_some(line)
        });
        each.collect::<Vec<String>>()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
