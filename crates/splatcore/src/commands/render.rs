//! `splatcore render`: a scene to PNG files.

use crate::backends::{BackendArgs, HalfSceneArgs};
use crate::cameras::CameraArgs;
use crate::channels::Channels;
use crate::progress::Progress;
use crate::{load, output};
use anyhow::{Context, Result};
use splatcore_core::Pipeline;
use splatcore_core::backend::RenderOptions;
use splatcore_data::file;
use std::collections::HashSet;
use std::path::PathBuf;

/// Render a scene to PNG files.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb
    scene: PathBuf,
    /// Folder for the pictures; each is named after its view, subfolders kept. Files of the same
    /// name are replaced
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    cameras: CameraArgs,
    /// Which kernels run: auto, vanilla (as INRIA's, slow), or intersect+blend[+backward]. Images
    /// differ by what docs/methods says of each
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::AUTO)]
    pipeline: Pipeline,
    /// On a card, interpolate images of 4 million pixels and more with the blend splatcore where
    /// that is safe: one position per four pixels is blended. A pixel may be off by more than a
    /// step of 8 bits. Saves time if splats are large and many; costs some if not. Changes nothing
    /// with --depth and on the cpu backend
    #[arg(long)]
    interpolate: bool,
    /// Also NAME_depth.npy, depth along the view axis in world units as NumPy reads it (f32, 0
    /// where nothing is), and NAME_depth.png, its inverse to look at in 16 bits, one scale for all
    /// pictures, which depth.json holds. Depth is the inverse of the mean of 1/z over the Gaussians
    /// that make up a pixel, by their share of its colour; where only a little is seen (--alpha) it
    /// is the depth of that little. Takes little more time to render and as much again to write;
    /// pictures stay as they are, but for roundings with a --pipeline whose blend has no depth (all
    /// but scalar, subtile and splatcore): subtile takes its place
    #[arg(long)]
    depth: bool,
    /// Also NAME_alpha.png: how much of what is behind the scene each pixel hides, 8 bits.
    /// Rendering takes no longer
    #[arg(long)]
    alpha: bool,
    #[command(flatten)]
    half: HalfSceneArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let (scene, antialias) = load::scene(&args.scene)?;
    output::check_writable(&args.output)?;
    let backend = args.backend.open_for(&args.half)?;
    let (cameras, background) = args.cameras.resolve(&args.scene, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    drop(scene);
    let options = RenderOptions {
        pipeline: args.pipeline,
        background,
        inverse_depth: args.depth,
        antialias,
        interpolate: args.interpolate,
        ..RenderOptions::default()
    };
    let progress = Progress::new("rendering", cameras.len() as u64);
    let mut taken = HashSet::new();
    let mut channels = Channels::new(args.depth, args.alpha);
    for (i, named) in cameras.iter().enumerate() {
        let rendered = renderer
            .render(&named.camera, &options)
            .with_context(|| format!("view '{}'", named.name))?;
        let picture = output::png_path(&args.output, &named.name, &mut taken);
        file::write_png(&picture, &rendered.image)?;
        channels.write(&picture, &rendered, &mut taken)?;
        progress.update(i as u64 + 1, || named.name.clone());
    }
    channels.finish(&args.output)?;
    progress.finish();
    output::print(&format!(
        "{} in {}",
        output::counted(cameras.len(), "picture"),
        args.output.display()
    ))
}
