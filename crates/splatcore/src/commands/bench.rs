//! `splatcore bench`: the time of each stage, counts, and equality with the reference, for each pipeline.

use crate::backends::BackendArgs;
use crate::cameras::{CameraArgs, NamedCamera};
use crate::progress::Progress;
use crate::{load, output};
use anyhow::Result;
use serde::{Serialize, Serializer};
use splatcore_core::backend::{FrameCounts, RenderOptions, Renderer};
use splatcore_core::{Image, Pipeline, metrics};
use std::path::PathBuf;
use std::str::FromStr;

/// Images with the same bits have an infinite PSNR, which JSON cannot hold.
const SAME_BITS: f64 = 120.0;

/// Time the stages of rendering.
///
/// Times are milliseconds a frame: for each pass the mean over the cameras, then the median over the passes.
/// `gpu_ms` is the sum of the forward stages; on the cpu backend it and the stages are wall-clock time of the
/// kernels. Counts are means over the cameras.
#[derive(clap::Args)]
pub struct Args {
    /// The scene, .ply or .spz
    scene: PathBuf,
    #[command(flatten)]
    cameras: CameraArgs,
    /// Pipelines to time, separated by commas, or all: auto, vanilla, intersect+blend[+backward]. Time grows with
    /// their number
    #[arg(long, value_name = "P,P|all", default_value = "auto")]
    pipeline: Pipelines,
    /// Also time the backward pass (gradients of all parameters); about three times the time
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
}

#[derive(Serialize)]
struct Row {
    pipeline: Pipeline,
    intersect: String,
    blend: String,
    backward: String,
    gpu_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    backward_ms: Option<f64>,
    #[serde(serialize_with = "as_map")]
    stages: Vec<(&'static str, f64)>,
    psnr_vs_reference: f64,
    visible: u64,
    pairs: u64,
    fragments_evaluated: u64,
    fragments_blended: u64,
    ns_per_blended: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ns_per_blended_backward: Option<f64>,
}

/// Keeps the order in which the stages ran.
fn as_map<S: Serializer>(stages: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().copied())
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
    let gaussians = scene.len();
    drop(scene);
    let options = |pipeline| RenderOptions {
        pipeline,
        background,
        ..RenderOptions::default()
    };
    let frames = args.pipeline.0.len() as u64 * (args.passes as u64 + 1) * cameras.len() as u64;
    let progress = Progress::new("timing", frames);
    let mut done = 0;
    let mut rows = Vec::new();
    for &pipeline in &args.pipeline.0 {
        let mut tick = || {
            done += 1;
            progress.update(done, || pipeline.to_string());
        };
        let reference = options(Pipeline::VANILLA);
        rows.push(row(
            &mut *renderer,
            &cameras,
            &options(pipeline),
            &reference,
            args.passes,
            args.backward,
            &mut tick,
        )?);
    }
    progress.finish();
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
    };
    if let Some(file) = &args.json {
        output::write_json(file, &bench)?;
    }
    output::print(&table(&bench))
}

/// Times one pipeline; `tick` is called after every frame.
fn row(
    renderer: &mut dyn Renderer,
    cameras: &[NamedCamera],
    options: &RenderOptions,
    reference: &RenderOptions,
    passes: u32,
    backward: bool,
    tick: &mut dyn FnMut(),
) -> Result<Row> {
    let (mut totals, mut psnr) = (FrameCounts::default(), 0.0);
    for NamedCamera { camera, .. } in cameras {
        let counts = renderer.counts(camera, options)?;
        totals.visible += counts.visible;
        totals.pairs += counts.pairs;
        totals.fragments_evaluated += counts.fragments_evaluated;
        totals.fragments_blended += counts.fragments_blended;
        let image: Image = renderer.render(camera, options)?.image;
        psnr += metrics::psnr_between(&image, &renderer.render(camera, reference)?.image).min(SAME_BITS);
        // The warm-up.
        renderer.stage_times(camera, options, backward)?;
        tick();
    }
    let mut samples: Vec<(&'static str, Vec<f64>)> = Vec::new();
    let (mut forward, mut behind) = (Vec::new(), Vec::new());
    for _ in 0..passes {
        let mut pass: Vec<(&'static str, f64)> = Vec::new();
        for NamedCamera { camera, .. } in cameras {
            for (stage, seconds) in renderer.stage_times(camera, options, backward)? {
                match pass.iter_mut().find(|(name, _)| *name == stage) {
                    Some((_, sum)) => *sum += seconds,
                    None => pass.push((stage, seconds)),
                }
            }
            tick();
        }
        let sum = |wanted: bool| -> f64 {
            pass.iter()
                .filter(|s| is_backward(s.0) == wanted)
                .map(|s| s.1)
                .sum()
        };
        forward.push(sum(false));
        behind.push(sum(true));
        for (stage, seconds) in pass {
            match samples.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, values)) => values.push(seconds),
                None => samples.push((stage, vec![seconds])),
            }
        }
    }
    let views = cameras.len() as f64;
    let ms = |values: &mut Vec<f64>| median(values) * 1e3 / views;
    let stages: Vec<_> = samples
        .iter_mut()
        .map(|(name, values)| (*name, ms(values)))
        .collect();
    let per_frame = |total: u64| (total as f64 / views).round() as u64;
    let ns_per_blended = |stage: &str| {
        let stage_ms = stages
            .iter()
            .find(|(name, _)| *name == stage)
            .map_or(0.0, |s| s.1);
        stage_ms * 1e6 / (totals.fragments_blended as f64 / views).max(1.0)
    };
    Ok(Row {
        pipeline: options.pipeline,
        intersect: options.pipeline.intersect.to_string(),
        blend: options.pipeline.blend.to_string(),
        backward: options.pipeline.backward.to_string(),
        gpu_ms: ms(&mut forward),
        backward_ms: backward.then(|| ms(&mut behind)),
        psnr_vs_reference: psnr / views,
        visible: per_frame(totals.visible),
        pairs: per_frame(totals.pairs),
        fragments_evaluated: per_frame(totals.fragments_evaluated),
        fragments_blended: per_frame(totals.fragments_blended),
        ns_per_blended: ns_per_blended("blend"),
        ns_per_blended_backward: backward.then(|| ns_per_blended("blend_backward")),
        stages,
    })
}

/// Stages of the backward pass are named `..._backward`.
fn is_backward(stage: &str) -> bool {
    stage.ends_with("_backward")
}

/// The middle value, or the mean of the two middle ones; 0 of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

fn table(bench: &Bench) -> String {
    let [w, h] = bench.size;
    let mut lines = vec![format!(
        "{}: {} Gaussians, {w}x{h}, {} views, median of {} passes, {}",
        bench.scene,
        output::thousands(bench.gaussians as u64),
        bench.views,
        bench.passes,
        bench.device
    )];
    for row in &bench.rows {
        let behind = row
            .backward_ms
            .map_or(String::new(), |ms| format!(", backward {ms:.2} ms"));
        lines.push(format!(
            "\n{}: {:.2} ms a frame{behind}",
            row.pipeline, row.gpu_ms
        ));
        for (stage, ms) in &row.stages {
            lines.push(format!("  {stage:18}{ms:>9.3} ms"));
        }
        lines.push(format!("  against vanilla   {:>9.2} dB", row.psnr_vs_reference));
        for (name, count) in [
            ("visible", row.visible),
            ("pairs", row.pairs),
            ("evaluated", row.fragments_evaluated),
            ("blended", row.fragments_blended),
        ] {
            lines.push(format!("  {name:14}{:>13}", output::thousands(count)));
        }
        let behind = row
            .ns_per_blended_backward
            .map_or(String::new(), |ns| format!(", backward {ns:.3}"));
        lines.push(format!(
            "  ns per blended fragment: {:.3}{behind}",
            row.ns_per_blended
        ));
    }
    lines.join("\n")
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
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn lists_of_pipelines() {
        assert_eq!(
            "auto, vanilla".parse::<Pipelines>().unwrap().0,
            [Pipeline::AUTO, Pipeline::VANILLA]
        );
        assert_eq!("all".parse::<Pipelines>().unwrap().0, Pipeline::all());
        assert!("auto,nonsense".parse::<Pipelines>().is_err());
    }
}
