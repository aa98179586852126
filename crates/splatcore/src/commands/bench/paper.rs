//! `splatcore bench --paper`: the tables of a paper, measured here.

use super::args::Args;
use super::compressed::{self, Models};
use super::steps::Steps;
use super::timing::{self, Timing};
use super::trainings;
use crate::cameras::NamedCamera;
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use crate::{load, output, remedy};
use anyhow::Result;
use splatcore_core::Gaussians;
use splatcore_core::backend::{Backend, BackendError, RenderOptions, Renderer};
use splatcore_core::pipeline::Pipeline;
use splatcore_data::file::write_bytes;
use splatcore_papers::{CompressedModel, Measured, Outcome, Paper, Report, Run, Scene};
use splatcore_train::Lpips;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &Args, paper: Paper, models: &[Models]) -> Result<()> {
    args.cameras.check_for(args.scenes.len())?;
    compressed::check(models)?;
    let trainings = match &args.trainings {
        Some(folder) => trainings::read(folder)?,
        None => Vec::new(),
    };
    let lpips = args.lpips.as_deref().map(Lpips::read).transpose()?;
    let backend = args.backend.open()?;
    let names = names(&args.scenes);
    let mut scenes = Vec::new();
    for (i, (name, models)) in names.into_iter().zip(models).enumerate() {
        let with = (&*backend, lpips.as_ref());
        scenes.push(measure(args, with, paper, (i, name), models)?);
    }
    let device = backend.describe();
    let measured = Measured {
        facts: facts(&device, args, paper, &scenes),
        device,
        backend: backend.name(),
        passes: args.passes,
        lpips_network: lpips.map(|lpips| lpips.network().name()),
        scenes,
        trainings,
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
fn facts(device: &str, args: &Args, paper: Paper, scenes: &[Scene]) -> Vec<(String, String)> {
    let passes = args.passes;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("here", device.to_owned()),
        fact(
            "times",
            format!(
                "a frame between device events, mean over the views, median of {passes} passes, \
                 the pipelines taking turns; stages in passes of their own; clock: by the wall \
                 clock from frame to frame"
            ),
        ),
    ];
    if scenes.len() > 1 {
        let how = "arithmetic, of ratios geometric, of frame rates that of the mean time";
        facts.push(fact("means of scenes", how.into()));
    }
    if let Some(file) = &args.lpips {
        facts.push(fact("weights of LPIPS", file.display().to_string()));
    }
    if let (Some(folder), true) = (&args.trainings, paper.trains()) {
        facts.push(fact("trainings", folder.display().to_string()));
    }
    for scene in scenes {
        let [w, h] = scene.size;
        let gaussians = output::thousands(scene.gaussians as u64);
        let views = match scene.views {
            1 => "1 view".to_owned(),
            n => format!("{n} views"),
        };
        let about = format!("{}, {gaussians} Gaussians, {w}x{h}, {views}", scene.file);
        facts.push((scene.name.clone(), about));
        for model in &scene.compressed {
            let gaussians = output::thousands(model.gaussians as u64);
            let about = format!("{}, {gaussians} Gaussians", model.file);
            facts.push((
                format!("{}, {}", scene.name, model.compression.label()),
                about,
            ));
        }
    }
    facts
}

/// File names without folder and extension; of the scene.ply of a run its folder's; or whole paths
/// if that would make two of them the same.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let folder = path.parent().and_then(Path::file_name);
        let name = folder.filter(|_| stem == "scene").unwrap_or(stem);
        name.to_string_lossy().into_owned()
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

/// Runs all that the paper's tables need on scene `i`, which is called `name`, and on its
/// compressed models.
fn measure(
    args: &Args,
    (backend, lpips): (&dyn Backend, Option<&Lpips>),
    paper: Paper,
    (i, name): (usize, String),
    models: &Models,
) -> Result<Scene> {
    let path = &args.scenes[i];
    let source = SceneSource::find(path)?;
    args.cameras.check_given(&source)?;
    let (gaussians, antialias) = source.load()?;
    let (cameras, background) = args.cameras.resolve_for(i, &source, &gaussians)?;
    let sky = args.cameras.sky(&source)?;
    let work = |gaussians: Gaussians, antialias| -> Result<Work> {
        Ok(Work {
            renderer: backend.renderer(&gaussians)?,
            backend,
            lpips,
            gaussians,
            options: RenderOptions {
                background,
                sky: sky.clone(),
                antialias,
                ..RenderOptions::default()
            },
            passes: args.passes,
        })
    };
    let mut scene = Scene {
        file: path.display().to_string(),
        gaussians: gaussians.len(),
        size: cameras
            .first()
            .map_or([0, 0], |c| [c.camera.width, c.camera.height]),
        views: cameras.len(),
        outcomes: work(gaussians, antialias)?.all_outcomes(paper.runs(), &cameras, &name)?,
        compressed: Vec::new(),
        name,
    };
    for (compression, file) in models {
        let (gaussians, antialias) = load::scene(file)?;
        let runs = paper.runs_on(*compression);
        let called = format!("{}, {}", scene.name, compression.label());
        scene.compressed.push(CompressedModel {
            compression: *compression,
            file: file.display().to_string(),
            gaussians: gaussians.len(),
            outcomes: work(gaussians, antialias)?.all_outcomes(runs, &cameras, &called)?,
        });
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

/// An uploaded scene that runs are measured on.
struct Work<'a> {
    backend: &'a dyn Backend,
    lpips: Option<&'a Lpips>,
    gaussians: Gaussians,
    renderer: Box<dyn Renderer>,
    options: RenderOptions,
    passes: u32,
}

impl Work<'_> {
    fn options(&self, pipeline: Pipeline) -> RenderOptions {
        RenderOptions {
            pipeline,
            ..self.options.clone()
        }
    }

    /// Each run with what came of it.
    fn all_outcomes(
        mut self,
        mut runs: Vec<Run>,
        cameras: &[NamedCamera],
        scene: &str,
    ) -> Result<Vec<(Run, Outcome)>> {
        let mut found = Vec::new();
        // Sizes one after another, and what takes steps apart from what only renders.
        while let Some(first) = runs.first() {
            let (scale, backward) = (first.scale, first.also.backward);
            let together = |run: &Run| (run.scale, run.also.backward) == (scale, backward);
            let (now, later): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(together);
            let outcomes = self.outcomes(&now, &at_scale(cameras, scale), scene)?;
            found.extend(now.into_iter().zip(outcomes));
            runs = later;
        }
        Ok(found)
    }

    /// What came of each run. All are at one scale, and with all or none of them steps are taken.
    fn outcomes(
        &mut self,
        runs: &[Run],
        cameras: &[NamedCamera],
        scene: &str,
    ) -> Result<Vec<Outcome>> {
        let parsed: Vec<Result<Pipeline, String>> = runs.iter().map(Run::parse).collect();
        let wanted = |also: fn(&Run) -> bool| -> Vec<Pipeline> {
            let wanted = parsed.iter().zip(runs).filter(|(_, run)| also(run));
            wanted.filter_map(|(p, _)| p.clone().ok()).collect()
        };
        let ssim = wanted(|run| run.also.ssim);
        let distances = wanted(|run| run.also.lpips);
        let pipelines = parsed.iter().flatten();
        let known: Vec<RenderOptions> = pipelines.map(|&p| self.options(p)).collect();
        let scale = runs.first().map_or(1, |run| run.scale);
        let backward = runs.first().is_some_and(|run| run.also.backward);
        let reference = self.options(timing::reference(self.backend.name()));
        let mut steps = match backward {
            true => Some(Steps::new(
                self.backend,
                &mut *self.renderer,
                &self.gaussians,
                cameras,
                &reference,
            )?),
            false => None,
        };
        let progress = Progress::new(
            &format!("{scene} at {scale}x"),
            known.len() as u64 * timing::passes(self.passes, backward) + cameras.len() as u64,
        );
        let mut done = 0;
        let mut timing = Timing {
            renderer: &mut *self.renderer,
            full: None,
            steps: steps.as_mut(),
            cameras,
            reference: Some(reference),
            passes: self.passes,
            ssim: &ssim,
            lpips: self.lpips.map(|lpips| (lpips, distances.as_slice())),
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
}

/// The same views in larger images.
fn at_scale(cameras: &[NamedCamera], scale: u32) -> Vec<NamedCamera> {
    let larger = |named: &NamedCamera| {
        let camera = &named.camera;
        NamedCamera {
            name: named.name.clone(),
            camera: camera.resized(camera.width * scale, camera.height * scale),
            photo: named.photo.clone().filter(|_| scale == 1),
            held_out: named.held_out,
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
        assert_eq!(
            names(&["fox.spz", "runs/bonsai/scene.ply", "runs/chair/scene.ply"]),
            ["fox", "bonsai", "chair"]
        );
        assert_eq!(names(&["scene.ply"]), ["scene"]);
    }
}
