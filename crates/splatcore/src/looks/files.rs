//! What a run learned of its photos' colours, as files: `exposures.json` of the affine model,
//! `appearance.json` of others, with `appearance.npy` of grids. docs/conventions.md has the
//! formats.

use crate::cameras::named::meant;
use crate::output;
use crate::scene_source::Files;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::View;
use splatcore_core::colour::{ColourModel, ColourState, Look, cameras_of};
use splatcore_data::dataset::npy;
use splatcore_data::file::write_bytes;
use std::collections::BTreeMap;
use std::path::Path;

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
    /// None of a grid: a row of `appearance.npy`, in the order of the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<f32>,
}

/// Most numbers of a photo that are written as text.
const MAX_WRITTEN: usize = 100;

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
            let columns = self.photos.values().map(|photo| photo.numbers.len()).max();
            return match columns {
                Some(columns) if columns > MAX_WRITTEN => self.write_grids(files, columns),
                _ => output::write_json(&files.appearance, self),
            };
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

    /// The photos' numbers as a matrix, the rest as text.
    fn write_grids(&self, files: &Files, columns: usize) -> Result<()> {
        let rows: Vec<&[f32]> = self
            .photos
            .values()
            .map(|photo| &photo.numbers[..])
            .collect();
        write_bytes(&files.grids, &npy::bytes_of(columns, &rows.concat()))?;
        let mut text = self.clone();
        for photo in text.photos.values_mut() {
            photo.numbers.clear();
        }
        output::write_json(&files.appearance, &text)
    }

    /// With the numbers of [`Looks::write_grids`], if the model has so many.
    fn with_grids(mut self, path: &Path) -> Result<Self> {
        let model: ColourModel = self.model.parse().map_err(anyhow::Error::msg)?;
        let columns = model.entry().photo.len();
        if columns <= MAX_WRITTEN {
            return Ok(self);
        }
        let bytes = std::fs::read(path)
            .with_context(|| format!("{}: the photos' grids are gone", path.display()))?;
        let matrix = npy::parse(&bytes, path)?;
        if [matrix.rows, matrix.columns] != [self.photos.len(), columns] {
            bail!(
                "{}: holds {} x {} numbers; appearance.json names {} photos, of {columns} numbers \
                 each: take both files from one run",
                path.display(),
                matrix.rows,
                matrix.columns,
                self.photos.len()
            );
        }
        let rows = matrix.values.chunks_exact(columns);
        for (photo, row) in self.photos.values_mut().zip(rows) {
            photo.numbers = row.iter().map(|&number| number as f32).collect();
        }
        Ok(self)
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
            let looks: Self = parsed.with_context(damaged)?;
            return looks.with_grids(&files.grids).map(Some);
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
        let known = meant(self.photos.keys().map(String::as_str), name);
        let Some(photo) = known.and_then(|name| self.photos.get(name)) else {
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
            // Of the only photo that begins so.
            let c = read.look("c").unwrap().image(&grey);
            assert_eq!(c, Look::of(model, &colours, 2, 0).image(&grey), "{model}");
            assert_contains!(read.look("d.png").err().unwrap(), "'d.png'", "a.png");
        }
        // The last one was a grid's.
        let grids = Files::of(folder.path()).grids;
        let [first, ..] = ColourModel::ALL.map(|model| model.entry().photo.len());
        std::fs::write(&grids, npy::bytes_of(first, &vec![0.0; 3 * first])).unwrap();
        let error = Looks::read(folder.path()).err().unwrap().to_string();
        assert_contains!(error, "appearance.npy: holds 3 x 12");
        std::fs::remove_file(&grids).unwrap();
        assert_contains!(Looks::read(folder.path()).err().unwrap(), "appearance.npy");
        std::fs::write(folder.path().join("appearance.json"), "[]").unwrap();
        assert_contains!(Looks::read(folder.path()).err().unwrap(), "appearance.json");
    }
}
