//! Scenes to time on, from files.

use crate::cameras::CameraArgs;
use crate::scene_source::SceneSource;
use anyhow::{Context, Result, bail};
use clap::Parser;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Gaussians, Pipeline};
use splatcore_lab::evaluate;
use splatcore_lab::experiment::Scene;
use splatcore_lab::timing::TimedScene;
use splatcore_lab::worker::FrameSpec;
use std::path::Path;

/// `WxH`.
pub fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text
        .split_once('x')
        .and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
    sides.ok_or_else(|| "give WIDTHxHEIGHT in pixels, as 1920x1080".into())
}

/// Scenes as people type them, each MODEL or MODEL@DATASET.
///
/// # Errors
/// If there is no such file or folder.
pub fn list(texts: &[String], size: Option<[u32; 2]>) -> Result<Vec<Scene>> {
    let scene = |text: &String| {
        let (model, dataset) = match text.split_once('@') {
            // A file may have the sign in its name.
            Some((model, dataset)) if !Path::new(text).exists() => {
                (model, Some(dataset.to_owned()))
            }
            _ => (text.as_str(), None),
        };
        Scene {
            model: model.into(),
            dataset,
            size,
        }
    };
    let list: Vec<Scene> = texts.iter().map(scene).collect();
    for scene in &list {
        let paths = [Some(&scene.model), scene.dataset.as_ref()];
        for path in paths.into_iter().flatten() {
            if !Path::new(path).exists() {
                bail!("{path}: no such file or folder");
            }
        }
    }
    Ok(list)
}

/// The options of `bench` that choose cameras.
#[derive(Parser)]
struct Cameras {
    #[command(flatten)]
    cameras: CameraArgs,
}

/// Reads scenes and their cameras.
///
/// # Errors
/// If a file cannot be read.
pub fn read(scenes: &[Scene], pipeline: Pipeline) -> Result<Vec<evaluate::Scene>> {
    scenes.iter().map(|scene| one(scene, pipeline)).collect()
}

fn one(scene: &Scene, pipeline: Pipeline) -> Result<evaluate::Scene> {
    let source = SceneSource::find(Path::new(&scene.model))?;
    let (gaussians, _) = source.load().with_context(|| scene.model.clone())?;
    let mut words = vec!["cameras".to_owned()];
    match &scene.dataset {
        Some(dataset) => words.extend(["--dataset".into(), dataset.clone()]),
        None => words.extend(["--orbit".into(), "8".into()]),
    }
    if let Some([width, height]) = scene.size {
        words.extend(["--size".into(), format!("{width}x{height}")]);
    }
    let mut cameras = Cameras::try_parse_from(words)?.cameras;
    cameras.fixed = true;
    let (cameras, background) = cameras.resolve(&source, &gaussians)?;
    let options = RenderOptions {
        pipeline,
        background,
        ..RenderOptions::default()
    };
    let frames = cameras
        .iter()
        .map(|named| FrameSpec::new(&named.camera, &options))
        .collect();
    Ok(evaluate::Scene {
        timed: TimedScene {
            name: source.name(),
            frames,
            reach: reach(&gaussians),
        },
        scene: gaussians,
        expected: None,
    })
}

/// How far a camera may be moved: a ten-thousandth of the distance between the quartiles of the
/// means, so that the frame costs the same and is another.
fn reach(scene: &Gaussians) -> f64 {
    let mut xs: Vec<f32> = scene.means.iter().map(|mean| mean[0]).collect();
    xs.sort_by(f32::total_cmp);
    let at = |share: usize| xs.get(xs.len() * share / 4).copied().unwrap_or(0.0);
    f64::from(at(3) - at(1)) * 1e-4
}
