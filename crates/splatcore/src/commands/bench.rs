//! `splatcore bench`: the time of each stage, counts, and equality with the reference, for each
//! pipeline.

mod args;
mod compressed;
mod paper;
mod result;
mod samples;
mod steps;
mod table;
mod timing;
mod trainings;

pub use args::Args;

use crate::output::WrongUsage;
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use crate::{output, remedy};
use anyhow::{Result, bail};
use args::{Pipelines, Reference};
use result::{Bench, Made, Skipped};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, RenderOptions, Renderer};
use splatcore_core::pipeline::{Blend, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_cuda::device::replaced;
use splatcore_papers::{Paper, Row};
use steps::Steps;
use timing::Measured;

/// Runs the command.
pub fn run(mut args: Args) -> Result<()> {
    args.cameras.fixed = true;
    for (file, flag) in [(&args.json, "--json"), (&args.html, "--html")] {
        if let Some(file) = file {
            output::check_file_writable(file, flag)?;
        }
    }
    if args.trainings.is_some() && !args.paper.is_some_and(Paper::trains) {
        let problem = "--trainings goes with --paper atomic-aggregation, which has a table of them";
        return Err(WrongUsage(problem.into()).into());
    }
    let models = compressed::of_scenes(&args.compressed, args.paper, args.scenes.len())?;
    if args.paper.is_some() && replaced::folder().is_some() {
        let problem = "the papers' tables are of the built-in kernels; unset SPLATCORE_KERNELS, or \
                       compare with your own by bench without --paper";
        return Err(WrongUsage(problem.into()).into());
    }
    match (args.paper, args.scenes.as_slice()) {
        (Some(paper), _) => paper::run(&args, paper, &models),
        (None, [scene]) => run_pipelines(&args, &SceneSource::find(scene)?),
        (None, _) => {
            let problem = "several scenes go with --paper only; give one";
            Err(WrongUsage(problem.into()).into())
        }
    }
}

fn run_pipelines(args: &Args, source: &SceneSource) -> Result<()> {
    args.cameras.check_given(source)?;
    let (scene, antialias) = source.load()?;
    let half_scene = args.half.half_scene;
    let backend = args.backend.open_for(&args.half)?;
    let (cameras, background) = args.cameras.resolve(source, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    let replaced = replaced::folder().is_some();
    let judge = Judge::of(backend.name(), half_scene, replaced);
    let mut full = judge.renderer(args, &scene)?;
    let options = |(pipeline, interpolate)| RenderOptions {
        pipeline,
        background,
        antialias,
        interpolate,
        ..RenderOptions::default()
    };
    let mut steps = match args.backward {
        true => Some(Steps::new(
            &*backend,
            &mut *renderer,
            &scene,
            &cameras,
            &options((Pipeline::VANILLA, false)),
        )?),
        false => None,
    };
    let gaussians = scene.len();
    drop(scene);

    let asked = pipelines(args.pipeline.as_ref(), args.backward);
    let all_options: Vec<_> = variants(&asked.list, args.interpolate)
        .map(options)
        .collect();
    let reference = match args.reference {
        Reference::Vanilla => Some(options((judge.pipeline(backend.name()), false))),
        Reference::None => None,
    };
    let passes = all_options.len() as u64 * timing::passes(args.passes, args.backward);
    let references = reference.as_ref().map_or(0, |_| cameras.len() as u64);
    let progress = Progress::new("timing", passes + references);
    let mut done = 0;
    let mut timing = timing::Timing {
        renderer: &mut *renderer,
        full: full.as_deref_mut().map(|full| full as _),
        steps: steps.as_mut(),
        cameras: &cameras,
        reference,
        passes: args.passes,
        ssim: &[],
        tick: &mut |what| {
            done += 1;
            progress.update(done, || what.to_string());
        },
    };
    let measured = timing.rows(&all_options)?;
    progress.finish();
    let (rows, skipped) = sorted(&all_options, measured, asked.all)?;
    let bench = Bench {
        made: Made::here(),
        device: backend.describe(),
        backend: backend.name(),
        scene: source.typed().display().to_string(),
        half_scene,
        gaussians,
        size: cameras
            .first()
            .map_or([0, 0], |c| [c.camera.width, c.camera.height]),
        views: cameras.len(),
        passes: args.passes,
        rows,
        skipped,
    };
    if let Some(file) = &args.json {
        output::write_json(file, &bench)?;
    }
    output::print(&table::table(&bench, !asked.all))
}

/// Who renders the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judge {
    /// The renderer that is timed.
    Timed,
    /// The same backend with the scene in f32: what halves lose shows only beside it.
    FullScene,
    /// The processor: kernel files of the user's would judge themselves.
    Processor,
}

impl Judge {
    fn of(backend: &str, half_scene: bool, replaced: bool) -> Self {
        match (backend, half_scene) {
            ("cuda", _) if replaced => Judge::Processor,
            (_, true) => Judge::FullScene,
            (_, false) => Judge::Timed,
        }
    }

    fn renderer(self, args: &Args, scene: &Gaussians) -> Result<Option<Box<dyn Renderer>>> {
        Ok(match self {
            Judge::Timed => None,
            Judge::FullScene => Some(args.backend.open_again()?.renderer(scene)?),
            Judge::Processor => Some(CpuBackend::new(None).renderer(scene)?),
        })
    }

    fn pipeline(self, backend: &str) -> Pipeline {
        match self {
            Judge::Processor => timing::reference("cpu"),
            Judge::Timed | Judge::FullScene => timing::reference(backend),
        }
    }
}

/// Each pipeline, and with `interpolate` what interpolates once more so.
fn variants(
    pipelines: &[Pipeline],
    interpolate: bool,
) -> impl Iterator<Item = (Pipeline, bool)> + '_ {
    pipelines.iter().flat_map(move |&pipeline| {
        let twice = interpolate && pipeline.blend == Blend::Splatcore;
        std::iter::once((pipeline, false)).chain(twice.then_some((pipeline, true)))
    })
}

/// The rows, and the pipelines that have none; of those that nobody named the reasons are said.
fn sorted(
    asked: &[RenderOptions],
    measured: Vec<Measured>,
    all: bool,
) -> Result<(Vec<Row>, Vec<Skipped>)> {
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (options, measured) in asked.iter().zip(measured) {
        match measured {
            Ok(row) => rows.push(row),
            Err(error) => skipped.push(Skipped {
                pipeline: options.pipeline,
                reason: remedy::explained(&error),
            }),
        }
    }
    if let ([], Some(first)) = (rows.as_slice(), skipped.first()) {
        bail!("{}: {}", first.pipeline, first.reason);
    }
    if all {
        for line in reasons(&skipped) {
            eprintln!("{line}");
        }
    }
    Ok((rows, skipped))
}

/// A line for each reason to skip pipelines.
fn reasons(skipped: &[Skipped]) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for Skipped { reason, .. } in skipped {
        match counted.iter_mut().find(|(other, _)| other == reason) {
            Some((_, count)) => *count += 1,
            None => counted.push((reason, 1)),
        }
    }
    let line = |(reason, count): &(&str, usize)| match count {
        1 => format!("1 pipeline skipped: {reason}"),
        _ => format!("{count} pipelines skipped: {reason}"),
    };
    counted.iter().map(line).collect()
}

/// What was typed; else the one that `auto` means, for the backward pass beside all others.
fn pipelines(typed: Option<&Pipelines>, backward: bool) -> Pipelines {
    if let Some(typed) = typed {
        return typed.clone();
    }
    let mut list = match backward {
        true => Pipeline::backward_variants(),
        false => Vec::new(),
    };
    if !list.contains(&Pipeline::AUTO) {
        list.push(Pipeline::AUTO);
    }
    Pipelines { list, all: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_list_backward_compares_its_methods() {
        assert_eq!(pipelines(None, false).list, [Pipeline::AUTO]);
        let all = pipelines(None, true).list;
        assert_eq!(all, Pipeline::backward_variants());
        assert_eq!(all.last(), Some(&Pipeline::AUTO));
        let typed = "vanilla".parse().unwrap();
        assert_eq!(pipelines(Some(&typed), true), typed);
    }

    #[test]
    fn kernel_files_of_the_users_do_not_judge_themselves() {
        assert_eq!(Judge::of("cuda", false, false), Judge::Timed);
        assert_eq!(Judge::of("cuda", true, false), Judge::FullScene);
        for half_scene in [false, true] {
            let judge = Judge::of("cuda", half_scene, true);
            assert_eq!(judge, Judge::Processor);
            assert_eq!(judge.pipeline("cuda").blend, Blend::Subtile);
            // The processor has no kernel files.
            assert_ne!(Judge::of("cpu", half_scene, true), Judge::Processor);
        }
        assert_eq!(Judge::Timed.pipeline("cuda"), Pipeline::VANILLA);
    }

    #[test]
    fn reasons_are_said_once() {
        let skipped = ["a", "b", "a"].map(|reason| Skipped {
            pipeline: Pipeline::AUTO,
            reason: reason.into(),
        });
        assert_eq!(
            reasons(&skipped),
            ["2 pipelines skipped: a", "1 pipeline skipped: b"]
        );
    }
}
