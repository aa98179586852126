//! `splatcore render`: a scene to PNG files.

use crate::backends::BackendArgs;
use crate::cameras::CameraArgs;
use crate::progress::Progress;
use crate::{load, output};
use anyhow::{Context, Result};
use splatcore_core::Pipeline;
use splatcore_core::backend::RenderOptions;
use std::collections::HashSet;
use std::path::PathBuf;

/// Render a scene to PNG files.
#[derive(clap::Args)]
pub struct Args {
    /// The scene, .ply or .spz
    scene: PathBuf,
    /// Folder for the pictures; each is named after its view, subfolders kept. Files of the same name are replaced
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    cameras: CameraArgs,
    /// Which kernels run: auto, vanilla (as INRIA's, slow), or intersect+blend[+backward]. Changes time, not
    /// quality
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::AUTO)]
    pipeline: Pipeline,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let scene = load::scene(&args.scene)?;
    output::check_writable(&args.output)?;
    let backend = args.backend.open()?;
    let (cameras, background) = args.cameras.resolve(&args.scene, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    drop(scene);
    let options = RenderOptions {
        pipeline: args.pipeline,
        background,
        ..RenderOptions::default()
    };
    let progress = Progress::new("rendering", cameras.len() as u64);
    let mut taken = HashSet::new();
    for (i, named) in cameras.iter().enumerate() {
        let rendered = renderer
            .render(&named.camera, &options)
            .with_context(|| format!("view '{}'", named.name))?;
        output::write_png(
            &output::png_path(&args.output, &named.name, &mut taken),
            &rendered.image,
        )?;
        progress.update(i as u64 + 1, || named.name.clone());
    }
    progress.finish();
    output::print(&format!(
        "{} pictures in {}",
        cameras.len(),
        args.output.display()
    ))
}
