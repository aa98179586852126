//! What a run learned of its photos' colours, as files: `exposures.json` of the affine model,
//! `appearance.json` of others. docs/conventions.md has the formats.

mod through;

pub use through::through;

use crate::output;
use crate::scene_source::{Files, SceneSource};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::colour::{ColourModel, ColourState, Look, cameras_of};
use splatcore_core::{Image, View};
use splatcore_page::LOOK_SIDE;
use std::collections::BTreeMap;
use std::path::Path;

/// In which look pictures are.
#[derive(Clone, clap::Args)]
pub struct LookArgs {
    /// Colours as the photo of this name shows them, of a run with --appearance: its exposure,
    /// white balance, vignetting; mean are the scene's own, which all photos share
    #[arg(long, value_name = "mean|PHOTO", default_value = "mean")]
    look: String,
}

impl LookArgs {
    /// As it was typed.
    pub fn name(&self) -> &str {
        &self.look
    }

    /// The look that was typed, of the run that the scene is of; none if that is the scene's own.
    pub fn find(&self, source: Option<&SceneSource>) -> Result<Option<Look>> {
        if self.look == "mean" {
            return Ok(None);
        }
        let folder = source.map(SceneSource::folder);
        let looks = folder.map(Looks::read).transpose()?.flatten();
        let Some(looks) = looks else {
            bail!(
                "--look {}: beside the scene there is no appearance.json or exposures.json, which \
                 `splatcore train` with --appearance writes",
                self.look
            );
        };
        looks.look(&self.look).map(Some)
    }
}

/// What a look makes of colours at the image's centre, as pages have it: of a page's free view
/// neither a photo's frame nor its vignetting is left.
pub fn cube(look: &Look) -> Vec<u8> {
    let value = |i: usize| i as f32 / (LOOK_SIDE - 1) as f32;
    let places = 0..LOOK_SIDE * LOOK_SIDE * LOOK_SIDE;
    let colours = places.map(|i| {
        let place = [i, i / LOOK_SIDE, i / (LOOK_SIDE * LOOK_SIDE)];
        let colour = place.map(|at| value(at % LOOK_SIDE));
        look.image(&Image::filled(1, 1, colour)).to_bytes()
    });
    colours.flatten().collect()
}

/// Looks of photos by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// Name of the colour model.
    model: String,
    /// By name of the photo.
    photos: BTreeMap<String, PhotoNumbers>,
    /// The cameras' numbers.
    cameras: Vec<Vec<f32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PhotoNumbers {
    /// Place in `cameras`.
    camera: usize,
    numbers: Vec<f32>,
}

impl Looks {
    /// Those that a run has learned of its photos; none if it learns none.
    pub fn of(views: &[View], colours: &ColourState) -> Option<Self> {
        let model = colours.model?;
        let cameras = cameras_of(views);
        let rows = views.iter().zip(&cameras).enumerate();
        let photos = rows.map(|(row, (view, &camera))| {
            let numbers = colours.photos.row(row).to_vec();
            (view.name.clone(), PhotoNumbers { camera, numbers })
        });
        Some(Self {
            model: model.to_string(),
            photos: photos.collect(),
            cameras: (0..colours.cameras.rows())
                .map(|row| colours.cameras.row(row).to_vec())
                .collect(),
        })
    }

    /// Name of the colour model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Writes them where a run's files are.
    pub fn write(&self, files: &Files) -> Result<()> {
        if self.model != ColourModel::Affine.entry().name {
            return output::write_json(&files.appearance, self);
        }
        let rows = |photo: &PhotoNumbers| -> Vec<Vec<f32>> {
            photo.numbers.chunks(4).map(<[f32]>::to_vec).collect()
        };
        let table: BTreeMap<&String, Vec<Vec<f32>>> = self
            .photos
            .iter()
            .map(|(name, photo)| (name, rows(photo)))
            .collect();
        output::write_json(&files.exposures, &table)
    }

    /// Those of the run in a folder; none if it learned none.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let files = Files::of(folder);
        for (path, is_affine) in [(&files.appearance, false), (&files.exposures, true)] {
            let text = match std::fs::read_to_string(path) {
                Ok(text) => text,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => bail!("{}: cannot be read ({e})", path.display()),
            };
            let parsed = match is_affine {
                true => serde_json::from_str(&text).map(Self::affine),
                false => serde_json::from_str(&text),
            };
            let damaged = || format!("{}: holds no looks of photos", path.display());
            return parsed.map(Some).with_context(damaged);
        }
        Ok(None)
    }

    fn affine(table: BTreeMap<String, [[f32; 4]; 3]>) -> Self {
        let photo = |rows: [[f32; 4]; 3]| PhotoNumbers {
            camera: 0,
            numbers: rows.as_flattened().to_vec(),
        };
        Self {
            model: ColourModel::Affine.to_string(),
            photos: table
                .into_iter()
                .map(|(name, rows)| (name, photo(rows)))
                .collect(),
            cameras: Vec::new(),
        }
    }

    /// How a photo shows the scene.
    pub fn look(&self, name: &str) -> Result<Look> {
        let model: ColourModel = self.model.parse().map_err(anyhow::Error::msg)?;
        let Some(photo) = self.photos.get(name) else {
            let known: Vec<&str> = self.photos.keys().take(3).map(String::as_str).collect();
            bail!(
                "no photo '{name}' was trained on, so it has no look; there are {} that were, as \
                 {}",
                self.photos.len(),
                known.join(", ")
            );
        };
        let camera = self.cameras.get(photo.camera);
        let camera = camera.map_or(&[][..], Vec::as_slice);
        let entry = model.entry();
        if [photo.numbers.len(), camera.len()] != [entry.photo.len(), entry.camera.len()] {
            bail!(
                "the look of '{name}' has {} and {} numbers; {model} has {} of a photo and {} of \
                 a camera",
                photo.numbers.len(),
                camera.len(),
                entry.photo.len(),
                entry.camera.len()
            );
        }
        Ok(Look::new(model, &photo.numbers, camera))
    }

    /// The looks of all photos by name.
    pub fn all(&self) -> Result<Vec<(&str, Look)>> {
        let names = self.photos.keys();
        names
            .map(|name| Ok((name.as_str(), self.look(name)?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::{Camera, Image, Photo};

    fn views() -> Vec<View> {
        let view = |name: &str, width: u32| View {
            name: name.into(),
            camera: Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, width, 2),
            photo: Photo::opaque(width, 2, vec![0; 6 * width as usize]),
        };
        vec![view("a.png", 4), view("b.png", 6), view("c.png", 4)]
    }

    #[test]
    fn looks_survive_their_files() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Looks::read(folder.path()).unwrap(), None);
        for model in ColourModel::ALL {
            let mut colours = ColourState::fresh(model, 3, 2);
            for (k, number) in colours.photos.parameters.iter_mut().enumerate() {
                *number += 0.01 * k as f32;
            }
            let looks = Looks::of(&views(), &colours).unwrap();
            let files = Files::of(folder.path());
            files.remove().unwrap();
            looks.write(&files).unwrap();
            let read = Looks::read(folder.path()).unwrap().unwrap();
            let grey = Image::filled(4, 2, [0.5, 0.4, 0.3]);
            let [a, b] = ["a.png", "b.png"].map(|name| read.look(name).unwrap().image(&grey));
            assert_eq!(a, Look::of(model, &colours, 0, 0).image(&grey), "{model}");
            assert_ne!(a, b, "{model}");
            let error = read.look("d.png").err().unwrap().to_string();
            assert!(
                error.contains("'d.png'") && error.contains("a.png"),
                "{error}"
            );
        }
        std::fs::write(folder.path().join("appearance.json"), "[]").unwrap();
        let error = Looks::read(folder.path()).err().unwrap().to_string();
        assert!(error.contains("appearance.json"), "{error}");
    }
}
