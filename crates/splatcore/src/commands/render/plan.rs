//! What a film shows: the curve, its frames, their size.

use super::args::Args;
use super::path_args::{FrameRange, Kind};
use super::projection;
use crate::cameras::surroundings::surroundings;
use crate::cameras::{MAX_SIDE, Size};
use crate::output::{WrongUsage, counted};
use crate::projection::Projection;
use crate::scene_source::SceneSource;
use anyhow::{Result, bail};
use splatcore_core::{Camera, Gaussians};
use splatcore_data::file::write_bytes;
use splatcore_path::files::{self, WorldTransform};
use splatcore_path::generate::{self, Dolly};
use splatcore_path::{CameraPath, Curve, Motion, Pose};

/// Length of a path that is made, seconds.
const SECONDS: f64 = 8.0;
const FPS: f64 = 30.0;
const SIZE: Size = Size(1280, 720);
/// Cameras of photos may be larger than a video should be: their longer side is at most this.
const LONGEST: u32 = 1920;
/// More frames are a typing error.
const MAX_FRAMES: u64 = 1_000_000;

/// A film before it is rendered.
pub struct Plan {
    pub curve: Curve,
    pub fps: f64,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// What each place of the path is seen through.
    pub projection: Projection,
    /// The middle of the scene.
    centre: [f64; 3],
    /// Frames of the whole path.
    pub count: u64,
    /// The first and the last one that are rendered.
    pub first: u64,
    pub last: u64,
}

impl Plan {
    /// Finds the path, says what is worth saying of it, and saves it if asked to.
    pub fn of(args: &Args, source: &SceneSource, kind: &Kind, scene: &Gaussians) -> Result<Self> {
        let found = path_of(args, source, kind, scene)?;
        let size = size_of(args, found.size)?;
        let mut path = found.path;
        if args.path.looped {
            path = path.closed();
        }
        if let Some(seconds) = args.path.seconds {
            path = path.with_seconds(seconds);
        }
        let motion = Motion {
            constant_speed: args.path.constant_speed,
            ramp: args.path.easing.into(),
        };
        let fps = args.path.fps.or(path.fps).unwrap_or(FPS);
        let curve = Curve::new(&path, motion);
        let count = curve.frames(fps);
        if count > MAX_FRAMES {
            bail!("{count} frames are too many; lower --fps or --seconds");
        }
        let (first, last) = match args.path.frames {
            None => (0, count - 1),
            Some(FrameRange { first, last }) => (first, last.unwrap_or(count - 1)),
        };
        if first >= count || last >= count {
            let frames = counted(count as usize, "frame");
            bail!(WrongUsage(format!(
                "the path has {frames}, from 0 to {}; correct --frames",
                count - 1
            )));
        }
        if let Some(file) = &args.path.save_path {
            let world = found.world.as_ref();
            let format = args.path.save_as.into();
            let (text, notes) = files::write(&path, &curve, format, fps, size, world)?;
            write_bytes(file, text.as_bytes())?;
            for note in notes {
                eprintln!("{}: {note}", file.display());
            }
        }
        Ok(Self {
            curve,
            fps,
            size,
            projection: args.projection.unwrap_or(Projection::Pinhole),
            centre: surroundings(scene).map_or([0.0; 3], |(centre, _)| centre),
            count,
            first,
            last,
        })
    }

    /// How many frames are rendered.
    pub fn frames(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The pose of a frame, or between two.
    pub fn pose(&self, index: f64) -> Pose {
        self.curve.at(self.curve.frame_time(index, self.count))
    }

    /// Its camera with an image of this size.
    pub fn camera(&self, index: f64, [width, height]: [u32; 2]) -> Camera {
        let camera = self.pose(index).camera(width, height);
        self.projection.kind().of(&camera, self.centre)
    }
}

/// A path, the size of its file or cameras, and where nerfstudio's world lies.
struct Found {
    path: CameraPath,
    size: Option<Size>,
    world: Option<WorldTransform>,
}

fn path_of(args: &Args, source: &SceneSource, kind: &Kind, scene: &Gaussians) -> Result<Found> {
    let seconds = args.path.seconds.unwrap_or(SECONDS);
    let world = args
        .path
        .path_transforms
        .as_deref()
        .map(WorldTransform::read)
        .transpose()?;
    let made = |path: CameraPath, size| Ok(Found { path, size, world });
    match kind {
        Kind::File(file) => {
            let read = files::read(file, world.as_ref())?;
            eprintln!("{}: a path of {}", file.display(), read.format.name());
            for note in &read.notes {
                eprintln!("{}: {note}", file.display());
            }
            let size = read.path.size.map(|[width, height]| Size(width, height));
            Ok(Found {
                path: read.path,
                size,
                world: read.world,
            })
        }
        Kind::Orbit => {
            let size = args.cameras.size().unwrap_or(SIZE);
            made(
                generate::orbit(&args.cameras.circle(source, scene, size)?, seconds),
                None,
            )
        }
        Kind::Ellipse => {
            let (poses, size) = poses(args, source, "an ellipse")?;
            made(generate::ellipse(&poses, None, seconds)?, Some(size))
        }
        Kind::Spline => {
            let (poses, size) = poses(args, source, "a spline")?;
            made(
                generate::through(&poses, seconds, args.path.looped)?,
                Some(size),
            )
        }
        Kind::Dolly { zoom } => {
            let (start, focus, size) = match of_cameras(args, source)? {
                Some((poses, size)) => {
                    let focus = generate::focus_of(&poses);
                    (poses[0], ahead(&poses[0], focus), Some(size))
                }
                None => {
                    let size = args.cameras.size().unwrap_or(SIZE);
                    let circle = args.cameras.circle(source, scene, size)?;
                    (circle.pose(0.0), circle.distance, None)
                }
            };
            let dolly = Dolly {
                start,
                focus,
                share: args.path.dolly,
                zoom: *zoom,
            };
            made(generate::dolly(&dolly, seconds)?, size)
        }
    }
}

/// Poses of the cameras that were named, and a size for a film of them.
fn of_cameras(args: &Args, source: &SceneSource) -> Result<Option<(Vec<Pose>, Size)>> {
    let found = args.cameras.poses(source)?;
    Ok(found.map(|(poses, size)| (poses, shrunk(size))))
}

fn poses(args: &Args, source: &SceneSource, what: &str) -> Result<(Vec<Pose>, Size)> {
    of_cameras(args, source)?.ok_or_else(|| {
        WrongUsage(format!(
            "{what} goes through cameras; give --dataset or --cameras"
        ))
        .into()
    })
}

/// How far a focus lies ahead of a camera; if it lies behind, how far away it is.
fn ahead(pose: &Pose, focus: [f64; 3]) -> f64 {
    let towards: [f64; 3] = std::array::from_fn(|k| focus[k] - pose.position[k]);
    let along: f64 = (0..3).map(|k| towards[k] * pose.rotation[2][k]).sum();
    let distance = towards.iter().map(|v| v * v).sum::<f64>().sqrt();
    if along > 0.0 {
        along
    } else {
        distance.max(1e-3)
    }
}

/// At most [`LONGEST`] pixels on the longer side.
fn shrunk(Size(width, height): Size) -> Size {
    let longest = width.max(height);
    let shrunk = |side: u32| {
        let side = f64::from(side) * f64::from(LONGEST.min(longest)) / f64::from(longest);
        (side.round() as u32).max(1)
    };
    Size(shrunk(width), shrunk(height))
}

/// The frames' size: what was typed, else the path's.
fn size_of(args: &Args, found: Option<Size>) -> Result<[u32; 2]> {
    let Size(width, height) = match (args.cameras.size(), found) {
        (Some(size), _) => size,
        (None, Some(size)) => size,
        (None, None) if args.projection == Some(Projection::Equirect) => Size(1920, 960),
        (None, None) => SIZE,
    };
    let [width, height] = match (args.projection, args.cameras.size()) {
        (Some(Projection::Equirect), None) => projection::size(width),
        (Some(Projection::Equirect), typed) => {
            projection::check(typed)?;
            [width, height]
        }
        _ => [width, height],
    };
    let samples = args.path.samples;
    if width.max(height) * samples > MAX_SIDE {
        bail!("{samples} samples of {width}x{height} are wider than {MAX_SIDE} pixels; lower one");
    }
    Ok([width, height])
}
