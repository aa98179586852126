//! Pictures of cameras.

use super::args::Args;
use crate::channels::Channels;
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use crate::{interrupt, output};
use anyhow::{Context, Result};
use splatcore_data::file;
use std::collections::HashSet;

/// Renders a picture for each camera.
pub fn run(args: &Args, source: &SceneSource) -> Result<()> {
    interrupt::watch()?;
    let (scene, antialias) = source.load()?;
    let _lock = output::take_folder(&args.output, "render")?;
    let backend = args.backend.open_for(&args.half)?;
    let (cameras, background) = args.cameras.resolve(source, &scene)?;
    let mut renderer = backend.renderer(&scene)?;
    drop(scene);
    let options = args.options(background, antialias);
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
