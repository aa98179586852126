//! What `render` is told.

use super::path_args::PathArgs;
use crate::backends::cards::CardsArgs;
use crate::backends::{BackendArgs, HalfSceneArgs, note_depth_method};
use crate::cameras::CameraArgs;
use crate::looks::{self, LookArgs, Shown};
use crate::projection::Projection;
use anyhow::Result;
use splatcore_core::backend::RenderOptions;
use splatcore_core::sky::Sky;
use splatcore_core::{Backend, Gaussians, Pipeline};
use std::path::PathBuf;
use std::sync::Arc;

/// Render a scene to PNG files or a video.
///
/// Pictures are of the cameras of --dataset, --cameras or --orbit; of a run without any of these,
/// of its held-out photos' cameras. With --path they are the frames of a video along a camera path.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb, or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN")]
    pub scene: PathBuf,
    /// Folder for the pictures; each is named after its view, subfolders kept. Files of the same
    /// name are replaced. With --path: a video (.mp4, .mov, .mkv, .webm), an animated picture
    /// (.png, .gif), or a folder for the frames, with which the same command goes on after Ctrl-C
    #[arg(short, long, value_name = "DIR_OR_FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub cameras: CameraArgs,
    /// How the places of the cameras are seen: pinhole; fisheye: 180 degrees from top to bottom,
    /// and equirect: 360 degrees around, twice as wide as high, both with the camera's forward in
    /// the middle, whatever its field of view; or ortho: parallel rays, as of a map, what lies as
    /// far away as the scene's middle as large as the camera shows it, and nothing of what lies
    /// behind the camera [through the cameras' own lens; with --path pinhole]. equirect takes the
    /// time of four pictures
    #[arg(long, value_name = "KIND")]
    pub projection: Option<Projection>,
    #[command(flatten)]
    pub path: PathArgs,
    /// Which kernels run: auto, vanilla (as INRIA's, slow), or intersect+blend[+backward]. Images
    /// differ by what docs/methods says of each
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::AUTO)]
    pub pipeline: Pipeline,
    /// On a card, interpolate images of 4 million pixels and more with the blend splatcore where
    /// that is safe: one position per four pixels is blended. A pixel may be off by more than a
    /// step of 8 bits. Saves time if splats are large and many; costs some if not. Changes nothing
    /// with --depth and on the cpu backend
    #[arg(long)]
    pub interpolate: bool,
    /// Also NAME_depth.npy, depth along the view axis in world units as NumPy reads it (f32, 0
    /// where nothing is), and NAME_depth.png, its inverse to look at in 16 bits, one scale for all
    /// pictures, which depth.json holds. Depth is the inverse of the mean of 1/z over the Gaussians
    /// that make up a pixel, by their share of its colour; where only a little is seen (--alpha) it
    /// is the depth of that little. Takes little more time to render and as much again to write;
    /// pictures stay as they are, but for roundings with a --pipeline whose blend has no depth (all
    /// but scalar, subtile and splatcore): subtile takes its place. With --path a video beside,
    /// NAME_depth, of inverse depth in 8 bits, whose scale NAME_depth.json holds; in a folder .npy
    /// and .png files
    #[arg(long)]
    pub depth: bool,
    /// Also NAME_alpha.png: how much of what is behind the scene each pixel hides, 8 bits.
    /// Rendering takes no longer. With --path a video beside, NAME_alpha
    #[arg(long)]
    pub alpha: bool,
    #[command(flatten)]
    pub look: LookArgs,
    #[command(flatten)]
    pub half: HalfSceneArgs,
    #[command(flatten)]
    pub cards: CardsArgs,
    #[command(flatten)]
    pub backend: BackendArgs,
}

impl Args {
    /// The backends of the cards for this scene, their pictures in a look, if there is one.
    pub fn open(&self, scene: &Gaussians, look: Option<&Shown>) -> Result<Vec<Box<dyn Backend>>> {
        let half_scene = self.half.half_scene;
        let backends = self
            .backend
            .open_cards(&self.cards, half_scene, Some(scene))?;
        if self.depth {
            note_depth_method(self.pipeline);
        }
        let seen = |backend| looks::through(backend, look.cloned());
        Ok(backends.into_iter().map(seen).collect())
    }

    /// How frames are rendered on a background and a sky; `antialias` is the scene's.
    pub fn options(
        &self,
        background: [f32; 3],
        sky: Option<Arc<Sky>>,
        antialias: bool,
    ) -> RenderOptions {
        RenderOptions {
            pipeline: self.pipeline,
            background,
            sky,
            antialias,
            interpolate: self.interpolate,
            ..RenderOptions::default()
        }
        .with_inverse_depth(self.depth)
    }
}
