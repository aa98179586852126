//! Pictures of cameras.

use super::args::Args;
use super::projection;
use crate::backends::cards;
use crate::cameras::NamedCamera;
use crate::cameras::surroundings::surroundings;
use crate::channels::Channels;
use crate::output::WrongUsage;
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use crate::{interrupt, output};
use anyhow::{Context, Result};
use splatcore_core::backend::Renderer;
use splatcore_core::panorama;
use splatcore_core::spread::in_order;
use splatcore_data::file;
use std::collections::HashSet;
use std::path::Path;

/// Refuses the name of a file, of which a folder would be made.
fn check_folder(output: &Path) -> Result<()> {
    const FILES: [&str; 8] = ["png", "jpg", "jpeg", "gif", "mp4", "mov", "mkv", "webm"];
    let ending = output.extension().unwrap_or_default().to_ascii_lowercase();
    if output.is_dir() || !FILES.iter().any(|file| ending == *file) {
        return Ok(());
    }
    Err(WrongUsage(format!(
        "{}: pictures are written into a folder, by the names of their views; give a folder with \
         -o, or --path for a video or an animated picture",
        output.display()
    ))
    .into())
}

/// Renders a picture for each camera.
pub fn run(args: &Args, source: &SceneSource) -> Result<()> {
    check_folder(&args.output)?;
    interrupt::watch()?;
    let look = args.look.find(Some(source))?;
    let (scene, antialias) = source.load()?;
    let _lock = output::take_folder(&args.output, "render")?;
    let backends = args.open(&scene, look.as_ref())?;
    let (mut cameras, background) = args.cameras.resolve(source, &scene)?;
    if let Some(projection) = args.projection {
        let centre = surroundings(&scene).map_or([0.0; 3], |(centre, _)| centre);
        cameras = projection::of_all(projection, cameras, args.cameras.size(), centre)?;
    }
    let mut renderers = cards::renderers(&backends, &scene)?;
    drop(scene);
    let options = args.options(background, args.cameras.sky(source)?, antialias);
    let progress = Progress::new("rendering", cameras.len() as u64);
    let mut taken = HashSet::new();
    let mut channels = Channels::new(args.depth, args.alpha);
    let render = |renderer: &mut Box<dyn Renderer>, named: &NamedCamera| {
        let rendered = panorama::render(&mut **renderer, &named.camera, &options);
        rendered.with_context(|| format!("view '{}'", named.name))
    };
    let mut written = 0;
    in_order(&mut renderers, &cameras, render, |named, rendered| {
        let picture = output::png_path(&args.output, &named.name, &mut taken);
        file::write_png(&picture, &rendered.image)?;
        channels.write(&picture, &rendered, &mut taken)?;
        written += 1;
        progress.update(written, || named.name.clone());
        Ok(())
    })?;
    channels.finish(&args.output)?;
    progress.finish();
    output::print(&format!(
        "{} in {}",
        output::counted(cameras.len(), "picture"),
        args.output.display()
    ))
}
