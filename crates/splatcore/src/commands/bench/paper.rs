//! `splatcore bench --paper`: the tables of a paper, measured here.

use super::Args;
use super::timing::{self, Row, Timing};
use crate::cameras::NamedCamera;
use crate::paper::{About, Outcome, Paper, Run, Scene, Table, page, text};
use crate::progress::Progress;
use crate::{load, output};
use anyhow::Result;
use serde::Serialize;
use splatcore_core::backend::{Backend, BackendError, RenderOptions, Renderer};
use splatcore_core::pipeline::Pipeline;
use splatcore_data::file::write_bytes;
use std::path::{Path, PathBuf};

/// Why a pipeline has no numbers.
struct Why {
    /// Stands in its row.
    short: &'static str,
    /// Goes into the JSON.
    full: String,
}

impl Why {
    fn not_available(full: String) -> Self {
        Self {
            short: "not available on this backend",
            full,
        }
    }

    fn out_of_memory(full: String) -> Self {
        Self {
            short: "out of memory",
            full,
        }
    }
}

impl From<BackendError> for Why {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::OutOfMemory { .. } => Self::out_of_memory(error.to_string()),
            _ => Self::not_available(error.to_string()),
        }
    }
}

/// Everything, as JSON.
#[derive(Serialize)]
struct Bench<'a> {
    paper: &'a About,
    device: String,
    backend: &'static str,
    passes: u32,
    scenes: &'a [Measurements],
    tables: &'a [Table],
}

/// One scene, as JSON.
#[derive(Serialize)]
struct Measurements {
    scene: String,
    gaussians: usize,
    size: [u32; 2],
    views: usize,
    rows: Vec<ScaledRow>,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct ScaledRow {
    /// Width and height are so many times `size`.
    scale: u32,
    #[serde(flatten)]
    row: Row,
}

#[derive(Serialize)]
struct Missing {
    scale: u32,
    pipeline: String,
    reason: String,
}

/// Runs the command.
pub fn run(args: &Args, paper: Paper) -> Result<()> {
    let backend = args.backend.open()?;
    let names = names(&args.scenes);
    let (mut scenes, mut measurements) = (Vec::new(), Vec::new());
    for (path, name) in args.scenes.iter().zip(names) {
        let (scene, found) = measure(args, &*backend, paper, path, name)?;
        scenes.push(scene);
        measurements.push(found);
    }
    let tables = paper.tables(&scenes);
    let bench = Bench {
        paper: paper.about(),
        device: backend.describe(),
        backend: backend.name(),
        passes: args.passes,
        scenes: &measurements,
        tables: &tables,
    };
    if let Some(file) = &args.json {
        output::write_json(file, &bench)?;
    }
    let facts = facts(&bench, &scenes);
    if let Some(file) = &args.html {
        write_bytes(file, page(paper.about(), &facts, &tables).as_bytes())?;
    }
    let about = paper.about();
    let mut parts = vec![format!("{}: {}\n", about.name, about.title)];
    parts[0].push_str(&format!(
        "{}; measured there on {}\n",
        about.reference, about.card
    ));
    let facts: Vec<String> = facts
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    parts[0].push_str(&facts.join("\n"));
    parts.extend(tables.iter().map(text));
    output::print(&parts.join("\n\n"))
}

/// What was measured, for people.
fn facts(bench: &Bench, scenes: &[Scene]) -> Vec<(String, String)> {
    let mut facts = vec![
        ("here".to_owned(), bench.device.clone()),
        (
            "times".to_owned(),
            format!(
                "sum of the stages a frame, mean over the views, median of {} passes, the \
                 pipelines taking turns; clock: by the \
                 wall clock from frame to frame",
                bench.passes
            ),
        ),
    ];
    for (scene, found) in scenes.iter().zip(bench.scenes) {
        let [w, h] = found.size;
        let gaussians = output::thousands(found.gaussians as u64);
        let views = match found.views {
            1 => "1 view".to_owned(),
            n => format!("{n} views"),
        };
        let about = format!("{}, {gaussians} Gaussians, {w}x{h}, {views}", found.scene);
        facts.push((scene.name.clone(), about));
    }
    facts
}

/// File names without folder and extension, or whole paths if that would make two of them the same.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        stem.to_string_lossy().into_owned()
    };
    let names: Vec<String> = paths.iter().map(short).collect();
    let twice = names
        .iter()
        .enumerate()
        .any(|(i, name)| names[..i].contains(name));
    match twice {
        true => paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
        false => names,
    }
}

/// Runs all that the paper's tables need on one scene.
fn measure(
    args: &Args,
    backend: &dyn Backend,
    paper: Paper,
    path: &Path,
    name: String,
) -> Result<(Scene, Measurements)> {
    let (gaussians, antialias) = load::scene(path)?;
    let (cameras, background) = args.cameras.resolve(path, &gaussians)?;
    let options = RenderOptions {
        background,
        antialias,
        ..RenderOptions::default()
    };
    let mut renderer = backend.renderer(&gaussians)?;
    let mut found = Measurements {
        scene: path.display().to_string(),
        gaussians: gaussians.len(),
        size: cameras
            .first()
            .map_or([0, 0], |c| [c.camera.width, c.camera.height]),
        views: cameras.len(),
        rows: Vec::new(),
        missing: Vec::new(),
    };
    drop(gaussians);
    let runs = paper.runs();
    let mut scales: Vec<u32> = runs.iter().map(|run| run.scale).collect();
    scales.sort_unstable();
    scales.dedup();
    let mut scene = Scene {
        name,
        outcomes: Vec::new(),
    };
    for scale in scales {
        let cameras = at_scale(&cameras, scale);
        let runs: Vec<Run> = runs
            .iter()
            .filter(|run| run.scale == scale)
            .cloned()
            .collect();
        let outcomes = outcomes(
            &runs,
            &mut *renderer,
            &cameras,
            &options,
            args.passes,
            &scene.name,
        )?;
        for (run, outcome) in runs.into_iter().zip(outcomes) {
            let outcome = match outcome {
                Ok(row) => {
                    found.rows.push(ScaledRow {
                        scale,
                        row: row.clone(),
                    });
                    Outcome::Row(Box::new(row))
                }
                Err(why) => {
                    found.missing.push(Missing {
                        scale,
                        pipeline: run.pipeline.clone(),
                        reason: why.full,
                    });
                    Outcome::Missing(why.short.into())
                }
            };
            scene.outcomes.push((run, outcome));
        }
    }
    Ok((scene, found))
}

/// A row for each run at one scale, or why there is none.
fn outcomes(
    runs: &[Run],
    renderer: &mut dyn Renderer,
    cameras: &[NamedCamera],
    options: &RenderOptions,
    passes: u32,
    scene: &str,
) -> Result<Vec<Result<Row, Why>>> {
    let options = |pipeline| RenderOptions {
        pipeline,
        ..options.clone()
    };
    let parsed: Vec<Result<Pipeline, String>> = runs.iter().map(Run::parse).collect();
    let known: Vec<RenderOptions> = parsed
        .iter()
        .flatten()
        .map(|&pipeline| options(pipeline))
        .collect();
    let scale = runs.first().map_or(1, |run| run.scale);
    let progress = Progress::new(
        &format!("{scene} at {scale}x"),
        known.len() as u64 * timing::passes(passes, false),
    );
    let mut done = 0;
    let mut timing = Timing {
        renderer,
        full: None,
        steps: None,
        cameras,
        reference: options(Pipeline::VANILLA),
        passes,
        tick: &mut |pipeline| {
            done += 1;
            progress.update(done, || pipeline.to_string());
        },
    };
    let (measured, room) = match timing.rows(&known) {
        Ok(measured) => (measured, String::new()),
        // There is not even room for the reference: larger images are not for this card.
        Err(error @ BackendError::OutOfMemory { .. }) if scale > 1 => {
            (Vec::new(), error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    progress.finish();
    let mut measured = measured.into_iter();
    let row = |parsed: Result<Pipeline, String>| {
        parsed.map_err(Why::not_available)?;
        match measured.next() {
            Some(row) => Ok(row?),
            None => Err(Why::out_of_memory(room.clone())),
        }
    };
    Ok(parsed.into_iter().map(row).collect())
}

/// The same views in larger images.
fn at_scale(cameras: &[NamedCamera], scale: u32) -> Vec<NamedCamera> {
    let larger = |named: &NamedCamera| {
        let camera = &named.camera;
        NamedCamera {
            name: named.name.clone(),
            camera: camera.resized(camera.width * scale, camera.height * scale),
            photo: named.photo.clone().filter(|_| scale == 1),
        }
    };
    cameras.iter().map(larger).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_have_short_names_that_differ() {
        let names = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["a/fox.spz", "b/hon.ply"]), ["fox", "hon"]);
        assert_eq!(
            names(&["a/fox.spz", "b/fox.ply"]),
            ["a/fox.spz", "b/fox.ply"]
        );
    }
}
