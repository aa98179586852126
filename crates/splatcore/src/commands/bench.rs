//! `splatcore bench`: the time of each stage, counts, and equality with the reference, for each
//! pipeline.

mod paper;
mod steps;
mod table;
mod timing;

use crate::backends::{BackendArgs, HalfSceneArgs};
use crate::cameras::CameraArgs;
use crate::progress::Progress;
use crate::{load, output, remedy};
use anyhow::{Result, bail};
use clap::CommandFactory;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Blend, Pipeline};
use splatcore_papers::{Paper, Row};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use steps::Steps;

/// Time the stages of rendering.
///
/// Times are milliseconds a frame: for each pass the mean over the cameras, then the median over
/// the passes. `gpu_ms` is the sum of the forward stages; on the cpu backend it and the stages are
/// wall-clock time of the kernels. `frame_ms` is wall-clock time of whole frames asked for one
/// after the other, the images left where they are. Counts are means over the cameras. The
/// pipelines take turns, a pass each.
///
/// With --paper the tables of a paper on tensor cores, its numbers beside those measured here.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The scene: .ply, .spz, .sog or .splat; several only with --paper
    #[arg(required = true, value_name = "SCENE")]
    scenes: Vec<PathBuf>,
    #[command(flatten)]
    cameras: CameraArgs,
    /// Pipelines to time, separated by commas: auto, vanilla, intersect+blend[+backward]; or all,
    /// which is every intersection with every blend that the backend has [auto; with --backward
    /// every method of the backward pass]. Time grows with their number
    #[arg(long, value_name = "P,P|all")]
    pipeline: Option<Pipelines>,
    /// Also time the backward pass (gradients of all parameters) and whole training steps, on the
    /// dataset's photos if there are any; five times the time
    #[arg(long, conflicts_with = "half_scene")]
    backward: bool,
    /// Passes over the cameras after one to warm up. More passes give steadier medians and take
    /// longer
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    passes: u32,
    /// Print the tables of this paper: the paper's numbers, and those measured here in the same
    /// layout. Up to 18 pipelines; those that the backend lacks say so in their row
    #[arg(
        long,
        value_name = "NAME",
        value_parser = papers(),
        conflicts_with_all = ["pipeline", "backward", "half_scene"]
    )]
    paper: Option<Paper>,
    /// Also write the results as JSON:
    /// {"device","backend","scene","gaussians","size","views","rows":[...]}; with --paper
    /// {"paper","device","backend","passes","scenes":[...],"tables":[...]}
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write the tables of --paper as a page with plots, readable without a network
    #[arg(long, value_name = "FILE", requires = "paper")]
    html: Option<PathBuf>,
    #[command(flatten)]
    half: HalfSceneArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Serialize)]
struct Bench {
    device: String,
    backend: &'static str,
    scene: String,
    /// Whether the scene's harmonics were halves; the reference's never are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    half_scene: bool,
    gaussians: usize,
    size: [u32; 2],
    views: usize,
    passes: u32,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<Skipped>,
}

/// A pipeline that this backend does not have, or not the memory for.
#[derive(Serialize)]
struct Skipped {
    pipeline: Pipeline,
    reason: String,
}

/// The papers by name.
fn papers() -> impl TypedValueParser<Value = Paper> {
    let names = Paper::ALL.map(|paper| PossibleValue::new(paper.name()).help(paper.contents()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Paper>())
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    for (file, flag) in [(&args.json, "--json"), (&args.html, "--html")] {
        if let Some(file) = file {
            output::check_file_writable(file, flag)?;
        }
    }
    match (args.paper, args.scenes.as_slice()) {
        (Some(paper), _) => paper::run(&args, paper),
        (None, [scene]) => run_pipelines(&args, scene),
        (None, _) => crate::Cli::command()
            .error(
                clap::error::ErrorKind::TooManyValues,
                "several scenes go with --paper only; give one",
            )
            .exit(),
    }
}

fn run_pipelines(args: &Args, path: &Path) -> Result<()> {
    let (scene, antialias) = load::scene(path)?;
    let half_scene = args.half.half_scene;
    let backend = args.backend.open_for(&args.half)?;
    let (cameras, background) = args.cameras.resolve(path, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    // What halves lose shows only beside the scene that they were made from.
    let mut full = match half_scene {
        true => Some(args.backend.open_again()?.renderer(&scene)?),
        false => None,
    };
    let options = |pipeline| RenderOptions {
        pipeline,
        background,
        antialias,
        ..RenderOptions::default()
    };
    let mut steps = match args.backward {
        true => Some(Steps::new(
            &*backend,
            &mut *renderer,
            &scene,
            &cameras,
            &options(Pipeline::VANILLA),
        )?),
        false => None,
    };
    let gaussians = scene.len();
    drop(scene);

    let Pipelines { list, all } = pipelines(args.pipeline.as_ref(), args.backward);
    let passes = timing::passes(args.passes, args.backward);
    let progress = Progress::new("timing", list.len() as u64 * passes);
    let mut done = 0;
    let mut timing = timing::Timing {
        renderer: &mut *renderer,
        full: match &mut full {
            Some(full) => Some(&mut **full),
            None => None,
        },
        steps: steps.as_mut(),
        cameras: &cameras,
        reference: options(Pipeline::VANILLA),
        passes: args.passes,
        tick: &mut |pipeline| {
            done += 1;
            progress.update(done, || pipeline.to_string());
        },
    };
    let asked: Vec<_> = list.iter().map(|&pipeline| options(pipeline)).collect();
    let measured = timing.rows(&asked)?;
    progress.finish();
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (pipeline, measured) in list.into_iter().zip(measured) {
        match measured {
            Ok(row) => rows.push(row),
            Err(error) => skipped.push(Skipped {
                pipeline,
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
    let bench = Bench {
        device: backend.describe(),
        backend: backend.name(),
        scene: path.display().to_string(),
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
    output::print(&table::table(&bench, !all))
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

/// A list of pipelines.
#[derive(Clone, Debug, PartialEq)]
struct Pipelines {
    list: Vec<Pipeline>,
    /// Not named one by one: those that the backend lacks are none of the user's concern.
    all: bool,
}

impl FromStr for Pipelines {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        if s == "all" {
            return Ok(Self {
                list: Pipeline::combinations(Blend::ALL),
                all: true,
            });
        }
        let names = s.split(',').map(|name| name.trim().parse());
        Ok(Self {
            list: names.collect::<Result<_, _>>()?,
            all: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::pipeline::Intersect;

    #[test]
    fn lists_of_pipelines() {
        let list = |text: &str| text.parse::<Pipelines>().map(|p| p.list);
        assert_eq!(
            list("auto, vanilla").unwrap(),
            [Pipeline::AUTO, Pipeline::VANILLA]
        );
        let all: Pipelines = "all".parse().unwrap();
        assert!(all.all);
        assert_eq!(all.list.len(), Intersect::ALL.len() * Blend::ALL.len());
        assert!(list("auto,nonsense").is_err());
    }

    #[test]
    fn without_a_list_backward_compares_its_methods() {
        assert_eq!(pipelines(None, false).list, [Pipeline::AUTO]);
        let all = pipelines(None, true).list;
        assert_eq!(all[..all.len() - 1], Pipeline::backward_variants());
        assert_eq!(all.last(), Some(&Pipeline::AUTO));
        let typed = "vanilla".parse().unwrap();
        assert_eq!(pipelines(Some(&typed), true), typed);
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
