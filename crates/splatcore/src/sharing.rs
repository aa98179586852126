//! A scene as one HTML page, for `export`, `demo` and the report of a run.

use crate::cameras::surroundings::surroundings;
use crate::orbit::{self, Up};
use crate::progress::Stages;
use crate::viewing::scene_info;
use anyhow::{Context, Result, bail};
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::{WriteOptions, write};
use splatcore_page::{Keyframe, Page, Pose, View};
use splatcore_path::files;
use std::path::Path;

/// A report holds the page of a scene of at most so many Gaussians, some 4 MB of degree 3. Making
/// it takes some seconds, and a browser opens it at once.
pub const MOST_IN_REPORT: usize = 100_000;
/// Width and height of a camera that stands for a keyframe; nothing depends on them.
const SIDE: u32 = 1000;

/// What the sender of a page chooses.
#[derive(Default)]
pub struct Choices {
    /// In the tab and the panel.
    pub title: String,
    /// Behind the scene.
    pub background: [f32; 3],
    /// Which axis is up; if not given, that of the views, or -y.
    pub up: Option<Up>,
    /// Names and cameras for the list of views.
    pub views: Vec<(String, Camera)>,
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
    let cameras = choices.views.iter();
    let info = scene_info(
        String::new(),
        gaussians,
        cameras.map(|(name, camera)| (name.as_str(), camera, false)),
    );
    let views: Vec<View> = info.cameras.into_iter().map(view).collect();
    let up = choices.up.map_or(info.up, |up| up.axes().0);
    let start = match views.is_empty() && choices.path.is_empty() {
        true => {
            let axis = choices.up.unwrap_or(Up::MINUS_Y);
            Some(pose(&orbit::overview(gaussians, axis)?))
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
        views,
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

fn view(camera: splatcore_view::protocol::CameraInfo) -> View {
    View {
        name: camera.name,
        pose: Pose {
            position: camera.position,
            rotation: camera.rotation,
            fov: camera.fov,
            aspect: Some(camera.aspect),
        },
    }
}

/// A camera as the page has it, of whatever width.
fn pose(camera: &Camera) -> Pose {
    Pose {
        position: camera.position(),
        rotation: camera.rotation,
        fov: 2.0 * camera.tan_half_fov()[1].atan().to_degrees(),
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
        pose: pose(&key.pose.camera(SIDE, SIDE)),
    };
    Ok(read.path.keyframes.iter().map(keyframe).collect())
}

/// The camera of a keyframe, for a list of views.
pub fn camera_of(keyframe: &Keyframe) -> Camera {
    let pose = &keyframe.pose;
    let stored = splatcore_path::Pose {
        position: pose.position,
        rotation: pose.rotation,
        fov: pose.fov.to_radians(),
    };
    stored.camera(SIDE, SIDE)
}
