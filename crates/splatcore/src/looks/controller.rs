//! The look of views without a photo, from what they show, as a file: `controller.json`.

use super::files::Looks;
use crate::output;
use crate::progress::Progress;
use crate::scene_source::Files;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::Image;
use splatcore_core::colour::controller::{Controller, FEATURES, LeftOut, MAX_PHOTOS, features};
use splatcore_core::colour::{ColourModel, Look};
use splatcore_train::Trainer;
use std::collections::BTreeMap;
use std::path::Path;

/// Renders whose features are learned from are about so long, pixels: the means of their cells need
/// no more.
const SIDE: u32 = 160;
/// What is predicted of a look: what it makes of this grey.
const GREY: f32 = 0.4;

/// How well looks of left-out photos are predicted, in stops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// By the controller.
    pub controller: f64,
    /// By the mean look.
    pub mean_look: f64,
}

#[derive(Serialize, Deserialize)]
struct Written {
    reach: f64,
    noise: f64,
    left_out: Predicted,
    /// Features of the render of each photo's view.
    photos: BTreeMap<String, Vec<f32>>,
}

/// Learns which looks belong to which renders from the photos of a run, and writes it. None, and no
/// file, if the mean look is as good.
pub fn learn(trainer: &mut Trainer, looks: &Looks, files: &Files) -> Result<Option<Predicted>> {
    let model: ColourModel = looks.model().parse().map_err(anyhow::Error::msg)?;
    // One of an earlier end of the run.
    match std::fs::remove_file(&files.controller) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context(files.controller.display().to_string());
        }
        _ => {}
    }
    let cameras: BTreeMap<String, _> = trainer
        .views()
        .iter()
        .map(|view| view.name.clone())
        .zip(trainer.cameras())
        .collect();
    let step = cameras.len().div_ceil(MAX_PHOTOS).max(1);
    let (renderer, options) = trainer.renderer()?;
    let progress = Progress::new("comparing looks", (cameras.len() / step) as u64);
    let (mut photos, mut targets) = (BTreeMap::new(), Vec::new());
    for (done, (name, camera)) in cameras.into_iter().step_by(step).enumerate() {
        let longer = camera.width.max(camera.height);
        let small = camera.reduced((longer / SIDE).max(1));
        let render = renderer.render(&small, &options)?.image;
        let look = looks.look(&name)?;
        let [_, camera] = look.numbers();
        // What the camera does to every photo is no choice of this one.
        let mean = stops(&Look::new(model, model.entry().photo, camera));
        let own = stops(&look);
        targets.push(std::array::from_fn(|c| own[c] - mean[c]));
        progress.update(done as u64, || name.clone());
        photos.insert(name, features(&render));
    }
    progress.finish();
    let rows: Vec<Vec<f32>> = photos.values().cloned().collect();
    let Some((
        controller,
        LeftOut {
            controller: off,
            mean_look,
        },
    )) = Controller::fit(&rows, &targets)
    else {
        return Ok(None);
    };
    let left_out = Predicted {
        controller: off,
        mean_look,
    };
    let written = Written {
        reach: controller.reach,
        noise: controller.noise,
        left_out,
        photos,
    };
    output::write_json(&files.controller, &written)?;
    eprintln!(
        "what a view shows says its look: {off:.2} stops off for photos left out, {mean_look:.2} \
         with the mean look: see --look controller"
    );
    Ok(Some(left_out))
}

/// Stops by which a look brightens a grey: red, green, blue.
fn stops(look: &Look) -> [f64; 3] {
    let seen = look.entry().of_colour(look.factors(), [GREY; 3]);
    seen.map(|value| f64::from(value.max(1e-3) / GREY).log2())
}

/// A controller with the looks that it chooses from.
pub struct Controlled {
    controller: Controller,
    model: ColourModel,
    /// A photo's numbers, and those of its camera.
    rows: Vec<[Vec<f32>; 2]>,
}

impl Controlled {
    /// That of the run in a folder.
    pub fn read(folder: &Path, looks: &Looks) -> Result<Self> {
        let path = Files::of(folder).controller;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => bail!(
                "--look controller: beside the scene there is no controller.json: what the photos \
                 show did not say how bright they are, or the run is older than controllers; take \
                 the mean look or a photo's"
            ),
            Err(e) => bail!("{}: cannot be read ({e})", path.display()),
        };
        let damaged = || format!("{}: holds no controller", path.display());
        let written: Written = serde_json::from_str(&text).with_context(damaged)?;
        let sound = written.reach > 0.0
            && written.noise > 0.0
            && !written.photos.is_empty()
            && written.photos.len() <= MAX_PHOTOS
            && written.photos.values().all(|row| row.len() == FEATURES);
        if !sound {
            bail!(
                "{}: holds no controller of 1 to {MAX_PHOTOS} photos of {FEATURES} numbers each",
                path.display()
            );
        }
        let all: Vec<Look> = written
            .photos
            .keys()
            .map(|name| looks.look(name))
            .collect::<Result<_>>()?;
        let (reach, noise) = (written.reach, written.noise);
        Ok(Self {
            controller: Controller::new(written.photos.into_values().collect(), reach, noise),
            model: looks.model().parse().map_err(anyhow::Error::msg)?,
            rows: all
                .iter()
                .map(|look| look.numbers().map(<[f32]>::to_vec))
                .collect(),
        })
    }

    /// The look of a render: of the photos' offsets from the mean look so much as the controller
    /// says, and the camera of the photo that is most like it.
    pub fn look(&self, render: &Image) -> Look {
        let entry = self.model.entry();
        let mut numbers: Vec<f64> = entry.photo.iter().map(|&start| start.into()).collect();
        let weights = self.controller.weights(render);
        for (weight, [row, _]) in weights.into_iter().zip(&self.rows) {
            for ((number, start), own) in numbers.iter_mut().zip(entry.photo).zip(row) {
                *number += weight * f64::from(own - start);
            }
        }
        let numbers: Vec<f32> = numbers.into_iter().map(|number| number as f32).collect();
        let nearest = self.controller.nearest(render);
        let camera = nearest.map_or(entry.camera, |photo| &self.rows[photo][1]);
        Look::new(self.model, &numbers, camera)
    }
}
