//! A scene as one HTML page, for `export`, `demo` and the report of a run.

use crate::cameras::framing::middle;
use crate::first_view;
use crate::progress::Stages;
use crate::up::Up;
use anyhow::{Result, bail};
use splatcore_core::sky::Sky;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::{self, WriteOptions, sog};
use splatcore_page::{Hotspot, Keyframe, Page, Pose, Source, View};
use splatcore_path::files;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A report holds the page of a scene of at most so many Gaussians, some 4 MB of degree 3. Making
/// it takes some seconds, and a browser opens it at once.
pub const MAX_IN_REPORT: usize = 100_000;

/// What the sender of a page chooses.
#[derive(Default)]
pub struct Choices {
    /// In the tab and the panel.
    pub title: String,
    /// Behind the scene.
    pub background: [f32; 3],
    /// A sky behind the scene, on top of the background.
    pub sky: Option<Arc<Sky>>,
    /// The look in which the page shows the scene ([`crate::looks::cube`]); its own colours if not
    /// given.
    pub look: Option<Vec<u8>>,
    /// Which way is up; if not given, that of the views, or -y.
    pub up: Option<Up>,
    /// Where to begin; if not given the first view, the path's begin, or the view that shows most.
    pub start: Option<Pose>,
    /// The list of views.
    pub views: Vec<View>,
    /// What the page plays.
    pub path: Vec<Keyframe>,
    /// Markers with texts.
    pub hotspots: Vec<Hotspot>,
    /// Whether the scene turns until it is touched.
    pub turn: bool,
}

/// A scene to share. It is encoded as SOG once, when a file or a page first asks for it; all of
/// them take the same bytes.
pub struct SharedScene {
    gaussians: Gaussians,
    antialias: bool,
    sog: OnceLock<Vec<u8>>,
}

impl SharedScene {
    /// Of these Gaussians; `antialias` as in [`crate::load::scene`].
    pub fn new(gaussians: Gaussians, antialias: bool) -> Self {
        Self {
            gaussians,
            antialias,
            sog: OnceLock::new(),
        }
    }

    /// The Gaussians.
    pub fn gaussians(&self) -> &Gaussians {
        &self.gaussians
    }

    /// The Gaussians, and whether they are rendered with Mip-Splatting's 2D filter.
    pub fn into_parts(self) -> (Gaussians, bool) {
        (self.gaussians, self.antialias)
    }

    /// The scene as a bundled SOG. `tell` hears of the stages if it has to be encoded.
    ///
    /// # Errors
    /// If there are more Gaussians than a SOG can hold.
    pub fn sog(&self, tell: scene::Progress) -> Result<&[u8]> {
        if let Some(bytes) = self.sog.get() {
            return Ok(bytes);
        }
        let options = WriteOptions {
            antialiased: self.antialias,
            ..WriteOptions::default()
        };
        let (bytes, notes) =
            sog::to_bytes(Path::new("the scene"), &self.gaussians, &options, tell)?;
        for note in notes {
            eprintln!("the scene as SOG: {note}");
        }
        Ok(self.sog.get_or_init(|| bytes))
    }

    /// The scene's page.
    ///
    /// # Errors
    /// If the scene is empty or cannot be encoded as SOG.
    pub fn page(&self, choices: &Choices) -> Result<String> {
        // Before the encoding, which an empty scene is not worth.
        let about = about(&self.gaussians, choices)?;
        let stages = Stages::default();
        let page = Page {
            scene: Source::Inside(self.sog(&|stage, done, total| stages.tell(stage, done, total))?),
            ..about
        };
        Ok(page.to_html()?)
    }
}

/// A page that lacks its scene.
///
/// # Errors
/// If the scene is empty.
pub fn about<'a>(gaussians: &Gaussians, choices: &'a Choices) -> Result<Page<'a>> {
    if gaussians.is_empty() {
        bail!("the scene has no Gaussian; a page would show nothing");
    }
    let of_views = || Up::of_rotations(choices.views.iter().map(|view| view.pose.rotation));
    let up = choices.up.unwrap_or_else(of_views).direction;
    let alone = choices.views.is_empty() && choices.path.is_empty();
    let start = match &choices.start {
        None if alone => Some(first_view::choose(gaussians, up)?.start()),
        chosen => chosen.clone(),
    };
    Ok(Page {
        title: &choices.title,
        scene: Source::Inside(&[]),
        background: choices.background,
        sky: choices.sky.as_ref().map(|sky| sky.coefficients),
        look: choices.look.as_deref(),
        up,
        bounds: middle(gaussians),
        start,
        views: choices.views.clone(),
        path: choices.path.clone(),
        hotspots: choices.hotspots.clone(),
        turn: choices.turn,
    })
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
pub fn pose(pose: &splatcore_path::Pose) -> Pose {
    Pose {
        position: pose.position,
        rotation: pose.rotation,
        fov: pose.fov.to_degrees(),
        aspect: None,
    }
}

/// A pose of a page as paths have it.
pub fn path_pose(pose: &Pose) -> splatcore_path::Pose {
    splatcore_path::Pose {
        position: pose.position,
        rotation: pose.rotation,
        fov: pose.fov.to_radians(),
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
