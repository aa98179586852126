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

use crate::backends::cards;
use crate::output::WrongUsage;
use crate::progress::Progress;
use crate::scene_source::{Files, SceneSource};
use crate::{other_programs, output, remedy};
use anyhow::{Result, bail};
use args::{Pipelines, Reference};
use result::{Bench, Made, Skipped};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, RenderOptions, Renderer};
use splatcore_core::pipeline::{Blend, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_cuda::device::replaced;
use splatcore_papers::{Paper, Row};
use splatcore_train::config::BackendChoice;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use steps::Steps;
use timing::{Done, Measured, Timing};

/// Runs the command.
pub fn run(mut args: Args) -> Result<()> {
    args.cameras.fixed = true;
    args.backend.check_cards(&args.cards)?;
    if args.paper.is_some() && args.cards.are_given() {
        let problem = "--paper measures on one card, as the papers do; leave --cards out";
        return Err(WrongUsage(problem.into()).into());
    }
    for (file, flag) in [(&args.json, "--json"), (&args.html, "--html")] {
        if let Some(file) = file {
            Files::check_not_own(file, flag)?;
            output::check_file_writable(file, flag)?;
        }
    }
    if args.trainings.is_some() && !args.paper.is_some_and(Paper::trains) {
        let problem = "--trainings goes with --paper atomic-aggregation, which has a table of them";
        return Err(WrongUsage(problem.into()).into());
    }
    if args.lpips.is_some() && !args.paper.is_some_and(Paper::has_lpips) {
        let problem = "--lpips goes with --paper tc-gs or tensor-gs, whose tables compare images \
                       with photos";
        return Err(WrongUsage(problem.into()).into());
    }
    let models = compressed::of_scenes(&args.compressed, args.paper, args.scenes.len())?;
    if args.paper.is_some() && replaced::folder().is_some() {
        let problem = "the papers' tables are of the built-in kernels; unset SPLATCORE_KERNELS, or \
                       compare with your own by bench without --paper";
        return Err(WrongUsage(problem.into()).into());
    }
    if args.backend.backend != BackendChoice::Cpu {
        other_programs::warn(args.backend.device.device);
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

/// Cards that each keep the whole scene, as far as they have room for it.
fn opened(args: &Args, scene: &Gaussians) -> Result<Vec<Box<dyn Backend>>> {
    let half_scene = args.half.half_scene;
    args.backend.say_undivided(&args.cards, half_scene, scene)?;
    args.backend.open_cards(&args.cards, half_scene, None)
}

fn run_pipelines(args: &Args, source: &SceneSource) -> Result<()> {
    args.cameras.check_given(source)?;
    let (scene, antialias) = source.load()?;
    let half_scene = args.half.half_scene;
    let mut backends = opened(args, &scene)?;
    let (cameras, background) = args.cameras.resolve(source, &scene)?;
    // A card without a view has nothing to do.
    backends.truncate(cameras.len().max(1));
    let shares: Vec<_> = shares(cameras.len(), backends.len()).collect();
    let mut renderers = cards::renderers(&backends, &scene)?;
    let name = backends.first().map_or("cpu", |backend| backend.name());
    let judge = Judge::of(name, half_scene, replaced::folder().is_some());
    let mut full = judge.renderers(args, &scene, backends.len())?;
    let options = |(pipeline, interpolate)| RenderOptions {
        pipeline,
        background,
        antialias,
        interpolate,
        ..RenderOptions::default()
    };
    let mut steps = Vec::new();
    for (k, share) in shares.iter().cloned().enumerate().filter(|_| args.backward) {
        let (backend, renderer) = (&*backends[k], &mut *renderers[k]);
        let (cameras, vanilla) = (&cameras[share], options((Pipeline::VANILLA, false)));
        steps.push(Steps::new(backend, renderer, &scene, cameras, &vanilla)?);
    }
    let gaussians = scene.len();
    drop(scene);

    let asked = pipelines(args.pipeline.as_ref(), args.backward);
    let all_options: Vec<_> = variants(&asked.list, args.interpolate)
        .map(options)
        .collect();
    let reference = match args.reference {
        Reference::Vanilla => Some(options((judge.pipeline(name), false))),
        Reference::None => None,
    };
    let passes = all_options.len() as u64 * timing::passes(args.passes, args.backward);
    let references = reference.as_ref().map_or(0, |_| cameras.len() as u64);
    let progress = Progress::new("timing", passes * backends.len() as u64 + references);
    let done = AtomicU64::new(0);
    let tick = |what| tell(&progress, &done, what);
    let mut ticks = vec![tick; backends.len()];
    let (mut full, mut steps) = (full.iter_mut(), steps.iter_mut());
    let of_cards = renderers.iter_mut().zip(&mut ticks).zip(&shares);
    let mut timings: Vec<_> = of_cards
        .map(|((renderer, tick), share)| Timing {
            renderer: &mut **renderer,
            full: full.next().map(|full| &mut **full as _),
            steps: steps.next(),
            cameras: &cameras[share.clone()],
            reference: reference.clone(),
            passes: args.passes,
            ssim: &[],
            lpips: None,
            tick,
        })
        .collect();
    let measured = timing::rows_over(&mut timings, &all_options)?;
    progress.finish();
    let (rows, skipped) = sorted(&all_options, measured, asked.all)?;
    let first = cameras.first();
    let bench = Bench {
        made: Made::here(),
        device: cards::described(&backends),
        backend: name,
        cards: backends.len(),
        scene: source.typed().display().to_string(),
        half_scene,
        gaussians,
        size: first.map_or([0, 0], |c| [c.camera.width, c.camera.height]),
        views: cameras.len(),
        passes: args.passes,
        rows,
        skipped,
    };
    let json = args.json.as_ref();
    json.map_or(Ok(()), |file| output::write_json(file, &bench))?;
    output::print(&table::table(&bench, !asked.all))
}

/// Tells that one more was done.
fn tell(progress: &Progress, done: &AtomicU64, what: Done) {
    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
    progress.update(done, || what.to_string());
}

/// The views of each of so many cards: neighbours, as many as of any other or one more.
fn shares(views: usize, cards: usize) -> impl Iterator<Item = Range<usize>> {
    let at = move |card: usize| card * views / cards.max(1);
    (0..cards).map(move |card| at(card)..at(card + 1))
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

    /// One for each card; none if those that are timed do it.
    fn renderers(
        self,
        args: &Args,
        scene: &Gaussians,
        cards: usize,
    ) -> Result<Vec<Box<dyn Renderer>>> {
        let backends: Vec<Box<dyn Backend>> = match self {
            Judge::Timed => Vec::new(),
            Judge::FullScene => args.backend.open_again(&args.cards)?,
            Judge::Processor => (0..cards)
                .map(|_| Box::new(CpuBackend::new(None)) as Box<dyn Backend>)
                .collect(),
        };
        cards::renderers(&backends[..cards.min(backends.len())], scene)
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
    fn every_view_is_of_one_card() {
        for (views, cards) in [(0, 1), (1, 1), (3, 2), (7, 7), (10, 4), (200, 3)] {
            let shares: Vec<_> = shares(views, cards).collect();
            let all: Vec<usize> = shares.iter().cloned().flatten().collect();
            assert_eq!(all, (0..views).collect::<Vec<_>>());
            let sizes = shares.iter().map(|share| share.len());
            let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
            assert!(most - least <= 1, "{views} views on {cards} cards");
        }
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
