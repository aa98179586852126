//! Where the cameras of `render` and `bench` come from: a dataset, a cameras.json, an orbit around
//! the scene, or what a run recorded.

pub mod framing;
pub mod json;
pub mod named;
pub mod surroundings;
mod used;
pub mod vantage;

pub use json::{read_json, write_json};
pub use named::{MAX_SIDE, NamedCamera, Size};
pub use used::PathFrom;

use crate::load;
use crate::orbit;
use crate::output::{self, WrongUsage};
use crate::scene_source::SceneSource;
use crate::start::Start;
use crate::up::{Direction, Up};
use crate::{first_view, sharing};
use anyhow::{Context, Result};
use splatcore_core::sky::Sky;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::dataset::{LoadOptions, Split};
use splatcore_path::Pose;
use splatcore_path::generate::Orbit;
use splatcore_train::config::{Background, PhotoLens};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `--distance` of an orbit inside a room.
const INSIDE: f64 = 0.2;

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
    /// The dataset's cameras: undistort gives pinholes, as-taken the cameras with their lens [as
    /// the run was trained, or undistort]
    #[arg(long, value_name = "NAME", value_enum, requires = "dataset")]
    lens: Option<PhotoLens>,
    /// Size of the images in pixels [the cameras' own; for --orbit 1280x720]. Pixels stay square:
    /// focal lengths scale by the square root of the area's ratio, so another shape than the
    /// camera's shows more on one side and less on the other. Time and memory grow with the area
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// --size scales width and height each by itself, so that the image shows what the camera
    /// shows, stretched
    #[arg(long, requires = "size", conflicts_with = "orbit")]
    stretch: bool,
    /// Which way is up for --orbit: x, -x, y, -y, z, -z or X,Y,Z [what the run recorded; to render
    /// also what is level or upright in the scene; or -y, which PLY files of photo sets mostly
    /// have]
    #[arg(
        long,
        value_name = "DIRECTION",
        allow_hyphen_values = true,
        conflicts_with_all = ["dataset", "cameras"]
    )]
    up: Option<Direction>,
    /// --orbit: distance from the centre, times the one that shows 95 % of the Gaussians (less of a
    /// scene with a far background) [of a run that of its photos; else 1, or to render 0.2 where
    /// more is seen from inside]
    #[arg(
        long,
        value_name = "FACTOR",
        value_parser = orbit::positive,
        conflicts_with_all = ["dataset", "cameras"],
    )]
    distance: Option<f64>,
    /// One picture from this view; with --orbit a circle that begins there: auto (of some dozens of
    /// views the one that shows most), first (photo of the run), the name of a photo of the run, or
    /// X,Y,Z:X,Y,Z, a position and what is looked at from there [for --orbit what somebody chose
    /// with "Start here" in the viewer]
    #[arg(
        long,
        value_name = "VIEW",
        allow_hyphen_values = true,
        conflicts_with_all = ["dataset", "cameras", "distance", "split", "max_size"],
    )]
    start: Option<Start>,
    /// Times are compared from one version to the next: the circle around a scene alone stays as
    /// it is.
    #[arg(skip)]
    pub fixed: bool,
    /// Colour behind the scene: black, white, or r,g,b from 0 to 1 [the sky or the colour of the
    /// run beside the scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
}

#[derive(clap::Args)]
#[group(required = false, multiple = false)]
struct Source {
    /// Use the cameras of this dataset (its photos are decoded too, to know their sizes) [of a run:
    /// the cameras that it recorded]
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
    /// The cameras, at least one, and the background colour.
    ///
    /// # Errors
    /// If there are several datasets, or as [`CameraArgs::resolve_for`].
    pub fn resolve(
        &self,
        source: &SceneSource,
        scene: &Gaussians,
    ) -> Result<(Vec<NamedCamera>, [f32; 3])> {
        self.check_for(1)?;
        self.resolve_for(0, source, scene)
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
        source: &SceneSource,
        scene: &Gaussians,
    ) -> Result<(Vec<NamedCamera>, [f32; 3])> {
        let datasets = &self.source.dataset;
        let (background, test_every) = source.settings(self.background, self.test_every);
        let background = background.colour();
        let mut cameras = if let Some(folder) = datasets.get(i).or(datasets.first()) {
            self.of_dataset(source, folder, background, test_every)?
        } else if let Some(file) = &self.source.cameras {
            read_json(file)?
        } else if let Some(count) = self.source.orbit {
            let size = self.size.unwrap_or(Size(1280, 720));
            let circle = self.circle(source, scene, size)?;
            orbit::cameras(&circle, count, size)
        } else if let Some(start) = &self.start {
            let size = self.size.unwrap_or(Size(1280, 720));
            let up = self.up(source, scene).direction;
            vec![one(start, source, scene, up, size)?]
        } else {
            self.recorded(source, Split::Test)?
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

    /// Whether cameras were named, or the run has recorded some; `render --path` can do without.
    ///
    /// # Errors
    /// If there are none.
    pub fn check_given(&self, source: &SceneSource) -> Result<()> {
        let Source {
            dataset,
            cameras,
            orbit,
        } = &self.source;
        let given = !dataset.is_empty() || cameras.is_some() || orbit.is_some();
        let given = given || self.start.is_some();
        self.check_used(None)?;
        match given || source.cameras_file().is_some() {
            true => Ok(()),
            false => Err(WrongUsage(
                "the cameras are missing; give --dataset, --cameras, --orbit or --start (to \
                 render also --path)"
                    .into(),
            )
            .into()),
        }
    }

    /// The cameras of a split that the run recorded; all of them if none is of this split.
    fn recorded(&self, source: &SceneSource, split: Split) -> Result<Vec<NamedCamera>> {
        let Some(mut cameras) = source.read_cameras()? else {
            self.check_given(source)?;
            return Ok(Vec::new());
        };
        let split = self.split.unwrap_or(split);
        let wanted = |named: &NamedCamera| match split {
            Split::All => true,
            Split::Test => named.held_out,
            Split::Train => !named.held_out,
        };
        if cameras.iter().any(wanted) {
            cameras.retain(wanted);
        }
        for named in &mut cameras {
            named.camera = match self.max_size {
                Some(side) => within(&named.camera, side),
                None => named.camera.clone(),
            };
        }
        Ok(cameras)
    }

    /// Poses for a path through cameras, in the order of their names, and the size of the first; of
    /// a dataset without decoding a photo. None if no cameras were named and the scene is no run's.
    ///
    /// # Errors
    /// What is wrong with the cameras.
    pub fn poses(&self, source: &SceneSource) -> Result<Option<(Vec<Pose>, Size)>> {
        self.check_for(1)?;
        let cameras: Vec<Camera> = if let Some(folder) = self.source.dataset.first() {
            let (_, test_every) = source.settings(self.background, self.test_every);
            let mut dataset = load::dataset(folder, self.images.as_deref(), source.readout())?;
            source.turn(&mut dataset);
            let split = self.split.unwrap_or(Split::All);
            let mut entries: Vec<_> = load::select(&dataset, folder, split, test_every)?
                .into_iter()
                .map(|index| &dataset.entries[index])
                .collect();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            entries
                .into_iter()
                .map(|entry| entry.camera.clone())
                .collect()
        } else if let Some(file) = &self.source.cameras {
            read_json(file)?
                .into_iter()
                .map(|named| named.camera)
                .collect()
        } else if source.cameras_file().is_some() {
            self.recorded(source, Split::All)?
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
    pub fn circle(&self, source: &SceneSource, scene: &Gaussians, size: Size) -> Result<Orbit> {
        let up = self.up(source, scene).direction;
        if let Some(distance) = self.distance {
            return orbit::circle(scene, up, distance, size);
        }
        if let Some(start) = &self.start {
            let camera = one(start, source, scene, up, size)?.camera;
            return Ok(orbit::through(&Pose::of_camera(&camera), scene, up, size));
        }
        if let Some(chosen) = source.start() {
            let pose = sharing::path_pose(&chosen);
            return Ok(orbit::through(&pose, scene, up, size));
        }
        let recorded = source.cameras().unwrap_or_default();
        let recorded: Vec<Camera> = recorded.into_iter().map(|named| named.camera).collect();
        if let Some(circle) = orbit::of_cameras(&recorded, up, size) {
            return Ok(circle);
        }
        let inside = !self.fixed && first_view::choose(scene, up)?.inside;
        let distance = if inside { INSIDE } else { 1.0 };
        orbit::circle(scene, up, distance, size)
    }

    /// Which way is up: as typed, as it is known of the scene, or as the scene shows.
    fn up(&self, source: &SceneSource, scene: &Gaussians) -> Up {
        if let Some(typed) = self.up {
            return typed.chosen();
        }
        let up = match source.up() {
            Some(known) => known,
            None if self.fixed => return Up::ASSUMED,
            None => Up::of_scene(scene),
        };
        eprintln!("up: {up}");
        up
    }

    /// What `--size` says.
    pub fn size(&self) -> Option<Size> {
        self.size
    }

    /// The colour behind the scene.
    pub fn background(&self, source: &SceneSource) -> [f32; 3] {
        source.settings(self.background, self.test_every).0.colour()
    }

    /// The sky behind the scene.
    pub fn sky(&self, source: &SceneSource) -> Result<Option<Arc<Sky>>> {
        source.sky(self.background)
    }

    fn of_dataset(
        &self,
        source: &SceneSource,
        folder: &Path,
        background: [f32; 3],
        test_every: u32,
    ) -> Result<Vec<NamedCamera>> {
        let mut dataset = load::dataset(folder, self.images.as_deref(), source.readout())?;
        source.turn(&mut dataset);
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
                keep_lens: source.keep_lens(self.lens),
                memory: Some(u64::MAX),
                ..LoadOptions::default()
            },
        )?;
        Ok(views
            .into_iter()
            .map(|v| NamedCamera {
                photo: Some(v.photo),
                ..NamedCamera::new(v.name, v.camera)
            })
            .collect())
    }
}

/// The camera of a start view, in a picture of this size.
fn one(
    start: &Start,
    source: &SceneSource,
    scene: &Gaussians,
    up: [f64; 3],
    size: Size,
) -> Result<NamedCamera> {
    let recorded = source.cameras().unwrap_or_default();
    let views: Vec<_> = recorded
        .iter()
        .map(|named| sharing::view(named.name.clone(), &named.camera))
        .collect();
    let pose = match start.pose(scene, up, &views)? {
        Some(pose) => pose,
        None => views.into_iter().next().context("no view is known")?.pose,
    };
    let mut pose = sharing::path_pose(&pose);
    // A picture that is higher than wide sees as much on its smaller side.
    pose.fov = orbit::vertical(pose.fov, size);
    Ok(NamedCamera::new(
        "start".into(),
        pose.camera(size.0, size.1),
    ))
}

/// A camera of at most so many pixels on the longer side.
fn within(camera: &Camera, longest: u32) -> Camera {
    let now = camera.width.max(camera.height);
    let scaled = |side: u32| {
        let side = f64::from(side) * f64::from(longest) / f64::from(now);
        (side.round() as u32).max(1)
    };
    match now > longest {
        true => camera.resized(scaled(camera.width), scaled(camera.height)),
        false => camera.clone(),
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
}
