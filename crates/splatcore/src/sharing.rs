//! A scene as one HTML page, for `export`, `demo` and the report of a run.

use crate::cameras::surroundings::surroundings;
use crate::orbit::{self, Up};
use crate::progress::Stages;
use crate::viewing::up_of;
use anyhow::{Context, Result, bail};
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::{WriteOptions, write};
use splatcore_page::{Keyframe, Page, Pose, View};
use splatcore_path::files;
use std::path::Path;

/// A report holds the page of a scene of at most so many Gaussians, some 4 MB of degree 3. Making
/// it takes some seconds, and a browser opens it at once.
pub const MOST_IN_REPORT: usize = 100_000;

/// What the sender of a page chooses.
#[derive(Default)]
pub struct Choices {
    /// In the tab and the panel.
    pub title: String,
    /// Behind the scene.
    pub background: [f32; 3],
    /// Which axis is up; if not given, that of the views, or -y.
    pub up: Option<Up>,
    /// The list of views.
    pub views: Vec<View>,
    /// What the page plays.
    pub path: Vec<Keyframe>,
}

/// The page of a scene; `antialias` as in [`crate::load::scene`].
///
/// # Errors
/// If the scene is empty or cannot be written as SOG.
pub fn page(gaussians: &Gaussians, antialias: bool, choices: &Choices) -> Result<String> {
    let Some((centre, radius)) = surroundings(gaussians) else {
        bail!("the scene has no Gaussian; a page would show nothing");
    };
    let up = match choices.up {
        Some(up) => up.axes().0,
        None => up_of(choices.views.iter().map(|view| view.pose.rotation)),
    };
    let start = match choices.views.is_empty() && choices.path.is_empty() {
        true => {
            let axis = choices.up.unwrap_or(Up::MINUS_Y);
            let camera = orbit::overview(gaussians, axis)?;
            Some(pose(&splatcore_path::Pose::of_camera(&camera)))
        }
        false => None,
    };
    // Half of the box's diagonal is what "frame all" takes for the radius.
    let half = radius / 3f64.sqrt();
    let page = Page {
        title: &choices.title,
        scene: &sog(gaussians, antialias)?,
        background: choices.background,
        up,
        bounds: [centre.map(|v| v - half), centre.map(|v| v + half)],
        start,
        views: choices.views.clone(),
        path: choices.path.clone(),
    };
    Ok(page.to_html()?)
}

/// The scene as a bundled SOG.
fn sog(gaussians: &Gaussians, antialiased: bool) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().context("there is no place for temporary files")?;
    let path = folder.path().join("scene.sog");
    let options = WriteOptions {
        antialiased,
        ..WriteOptions::default()
    };
    let stages = Stages::default();
    let tell = |stage: &str, done, total| stages.tell(stage, done, total);
    for note in write(&path, gaussians, &options, &tell)?.notes {
        eprintln!("the page's scene: {note}");
    }
    Ok(std::fs::read(&path)?)
}

/// A camera as an entry of the list.
pub fn view(name: String, camera: &Camera) -> View {
    let [across, down] = camera.tan_half_fov();
    View {
        name,
        pose: Pose {
            aspect: Some(across / down),
            ..pose(&splatcore_path::Pose::of_camera(camera))
        },
    }
}

/// A pose as the page has it, of whatever width.
fn pose(pose: &splatcore_path::Pose) -> Pose {
    Pose {
        position: pose.position,
        rotation: pose.rotation,
        fov: pose.fov.to_degrees(),
        aspect: None,
    }
}

/// Reads a camera path of any format that `render --path` takes.
///
/// # Errors
/// If the file cannot be read, is of another kind, or holds no keyframe.
pub fn read_path(path: &Path) -> Result<Vec<Keyframe>> {
    let read = files::read(path, None)?;
    for note in &read.notes {
        eprintln!("{}: {note}", path.display());
    }
    let keyframe = |key: &splatcore_path::Keyframe| Keyframe {
        time: key.time,
        pose: pose(&key.pose),
        easing: key.easing.name(),
    };
    Ok(read.path.keyframes.iter().map(keyframe).collect())
}
