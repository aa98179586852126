//! Where the frames of a film go: videos, or folders.

use super::args::Args;
use super::plan::Plan;
use super::shots::Shot;
use crate::channels;
use crate::output::{self, WrongUsage};
use anyhow::{Result, bail};
use serde_json::json;
use splatcore_data::file::{Draft, write_png};
use splatcore_data::lock::FolderLock;
use splatcore_video::{
    Codec, Container, Encoder, FrameFolder, HAS_AV1, Job, MAX_GIF_FPS, Output, find_ffmpeg, open,
};
use std::path::{Path, PathBuf};

/// Of a video.
const QUALITY: u8 = 80;

/// Where frames go.
pub enum Sink {
    /// Into videos: the frames, and with `--alpha` and `--depth` one more each.
    Videos {
        colour: Video,
        alpha: Option<Video>,
        depth: Option<Video>,
        white: f32,
    },
    /// Into a folder.
    Folder(FrameFolder, Suffixes, [u32; 2], f32),
}

/// A video, and its file while it is unfinished.
pub struct Video {
    encoder: Box<dyn Encoder>,
    draft: Box<Draft>,
}

/// Endings of a frame's files in a folder.
type Suffixes = Vec<&'static str>;

/// What `-o` asks for; found before anything is rendered.
pub enum Target {
    Video(Output),
    /// A folder, which no other process writes meanwhile.
    Folder {
        _lock: FolderLock,
    },
}

impl Target {
    /// By the name of the output.
    pub fn of(args: &Args) -> Result<Self> {
        let extension = args
            .output
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let codec = args.path.codec.map(Codec::from);
        let container = match extension.as_str() {
            "mp4" => Container::Mp4,
            "mov" => Container::Mov,
            "mkv" => Container::Mkv,
            "webm" => Container::WebM,
            "png" | "apng" | "gif" | "" if codec.is_some() || args.path.quality.is_some() => {
                let flag = if codec.is_some() {
                    "--codec"
                } else {
                    "--quality"
                };
                bail!(WrongUsage(format!(
                    "{flag} is for videos; write to a .mp4, .mov, .mkv or .webm, or leave it out"
                )))
            }
            "png" | "apng" => return Self::file(args, Output::Apng),
            "gif" if args.path.fps.is_some_and(|fps| fps > MAX_GIF_FPS) => bail!(WrongUsage(
                format!("--fps: a GIF shows at most {MAX_GIF_FPS} frames a second")
            )),
            "gif" => return Self::file(args, Output::Gif),
            _ if args.output.is_dir() || extension.is_empty() => {
                let lock = output::take_folder(&args.output, "render --path")?;
                return Ok(Self::Folder { _lock: lock });
            }
            other => bail!(WrongUsage(format!(
                "-o {}: .{other} is not written; choose .mp4, .mov, .mkv, .webm, .png, .gif or a \
                 folder without an extension",
                args.output.display()
            ))),
        };
        let ffmpeg = find_ffmpeg();
        if HAS_AV1 && ffmpeg.is_none() && codec.is_none() && container == Container::Mp4 {
            eprintln!(
                "ffmpeg is not installed: the built-in AV1 encoder takes its place, which takes \
                 several times as long"
            );
        }
        Self::file(args, Output::video(container, codec, ffmpeg)?)
    }

    fn file(args: &Args, output: Output) -> Result<Self> {
        output::check_file_writable(&args.output, "-o")?;
        Ok(Self::Video(output))
    }
}

impl Sink {
    /// Opens files; `white` is the inverse depth of white, `job` says what a folder's frames are.
    pub fn open(
        args: &Args,
        plan: &Plan,
        target: &Target,
        white: f32,
        job: &serde_json::Value,
    ) -> Result<Self> {
        match target {
            Target::Folder { .. } => {
                let mut suffixes = vec![".png"];
                suffixes.extend(args.alpha.then_some("_alpha.png"));
                suffixes.extend(
                    args.depth
                        .then_some(["_depth.npy", "_depth.png"])
                        .into_iter()
                        .flatten(),
                );
                let folder = FrameFolder::open(&args.output, job, plan.count, &suffixes)?;
                if args.depth {
                    channels::write_scale(&args.output.join("depth.json"), white)?;
                }
                Ok(Self::Folder(folder, suffixes, plan.size, white))
            }
            Target::Video(output) => {
                let video =
                    |suffix: &str| Video::open(output, beside(&args.output, suffix), args, plan);
                let sink = Self::Videos {
                    colour: video("")?,
                    alpha: args.alpha.then(|| video("_alpha")).transpose()?,
                    depth: args.depth.then(|| video("_depth")).transpose()?,
                    white,
                };
                if args.depth {
                    let scale = beside(&args.output, "_depth").with_extension("json");
                    let what = "1 / depth = value / 255 * white; 0 where nothing is, 255 also for \
                                what is nearer";
                    let white = (white > 0.0).then_some(white);
                    output::write_json(&scale, &json!({"video": what, "white": white}))?;
                }
                Ok(sink)
            }
        }
    }

    /// Whether a frame is there from before.
    pub fn has(&self, index: u64) -> bool {
        match self {
            Self::Videos { .. } => false,
            Self::Folder(folder, suffixes, ..) => folder.has(index, suffixes),
        }
    }

    /// Takes a frame.
    pub fn write(&mut self, index: u64, shot: &Shot) -> Result<()> {
        match self {
            Self::Videos {
                colour,
                alpha,
                depth,
                white,
            } => {
                colour.encoder.write(&shot.image.to_bytes())?;
                if let Some(alpha) = alpha {
                    alpha.encoder.write(&shot.alpha_rgb())?;
                }
                if let Some(depth) = depth {
                    depth.encoder.write(&shot.depth_rgb(*white))?;
                }
            }
            Self::Folder(folder, suffixes, size, white) => {
                let depth = match shot.inverse_depth {
                    Some(_) => shot.depth(),
                    None => Vec::new(),
                };
                for suffix in suffixes.iter() {
                    let path = folder.path(index, suffix);
                    match *suffix {
                        ".png" => write_png(&path, &shot.image)?,
                        "_alpha.png" => channels::write_alpha(&path, *size, &shot.alpha)?,
                        "_depth.npy" => channels::write_npy(&path, *size, &depth)?,
                        _ => channels::write_depth_png(&path, *size, &depth, *white)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives the files their names.
    pub fn finish(self) -> Result<()> {
        if let Self::Videos {
            colour,
            alpha,
            depth,
            ..
        } = self
        {
            for video in [Some(colour), alpha, depth].into_iter().flatten() {
                video.encoder.finish()?;
                video.draft.finish()?;
            }
        }
        Ok(())
    }
}

impl Video {
    fn open(output: &Output, path: PathBuf, args: &Args, plan: &Plan) -> Result<Self> {
        let draft = Box::new(Draft::named_beside(&path)?);
        let job = Job {
            place: draft.place().unwrap_or(&path).to_owned(),
            path,
            size: plan.size,
            frames: plan.frames(),
            fps: plan.fps,
            quality: args.path.quality.unwrap_or(QUALITY),
        };
        let encoder = open(output, job)?;
        Ok(Self { encoder, draft })
    }
}

/// `NAME.mp4` with a suffix before its extension.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    path.with_file_name(format!("{stem}{suffix}.{extension}"))
}

/// All that frames depend on, for the record of a folder.
pub fn job(
    args: &Args,
    plan: &Plan,
    scene: &splatcore_core::Gaussians,
    backend: &str,
    options: &splatcore_core::backend::RenderOptions,
) -> Result<serde_json::Value> {
    use sha2::{Digest, Sha256};
    let mut cameras = Sha256::new();
    for index in 0..plan.count {
        let pose = plan.pose(index as f64);
        let numbers = pose
            .position
            .into_iter()
            .chain(pose.rotation.into_iter().flatten());
        for number in numbers.chain([pose.fov]) {
            cameras.update(number.to_le_bytes());
        }
    }
    let mut gaussians = Sha256::new();
    let vectors = [&scene.means, &scene.log_scales, &scene.sh];
    let numbers = vectors.into_iter().flatten().flatten();
    let numbers = numbers
        .chain(scene.rotations.iter().flatten())
        .chain(&scene.opacity_logits);
    // In pieces: a hash of many short updates is slow.
    let mut piece = Vec::with_capacity(1 << 16);
    for number in numbers {
        piece.extend(number.to_le_bytes());
        if piece.len() == 1 << 16 {
            gaussians.update(&piece);
            piece.clear();
        }
    }
    gaussians.update(&piece);
    let settings = format!("{options:?}");
    let path = &args.path;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "scene": output::hex(gaussians),
        "cameras": output::hex(cameras),
        "backend": backend,
        "half_scene": args.half.half_scene,
        "settings": settings,
        "size": plan.size,
        "samples": path.samples,
        "motion_blur": [f64::from(path.motion_blur), path.shutter],
        "projection": format!("{:?}", args.projection),
        "depth": args.depth,
        "alpha": args.alpha,
        "look": args.look.name(),
    }))
}
