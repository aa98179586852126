//! `splatcore bench --paper`: the tables of a paper, measured here.

use super::args::Args;
use super::timing::{self, Timing};
use crate::cameras::NamedCamera;
use crate::progress::Progress;
use crate::{load, output, remedy};
use anyhow::Result;
use splatcore_core::backend::{Backend, BackendError, RenderOptions, Renderer};
use splatcore_core::pipeline::Pipeline;
use splatcore_data::file::write_bytes;
use splatcore_papers::{Measured, Outcome, Paper, Report, Run, Scene};
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &Args, paper: Paper) -> Result<()> {
    let backend = args.backend.open()?;
    let names = names(&args.scenes);
    let mut scenes = Vec::new();
    for (path, name) in args.scenes.iter().zip(names) {
        scenes.push(measure(args, &*backend, paper, path, name)?);
    }
    let device = backend.describe();
    let measured = Measured {
        facts: facts(&device, args.passes, &scenes),
        device,
        backend: backend.name(),
        passes: args.passes,
        scenes,
    };
    let report = Report::new(paper, measured);
    if let Some(file) = &args.json {
        output::write_json(file, &report)?;
    }
    if let Some(file) = &args.html {
        write_bytes(file, report.html().as_bytes())?;
    }
    output::print(&report.text())
}

/// What was measured, for people.
fn facts(device: &str, passes: u32, scenes: &[Scene]) -> Vec<(String, String)> {
    let mut facts = vec![
        ("here".to_owned(), device.to_owned()),
        (
            "times".to_owned(),
            format!(
                "a frame between device events, mean over the views, median of {passes} passes, \
                 the pipelines taking turns; stages in passes of their own; clock: by the wall \
                 clock from frame to frame"
            ),
        ),
    ];
    for scene in scenes {
        let [w, h] = scene.size;
        let gaussians = output::thousands(scene.gaussians as u64);
        let views = match scene.views {
            1 => "1 view".to_owned(),
            n => format!("{n} views"),
        };
        let about = format!("{}, {gaussians} Gaussians, {w}x{h}, {views}", scene.file);
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
) -> Result<Scene> {
    let (gaussians, antialias) = load::scene(path)?;
    let (cameras, background) = args.cameras.resolve(path, &gaussians)?;
    let options = RenderOptions {
        background,
        antialias,
        ..RenderOptions::default()
    };
    let mut renderer = backend.renderer(&gaussians)?;
    let mut scene = Scene {
        name,
        file: path.display().to_string(),
        gaussians: gaussians.len(),
        size: cameras
            .first()
            .map_or([0, 0], |c| [c.camera.width, c.camera.height]),
        views: cameras.len(),
        outcomes: Vec::new(),
    };
    drop(gaussians);
    let runs = paper.runs();
    let mut scales: Vec<u32> = runs.iter().map(|run| run.scale).collect();
    scales.sort_unstable();
    scales.dedup();
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
            (backend.name(), &scene.name),
        )?;
        scene.outcomes.extend(runs.into_iter().zip(outcomes));
    }
    Ok(scene)
}

/// Why a pipeline has no numbers: the backend lacks it.
fn not_available(full: String) -> Outcome {
    Outcome::Missing {
        short: "not available on this backend".into(),
        full,
    }
}

/// Why a pipeline has no numbers: the backend lacks the memory.
fn out_of_memory(full: String) -> Outcome {
    Outcome::Missing {
        short: "out of memory".into(),
        full,
    }
}

/// What came of each run at one scale.
fn outcomes(
    runs: &[Run],
    renderer: &mut dyn Renderer,
    cameras: &[NamedCamera],
    options: &RenderOptions,
    passes: u32,
    (backend, scene): (&str, &str),
) -> Result<Vec<Outcome>> {
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
        known.len() as u64 * timing::passes(passes, false) + cameras.len() as u64,
    );
    let mut done = 0;
    let mut timing = Timing {
        renderer,
        full: None,
        steps: None,
        cameras,
        reference: Some(options(timing::reference(backend))),
        passes,
        tick: &mut |what| {
            done += 1;
            progress.update(done, || what.to_string());
        },
    };
    let (measured, room) = match timing.rows(&known) {
        Ok(measured) => (measured, String::new()),
        // There is not even room for the reference: larger images are not for this card.
        Err(error @ BackendError::OutOfMemory { .. }) if scale > 1 => {
            (Vec::new(), remedy::explained(&error))
        }
        Err(error) => return Err(error.into()),
    };
    progress.finish();
    let mut measured = measured.into_iter();
    let outcome = |parsed: Result<Pipeline, String>| match parsed {
        Err(unknown) => not_available(unknown),
        Ok(_) => match measured.next() {
            Some(Ok(row)) => Outcome::Row(Box::new(row)),
            Some(Err(error @ BackendError::OutOfMemory { .. })) => {
                out_of_memory(remedy::explained(&error))
            }
            Some(Err(error)) => not_available(remedy::explained(&error)),
            None => out_of_memory(room.clone()),
        },
    };
    Ok(parsed.into_iter().map(outcome).collect())
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
