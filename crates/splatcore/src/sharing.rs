//! A scene as one HTML page, for `export`, `demo` and the report of a run.

use crate::cameras::{self, Up};
use crate::progress::Stages;
use crate::viewing::scene_info;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::{WriteOptions, write};
use splatcore_page::{Keyframe, Page, Pose, View};
use std::path::Path;

/// A report holds the page of a scene of at most so many Gaussians, some 4 MB of degree 3. Making
/// it takes some seconds, and a browser opens it at once.
pub const MOST_IN_REPORT: usize = 100_000;
/// What a camera path's file says of itself.
const PATH_FORMAT: &str = "camera path 1";
/// Seconds between two keyframes that have no time.
const SECONDS_APART: f64 = 2.0;
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
    let Some((centre, radius)) = cameras::surroundings(gaussians) else {
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
            Some(pose(&cameras::overview(gaussians, axis)?))
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

/// A file of keyframes, as the viewers save it.
#[derive(Deserialize)]
struct PathFile {
    splatcore: String,
    keyframes: Vec<StoredKeyframe>,
}

#[derive(Deserialize)]
struct StoredKeyframe {
    name: Option<String>,
    time: Option<f64>,
    position: [f64; 3],
    rotation: [[f64; 3]; 3],
    fov: f64,
}

/// Reads the keyframes that a viewer saved, with the names of those that have one. Their times
/// rise; without times they are evenly spaced.
///
/// # Errors
/// If the file cannot be read, is of another kind, or a keyframe is no camera.
pub fn read_path(path: &Path) -> Result<Vec<(Option<String>, Keyframe)>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| anyhow::anyhow!("{shown}: cannot be read ({e}); give a camera path"))?;
    let file: PathFile = serde_json::from_str(&text).with_context(|| {
        format!("{shown}: is no camera path; choose a file that Save in the viewer wrote")
    })?;
    if file.splatcore != PATH_FORMAT {
        bail!(
            "{shown}: says '{}' in place of '{PATH_FORMAT}'; it may be of a newer version",
            file.splatcore
        );
    }
    if file.keyframes.is_empty() {
        bail!("{shown}: holds no keyframe; add some in the viewer");
    }
    let times: Vec<Option<f64>> = file.keyframes.iter().map(|key| key.time).collect();
    let rising = times.iter().all(|time| time.is_some_and(f64::is_finite))
        && times.windows(2).all(|pair| pair[0] < pair[1]);
    let keyframe = |(i, key): (usize, StoredKeyframe)| {
        let time = match (rising, key.time) {
            (true, Some(time)) => time,
            _ => i as f64 * SECONDS_APART,
        };
        let focal = f64::from(SIDE) / (2.0 * (key.fov.to_radians() / 2.0).tan());
        let (r, p) = (&key.rotation, &key.position);
        let camera = Camera {
            width: SIDE,
            height: SIDE,
            fx: focal,
            fy: focal,
            cx: f64::from(SIDE) / 2.0,
            cy: f64::from(SIDE) / 2.0,
            rotation: key.rotation,
            translation: [0, 1, 2].map(|i: usize| -(0..3).map(|j| r[i][j] * p[j]).sum::<f64>()),
        };
        let narrow = !(key.fov > 0.0 && key.fov < 180.0);
        let angle = narrow.then(|| format!("a field of view of {} degrees", key.fov));
        match angle.or_else(|| camera.defect()) {
            Some(defect) => bail!("{shown}, keyframe {i}: {defect}; correct it or leave it out"),
            None => {
                let pose = pose(&camera);
                Ok((key.name, Keyframe { time, pose }))
            }
        }
    };
    file.keyframes
        .into_iter()
        .enumerate()
        .map(keyframe)
        .collect()
}

/// The camera of a keyframe, for a list of views.
pub fn camera_of(keyframe: &Keyframe) -> Camera {
    let pose = &keyframe.pose;
    let forward: [f64; 3] = std::array::from_fn(|k| pose.position[k] + pose.rotation[2][k]);
    let up = pose.rotation[1].map(|v| -v);
    Camera::look_at(
        pose.position,
        forward,
        up,
        pose.fov.to_radians(),
        SIDE,
        SIDE,
    )
}
