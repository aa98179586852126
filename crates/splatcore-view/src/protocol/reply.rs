//! What the server tells a browser.

use crate::edit::EditStatus;
use serde::{Serialize, Serializer};
use splatcore_core::Camera;
use splatcore_core::ProjectionKind;
use splatcore_page::Pose;

/// A text message of the server.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply<'a> {
    /// The token was right: what there is to see.
    Scene(&'a SceneInfo),
    /// Where the run is.
    Status(&'a Status),
    /// What was changed of the scene.
    Edits(&'a EditStatus),
    /// The answer to a pick.
    Picked {
        /// The request's.
        tag: u32,
        /// World units; none where the pixel shows nothing.
        point: Option<[f64; 3]>,
    },
    /// The view to begin with was stored.
    Stored {
        /// One line: where.
        message: String,
    },
    /// The scene was saved.
    Saved {
        /// The file's name.
        name: String,
        /// Gaussians in it.
        gaussians: usize,
        /// Its size.
        bytes: u64,
        /// What the format could not keep.
        notes: Vec<String>,
    },
    /// The scene was not saved: there is a file of this name.
    Exists {
        /// The name.
        name: String,
        /// It is the file that was opened.
        opened: bool,
    },
    /// Something could not be done.
    Error {
        /// One line.
        message: String,
    },
}

/// What there is to see.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SceneInfo {
    /// Of the page.
    pub title: String,
    /// Smallest and largest coordinates without outliers, world units.
    pub bounds: [[f32; 3]; 2],
    /// Two corners of the box that "frame all" shows, world units.
    pub frame: [[f64; 3]; 2],
    /// The direction that is up, unit length.
    pub up: [f64; 3],
    /// How the scene is seen at first.
    pub projection: ProjectionKind,
    /// Where to begin; if not given at the first camera, or with the whole frame.
    pub start: Option<Pose>,
    /// Whether this browser may store another view to begin with.
    pub stores_start: bool,
    /// Degree of the spherical harmonics.
    pub sh_degree: u8,
    /// Cameras of photos, in the order in which photos are asked for.
    pub cameras: Vec<CameraInfo>,
    /// Whether photos can be asked for.
    pub photos: bool,
    /// Whether the scene is being trained.
    pub training: bool,
    /// Whether this browser may control the run.
    pub control: bool,
    /// What the colours of [`super::Channel::Heat`] mean.
    pub heat: HeatScale,
}

/// The colours of numbers of Gaussians in tiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HeatScale {
    /// The number of the last colour; larger ones have it as well.
    pub most: u32,
    /// Side of a tile, pixels of the picture as it was drawn.
    pub tile: u32,
    /// Red, green, blue, from no Gaussian to `most`, at equal distances of log(1 + number).
    pub colours: Vec<[u8; 3]>,
}

/// A camera of the dataset.
#[derive(Clone, Debug, Serialize)]
pub struct CameraInfo {
    /// The photo's name.
    pub name: String,
    /// World units.
    pub position: [f64; 3],
    /// World to camera, as in a view request.
    pub rotation: [[f64; 3]; 3],
    /// Vertical field of view, degrees.
    pub fov: f64,
    /// Width over height.
    pub aspect: f64,
    /// Held out of training.
    pub held_out: bool,
    /// With its lens and its motion, if they can be rendered; browsers are told whether.
    #[serde(serialize_with = "is_some")]
    pub as_taken: Option<Camera>,
}

fn is_some<S: Serializer>(camera: &Option<Camera>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(camera.is_some())
}

/// Where a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// Steps taken.
    pub step: u32,
    /// Steps of the run; 0 for a finished scene.
    pub iterations: u32,
    /// Smoothed training loss; none before the first sample.
    pub loss: Option<f64>,
    /// Gaussians now.
    pub gaussians: usize,
    /// Recent speed.
    pub steps_per_second: f64,
    /// At the recent speed.
    pub seconds_left: f64,
    /// No step is taken now.
    pub paused: bool,
    /// The run has ended.
    pub ended: bool,
    /// Steps and losses so far, thinned out.
    pub losses: Vec<(u32, f64)>,
    /// Steps and PSNR of held-out photos, dB.
    pub psnr: Vec<(u32, f64)>,
}
