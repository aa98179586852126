//! Where the cameras of `render` and `bench` come from: a dataset, a cameras.json, or an orbit
//! around the scene.

pub mod named;
pub mod surroundings;

pub use named::{MAX_SIDE, NamedCamera, Size};

use crate::load;
use crate::orbit::{self, Up};
use crate::output::{self, WrongUsage};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::dataset::{LoadOptions, Split};
use splatcore_path::Pose;
use splatcore_path::generate::Orbit;
use splatcore_train::config::Background;
use std::path::{Path, PathBuf};

/// Where the cameras come from, and the background.
#[derive(clap::Args)]
pub struct CameraArgs {
    #[command(flatten)]
    source: Source,
    /// Which of the dataset's photos: test (held out), train, all [test; with --path: all].
    /// Time grows with their number
    #[arg(long, value_name = "SPLIT", conflicts_with_all = ["orbit", "cameras"])]
    split: Option<Split>,
    /// Every Nth photo of the dataset is held out [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N", conflicts_with_all = ["orbit", "cameras"])]
    test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["orbit", "cameras"])]
    images: Option<String>,
    /// Scale the dataset's cameras so that the longer side is at most this many pixels. Time falls
    /// with the square
    #[arg(long, value_name = "PX", conflicts_with_all = ["orbit", "cameras", "size"],
          value_parser = clap::value_parser!(u32).range(1..))]
    max_size: Option<u32>,
    /// Size of the images in pixels [the cameras' own; for --orbit 1280x720]. Pixels stay square:
    /// focal lengths scale by the square root of the area's ratio, so another shape than the
    /// camera's shows more on one side and less on the other. Time and memory grow with the area
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// --size scales width and height each by itself, so that the image shows what the camera
    /// shows, stretched
    #[arg(long, requires = "size", conflicts_with = "orbit")]
    stretch: bool,
    /// Which way is up for --orbit: x, -x, y, -y, z or -z. PLY files of photo sets mostly have -y
    #[arg(
        long,
        value_name = "AXIS",
        default_value = "-y",
        allow_hyphen_values = true,
        conflicts_with_all = ["dataset", "cameras"]
    )]
    up: Up,
    /// --orbit: distance from the centre, times the one that shows 95 % of the Gaussians (less of a
    /// scene with a far background)
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        value_parser = positive,
        conflicts_with_all = ["dataset", "cameras"],
    )]
    distance: f64,
    /// Colour behind the scene: black, white, or r,g,b from 0 to 1 [that of the run beside the
    /// scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// Use the cameras of this dataset (its photos are decoded too, to know their sizes)
    #[arg(long, value_name = "DATASET")]
    dataset: Vec<PathBuf>,
    /// Use the cameras of a JSON file as INRIA's trainer writes it (cameras.json): an array of
    /// {"img_name", "width", "height", "position": [x,y,z] of the camera in the world, "rotation":
    /// camera-to-world matrix in three rows (columns: right, down, forward), "fx", "fy"} in pixels;
    /// "cx" and "cy" may be added, else the principal point is the middle
    #[arg(long, value_name = "FILE")]
    cameras: Option<PathBuf>,
    /// Use N cameras on a circle around the scene's centre (medians of the Gaussians), looking
    /// inwards. Time grows with N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    orbit: Option<u32>,
}

impl CameraArgs {
    /// The cameras, at least one, and the background colour. `path` is the scene's file.
    ///
    /// # Errors
    /// If there are several datasets, or as [`CameraArgs::resolve_for`].
    pub fn resolve(&self, path: &Path, scene: &Gaussians) -> Result<(Vec<NamedCamera>, [f32; 3])> {
        self.check_for(1)?;
        self.resolve_for(0, path, scene)
    }

    /// Whether the cameras are those of so many scenes: a dataset for each, or what all share.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_for(&self, scenes: usize) -> Result<()> {
        match self.source.dataset.len() {
            0 | 1 => Ok(()),
            datasets if datasets == scenes => Ok(()),
            datasets => Err(WrongUsage(format!(
                "{} for {}; give --dataset once, or once for each scene in the order of the \
                 scenes",
                output::counted(datasets, "dataset"),
                output::counted(scenes, "scene")
            ))
            .into()),
        }
    }

    /// As [`CameraArgs::resolve`], of scene `i` of several.
    ///
    /// # Errors
    /// What is wrong with the cameras.
    pub fn resolve_for(
        &self,
        i: usize,
        path: &Path,
        scene: &Gaussians,
    ) -> Result<(Vec<NamedCamera>, [f32; 3])> {
        let datasets = &self.source.dataset;
        let (background, test_every) = load::settings_of(path, self.background, self.test_every);
        let background = background.colour();
        let mut cameras = if let Some(folder) = datasets.get(i).or(datasets.first()) {
            self.of_dataset(folder, background, test_every)?
        } else if let Some(file) = &self.source.cameras {
            read_json(file)?
        } else {
            let size = self.size.unwrap_or(Size(1280, 720));
            let circle = self.circle(scene, size)?;
            orbit::cameras(&circle, self.source.orbit.unwrap_or(1), size)
        };
        if let Some(Size(width, height)) = self.size {
            for named in &mut cameras {
                named.camera = match self.stretch {
                    true => named.camera.resized(width, height),
                    false => named.camera.with_size(width, height),
                };
            }
        }
        Ok((cameras, background))
    }

    /// Whether cameras were named; `render --path` can do without.
    ///
    /// # Errors
    /// If they were not.
    pub fn check_given(&self) -> Result<()> {
        let Source {
            dataset,
            cameras,
            orbit,
        } = &self.source;
        match dataset.is_empty() && cameras.is_none() && orbit.is_none() {
            true => Err(WrongUsage(
                "the cameras are missing; give --dataset, --cameras, --orbit or --path".into(),
            )
            .into()),
            false => Ok(()),
        }
    }

    /// Whether nothing was given that a camera path has no use for. (As clap's conflicts of
    /// `--path` they would let flags pass that need `--path`.)
    ///
    /// # Errors
    /// If there was.
    pub fn check_for_path(&self) -> Result<()> {
        let flags = [
            ("--orbit", self.source.orbit.is_some(), "--path orbit"),
            ("--stretch", self.stretch, "--size alone"),
            ("--max-size", self.max_size.is_some(), "--size"),
        ];
        match flags.iter().find(|(_, is_given, _)| *is_given) {
            Some((flag, _, instead)) => {
                Err(WrongUsage(format!("{flag} cannot be used with --path; give {instead}")).into())
            }
            None => Ok(()),
        }
    }

    /// Poses for a path through cameras, in the order of their names, and the size of the first; of
    /// a dataset without decoding a photo. None if no cameras were named. `path` is the scene's.
    ///
    /// # Errors
    /// What is wrong with the cameras.
    pub fn poses(&self, path: &Path) -> Result<Option<(Vec<Pose>, Size)>> {
        self.check_for(1)?;
        let cameras: Vec<Camera> = if let Some(folder) = self.source.dataset.first() {
            let (_, test_every) = load::settings_of(path, self.background, self.test_every);
            let dataset = load::dataset(folder, self.images.as_deref(), 0)?;
            let split = self.split.unwrap_or(Split::All);
            let mut entries: Vec<_> = load::select(&dataset, folder, split, test_every)?
                .into_iter()
                .map(|index| &dataset.entries[index])
                .collect();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            entries
                .into_iter()
                .map(|entry| entry.camera.camera.clone())
                .collect()
        } else if let Some(file) = &self.source.cameras {
            read_json(file)?
                .into_iter()
                .map(|named| named.camera)
                .collect()
        } else {
            return Ok(None);
        };
        let size = cameras.first().map(|first| Size(first.width, first.height));
        Ok(size.map(|size| (cameras.iter().map(Pose::of_camera).collect(), size)))
    }

    /// The circle around a scene that `--orbit` stands on.
    ///
    /// # Errors
    /// If the scene is empty.
    pub fn circle(&self, scene: &Gaussians, size: Size) -> Result<Orbit> {
        orbit::circle(scene, self.up, self.distance, size)
    }

    /// What `--size` says.
    pub fn size(&self) -> Option<Size> {
        self.size
    }

    /// The colour behind the scene; `path` is the scene's file.
    pub fn background(&self, path: &Path) -> [f32; 3] {
        load::settings_of(path, self.background, self.test_every)
            .0
            .colour()
    }

    fn of_dataset(
        &self,
        folder: &Path,
        background: [f32; 3],
        test_every: u32,
    ) -> Result<Vec<NamedCamera>> {
        let dataset = load::dataset(folder, self.images.as_deref(), 0)?;
        let indices = load::select(
            &dataset,
            folder,
            self.split.unwrap_or(Split::Test),
            test_every,
        )?;
        let views = load::views(
            &dataset,
            &indices,
            &LoadOptions {
                max_size: self.max_size,
                background,
                keep_alpha: false,
            },
        )?;
        Ok(views
            .into_iter()
            .map(|v| NamedCamera {
                name: v.name,
                camera: v.camera,
                photo: Some(v.photo),
            })
            .collect())
    }
}

/// One entry of INRIA's cameras.json.
#[derive(Deserialize)]
struct JsonCamera {
    img_name: Option<String>,
    width: u32,
    height: u32,
    position: [f64; 3],
    rotation: [[f64; 3]; 3],
    fx: f64,
    fy: f64,
    cx: Option<f64>,
    cy: Option<f64>,
}

/// Reads INRIA's cameras.json; see `--cameras`.
pub fn read_json(path: &Path) -> Result<Vec<NamedCamera>> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        anyhow::anyhow!(
            "{}: cannot be read ({e}); give a cameras.json",
            path.display()
        )
    })?;
    let entries: Vec<JsonCamera> = serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: is not an array of cameras (see `splatcore render --help`, --cameras)",
            path.display()
        )
    })?;
    if entries.is_empty() {
        bail!("{}: holds no camera; give at least one", path.display());
    }
    let named = |(i, entry): (usize, JsonCamera)| {
        let name = entry
            .img_name
            .clone()
            .unwrap_or_else(|| format!("camera_{i:04}"));
        let camera = entry.camera();
        let too_large = camera.width.max(camera.height) > MAX_SIDE;
        let defect = camera
            .defect()
            .or_else(|| too_large.then(|| format!("a side is above {MAX_SIDE} pixels")));
        match defect {
            None => Ok(NamedCamera {
                name,
                camera,
                photo: None,
            }),
            Some(defect) => bail!(
                "{}, camera {i} ('{name}'): {defect}; correct it or leave it out",
                path.display()
            ),
        }
    };
    entries.into_iter().enumerate().map(named).collect()
}

impl JsonCamera {
    /// World-to-camera is the transpose of the given rotation; translation `-Rᵀ position`.
    fn camera(&self) -> Camera {
        let rotation: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| self.rotation[j][i]));
        let p = self.position;
        Camera {
            width: self.width,
            height: self.height,
            fx: self.fx,
            fy: self.fy,
            cx: self.cx.unwrap_or(self.width as f64 / 2.0),
            cy: self.cy.unwrap_or(self.height as f64 / 2.0),
            rotation,
            translation: std::array::from_fn(|i| {
                -(0..3).map(|j| rotation[i][j] * p[j]).sum::<f64>()
            }),
        }
    }
}

fn positive(s: &str) -> Result<f64, String> {
    match s.parse::<f64>() {
        Ok(v) if v.is_finite() && v > 0.0 => Ok(v),
        _ => Err(format!("'{s}' is not a number above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!("640x480".parse(), Ok(Size(640, 480)));
        for bad in ["640", "0x5", "5x", "99999x5", "axb"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_json_camera_is_the_camera_it_was_written_from() {
        let wanted = Camera::look_at(
            [1.0, -2.0, 3.0],
            [0.2, 0.1, 0.0],
            [0.0, -1.0, 0.0],
            0.9,
            64,
            48,
        );
        let r = wanted.rotation;
        let transposed: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        let text = serde_json::json!([{
            "id": 0, "img_name": "a", "width": 64, "height": 48, "position": wanted.position(),
            "rotation": transposed, "fx": wanted.fx, "fy": wanted.fy
        }]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cameras.json");
        std::fs::write(&file, text.to_string()).unwrap();
        let camera = &read_json(&file).unwrap()[0].camera;
        for i in 0..3 {
            assert!((camera.translation[i] - wanted.translation[i]).abs() < 1e-12);
            assert_eq!(camera.rotation[i], wanted.rotation[i]);
        }
        assert_eq!((camera.cx, camera.cy), (32.0, 24.0));
    }
}
