//! `splatcore bench`: the time of each stage, counts, and equality with the reference, for each pipeline.

mod steps;
mod table;
mod timing;

use crate::backends::BackendArgs;
use crate::cameras::CameraArgs;
use crate::progress::Progress;
use crate::{load, output};
use anyhow::{Result, bail};
use serde::Serialize;
use splatcore_core::Pipeline;
use splatcore_core::backend::{BackendError, RenderOptions};
use std::path::PathBuf;
use std::str::FromStr;
use steps::Steps;
use timing::Row;

/// Time the stages of rendering.
///
/// Times are milliseconds a frame: for each pass the mean over the cameras, then the median over the passes.
/// `gpu_ms` is the sum of the forward stages; on the cpu backend it and the stages are wall-clock time of the
/// kernels. `frame_ms` is wall-clock time of whole frames asked for one after the other, the images left where they
/// are. Counts are means over the cameras.
#[derive(clap::Args)]
pub struct Args {
    /// The scene, .ply or .spz
    scene: PathBuf,
    #[command(flatten)]
    cameras: CameraArgs,
    /// Pipelines to time, separated by commas, or all: auto, vanilla, intersect+blend[+backward] [auto; with
    /// --backward every method of the backward pass]. Time grows with their number
    #[arg(long, value_name = "P,P|all")]
    pipeline: Option<Pipelines>,
    /// Also time the backward pass (gradients of all parameters) and whole training steps, on the dataset's photos
    /// if there are any; five times the time
    #[arg(long)]
    backward: bool,
    /// Passes over the cameras after one to warm up. More passes give steadier medians and take longer
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    passes: u32,
    /// Also write the results as JSON: {"device","backend","scene","gaussians","size","views","rows":[...]}
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Serialize)]
struct Bench {
    device: String,
    backend: &'static str,
    scene: String,
    gaussians: usize,
    size: [u32; 2],
    views: usize,
    passes: u32,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<Skipped>,
}

/// A pipeline that this backend does not have.
#[derive(Serialize)]
struct Skipped {
    pipeline: Pipeline,
    reason: String,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let scene = load::scene(&args.scene)?;
    if let Some(file) = &args.json {
        output::check_file_writable(file)?;
    }
    let backend = args.backend.open()?;
    let (cameras, background) = args.cameras.resolve(&args.scene, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    let options = |pipeline| RenderOptions {
        pipeline,
        background,
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

    let pipelines = pipelines(args.pipeline, args.backward);
    let passes = timing::passes(args.passes, args.backward);
    let progress = Progress::new("timing", pipelines.len() as u64 * passes);
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (i, &pipeline) in pipelines.iter().enumerate() {
        let mut done = i as u64 * passes;
        let mut timing = timing::Timing {
            renderer: &mut *renderer,
            steps: steps.as_mut(),
            cameras: &cameras,
            options: options(pipeline),
            passes: args.passes,
            tick: &mut || {
                done += 1;
                progress.update(done, || pipeline.to_string());
            },
        };
        match timing.row(&options(Pipeline::VANILLA)) {
            Ok(row) => rows.push(row),
            Err(error @ BackendError::Unsupported { .. }) => skipped.push(Skipped {
                pipeline,
                reason: error.to_string(),
            }),
            Err(error) => return Err(error.into()),
        }
    }
    progress.finish();
    if let ([], Some(first)) = (rows.as_slice(), skipped.first()) {
        bail!("{}: {}", first.pipeline, first.reason);
    }
    let bench = Bench {
        device: backend.describe(),
        backend: backend.name(),
        scene: args.scene.display().to_string(),
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
    output::print(&table::table(&bench))
}

/// What was typed; else the one that `auto` means, for the backward pass beside all others.
fn pipelines(typed: Option<Pipelines>, backward: bool) -> Vec<Pipeline> {
    if let Some(Pipelines(typed)) = typed {
        return typed;
    }
    let mut pipelines = match backward {
        true => Pipeline::backward_variants(),
        false => Vec::new(),
    };
    if !pipelines.contains(&Pipeline::AUTO) {
        pipelines.push(Pipeline::AUTO);
    }
    pipelines
}

/// A list of pipelines.
#[derive(Clone)]
struct Pipelines(Vec<Pipeline>);

impl FromStr for Pipelines {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        if s == "all" {
            return Ok(Self(Pipeline::all()));
        }
        s.split(',')
            .map(|name| name.trim().parse())
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pipelines() {
        assert_eq!(
            "auto, vanilla".parse::<Pipelines>().unwrap().0,
            [Pipeline::AUTO, Pipeline::VANILLA]
        );
        assert_eq!("all".parse::<Pipelines>().unwrap().0, Pipeline::all());
        assert!("auto,nonsense".parse::<Pipelines>().is_err());
    }

    #[test]
    fn without_a_list_backward_compares_its_methods() {
        assert_eq!(pipelines(None, false), [Pipeline::AUTO]);
        let all = pipelines(None, true);
        assert_eq!(all[..all.len() - 1], Pipeline::backward_variants());
        assert_eq!(all.last(), Some(&Pipeline::AUTO));
        let typed = "vanilla".parse().ok();
        assert_eq!(pipelines(typed, true), [Pipeline::VANILLA]);
    }
}
