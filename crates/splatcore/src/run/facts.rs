//! What a run records of its dataset.

use super::job::Job;
use super::photos::Photos;
use crate::cameras::{self, NamedCamera};
use crate::scene_source::{DatasetPlace, Facts, Files, SceneSource};
use crate::up::{Up, turn};
use anyhow::{Result, bail};
use splatcore_core::{Camera, View};
use splatcore_data::dataset::Dataset;

/// Up in a scene that was turned upright.
const UPRIGHT: [f64; 3] = [0.0, -1.0, 0.0];

/// What the run will record. Turns the dataset upright if that was asked for, or if the run that is
/// resumed or the scene that it starts from was: cameras and points, so that all that follows is in
/// one frame.
pub fn of_run(
    job: &Job,
    files: &Files,
    init: Option<&SceneSource>,
    dataset: &mut Dataset,
) -> Result<Facts> {
    let before = match job.resume && files.run.is_file() {
        true => Facts::read(&files.run)?,
        false => Facts::default(),
    };
    if let Some(init) = init.filter(|init| init.facts().moved.is_some()) {
        bail!(
            "{}: was moved since its run wrote it, so the photos do not fit it; start from the \
             scene that the run wrote",
            init.typed().display()
        );
    }
    let known = Up::of_dataset(dataset);
    let given = match init {
        Some(init) => init.turned(dataset),
        None => before.turned,
    };
    let turned = match given {
        None if job.upright && (job.resume || init.is_some()) => {
            let begun = init.map_or(&*job.folder, SceneSource::typed);
            bail!(
                "{}: was not turned upright when it began; leave out --upright, or start from the \
                 dataset's points",
                begun.display()
            )
        }
        None => job.upright.then(|| turn(known.direction, UPRIGHT)),
        given => given,
    };
    let mut up = known;
    if let Some(rotation) = &turned {
        dataset.turn(rotation);
        up.direction = rotation.map(|row| (0..3).map(|k| row[k] * known.direction[k]).sum());
    }
    eprintln!("up: {up}");
    Ok(Facts {
        dataset: Some(DatasetPlace::new(
            &job.dataset,
            job.images.as_deref(),
            &job.folder,
        )),
        up: Some(up),
        turned,
        ..before
    })
}

/// Writes run.json, and the cameras of the photos by their names.
pub fn write(facts: &Facts, files: &Files, photos: &Photos) -> Result<()> {
    let all = photos.train.iter().chain(&*photos.test);
    let cameras = all.map(|view| view.camera.clone());
    // Each waits for the disk.
    let (written, noted) = rayon::join(
        || write_cameras(files, photos, cameras),
        || facts.write(&files.run),
    );
    written.and(noted)
}

/// Writes the cameras of the photos, those to train on before those held out, by their names.
pub fn write_cameras(
    files: &Files,
    photos: &Photos,
    cameras: impl Iterator<Item = Camera>,
) -> Result<()> {
    let train = photos.train.iter().map(|view| (view, false));
    let views = train.chain(photos.test.iter().map(|view| (view, true)));
    let named = |((view, held_out), camera): ((&View, bool), Camera)| NamedCamera {
        held_out,
        ..NamedCamera::new(view.name.clone(), camera)
    };
    let mut all: Vec<NamedCamera> = views.zip(cameras).map(named).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    cameras::write_json(&files.cameras, &all)
}
