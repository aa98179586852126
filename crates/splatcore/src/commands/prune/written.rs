//! The file that the command writes.

use super::args::Args;
use super::report::Measured;
use super::work::Work;
use crate::commands::scene_output;
use anyhow::Result;
use splatcore_core::Gaussians;
use splatcore_data::scene::{self, Format, SogOptions, WriteOptions};
use splatcore_train::prune;
use std::path::Path;

/// The file to write.
pub(super) struct Output<'a> {
    path: &'a Path,
    pub(super) format: Format,
    options: WriteOptions,
}

impl<'a> Output<'a> {
    pub(super) fn of(args: &'a Args, antialiased: bool) -> Result<Self> {
        Ok(Self {
            path: &args.output,
            format: Format::of_output(&args.output)?,
            options: WriteOptions {
                antialiased,
                sog: SogOptions {
                    palette: args.sog_palette,
                    ..SogOptions::default()
                },
                ..WriteOptions::default()
            },
        })
    }

    /// What the file would hold of a scene.
    pub(super) fn rounded(&self, work: &Work, gaussians: &Gaussians) -> Result<Gaussians> {
        let folder = tempfile::tempdir()?;
        let path = folder
            .path()
            .join(self.path.file_name().unwrap_or_default());
        let options = self.weighted(work, gaussians)?;
        scene_output::write(&path, gaussians, &options)?;
        Ok(scene::read(&path)?.gaussians)
    }

    /// Writes the scene and measures what the file holds, which may be less exact.
    pub(super) fn write(&self, work: &Work, gaussians: &Gaussians) -> Result<Measured> {
        let options = self.weighted(work, gaussians)?;
        let written = scene_output::write(self.path, gaussians, &options)?;
        let mut measured = match self.format {
            Format::Usda | Format::Usdz => {
                eprintln!(
                    "{}: USD is not read here: the scene is measured as it was before it was \
                     written",
                    self.path.display()
                );
                work.measure_scene(gaussians)?
            }
            _ => work.measure_scene(&scene::read(self.path)?.gaussians)?,
        };
        measured.bytes = Some(written.bytes);
        Ok(measured)
    }

    /// The options with the weights of the scene's Gaussians, if the format takes any.
    fn weighted(&self, work: &Work, gaussians: &Gaussians) -> Result<WriteOptions> {
        let weights = match self.format {
            Format::Sog | Format::SogFolder => {
                let mut renderer = work.backend.renderer(gaussians)?;
                Some(prune::weights(&work.shown(&mut *renderer)?))
            }
            _ => None,
        };
        Ok(WriteOptions {
            weights,
            ..self.options.clone()
        })
    }
}
