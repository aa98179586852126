//! `splatcore convert`: scenes in any format that is read, edited, as one file of any format that
//! is written.
//!
//! `steps` reads scenes and actions in the order in which they were typed, `action` says what each
//! action is, `editor` applies them, `photos` holds what some actions ask of the dataset.

mod action;
mod editor;
mod photos;
mod steps;

use crate::backends::BackendArgs;
use crate::commands::scene_output;
use crate::interrupt;
use crate::load;
use crate::load::SpzAxesChoice;
use crate::output::{self, WrongUsage, counted};
use crate::scene_source::SceneSource;
use crate::up::Direction;
use anyhow::{Result, bail};
use editor::{Editor, Place};
use photos::{Photos, PhotosArgs};
use splatcore_data::scene::spz::SpzOptions;
use splatcore_data::scene::{self, Format, OpenScene, ReadOptions, Rows, SogOptions, WriteOptions};
use splatcore_train::memory::Bytes;
use std::path::{Path, PathBuf};
use steps::{Step, Steps};

/// Write scenes in another format, edited.
///
/// Reads what `splatcore info` calls a scene; the name after -o tells the format to write: .ply,
/// .compressed.ply, .sog, .spz, .splat, .glb, .usda, .usdz, FOLDER/meta.json (a SOG of several
/// files) or FOLDER/lod-meta.json (a streamed SOG). Actions apply in the order in which they are
/// typed: those behind a scene to that scene, those behind -o to all scenes together. Coordinates
/// are those of PLY files, which `splatcore info` prints: x right, y down, z forward in most
/// scenes. Gaussians with a value that is not finite are left out. A large PLY is read in pieces.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    steps: Steps,
    /// The file to write; its name tells the format. --stats can do without
    #[arg(short, long, value_name = "FILE", required_unless_present = "stats")]
    output: Option<PathBuf>,
    /// Level of detail of a streamed SOG that is read, 0 the finest [0]
    #[arg(long, value_name = "LEVEL")]
    lod: Option<u32>,
    /// Axes of SPZ files that are read: those that the file names and else the specification's
    /// (auto), x right, y up, z back (rub), or PLY's, x right, y down, z forward (rdf), as some
    /// programs write without saying so. Scenes read with the wrong axes are upside down
    #[arg(long, value_name = "AXES", default_value = "auto", value_enum)]
    spz_axes: SpzAxesChoice,
    /// Version of an SPZ file that is written. Version 4 is smaller; PlayCanvas reads only 4, Spark
    /// and older programs only up to 3
    #[arg(long, value_name = "2..4", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(2..=4))]
    spz_version: u32,
    /// Entries of the palette of harmonics of a SOG at most. Fewer make a small scene's file
    /// smaller, as an entry takes up to 45 bytes, and colours a little less exact
    #[arg(long, value_name = "N", default_value_t = SogOptions::default().palette,
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    sog_palette: u32,
    /// Keep the order of the Gaussians in formats that have one of their own: compressed PLY and
    /// SOG put neighbours together, .splat large and opaque ones first. Not for streamed SOG
    #[arg(long)]
    keep_order: bool,
    /// Keep properties of PLY files that are no parameters of a Gaussian (labels, masks), in PLY
    #[arg(long)]
    keep_properties: bool,
    #[command(flatten)]
    photos: PhotosArgs,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// Read, edit and say what would be written, but write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let output = args.output.as_deref();
    let written = output
        .map(|output| Ok::<_, anyhow::Error>((output, scene_output::format(output)?)))
        .transpose()?;
    if args.photos.is_given() && !args.steps.ask_photos() {
        bail!(WrongUsage(
            "--dataset and its flags are there for nothing: give them with --prune-floaters, \
             --max-scale, --up dataset or --metric PHOTO,PHOTO=LENGTH"
                .into()
        ));
    }
    let sources = args.steps.scenes().map(SceneSource::find);
    let sources: Vec<SceneSource> = sources.collect::<Result<_>>()?;
    let photos = Photos::new(&args.photos, &args.backend, &sources);
    if args.steps.ask_photos() {
        photos.check()?;
    }
    let format = written.map(|(_, format)| format);
    if args.keep_order && format == Some(Format::StreamedSog) {
        bail!(WrongUsage(
            "--keep-order is not for lod-meta.json, a streamed SOG: its levels and chunks have an \
             order of their own; leave it out, or write .sog"
                .into()
        ));
    }
    let _lock = match output.filter(|_| !args.dry_run) {
        Some(output) => {
            interrupt::watch()?;
            scene_output::take(output, args.overwrite, "convert")?
        }
        None => None,
    };
    let (rows, antialiased, place) = edited(&args, &sources, &photos)?;
    let Some((output, format)) = written else {
        return Ok(());
    };
    let options = WriteOptions {
        antialiased,
        keep_extras: args.keep_properties,
        keep_order: args.keep_order,
        spz: SpzOptions {
            version: args.spz_version,
            ..SpzOptions::default()
        },
        sog: SogOptions {
            palette: args.sog_palette,
            ..SogOptions::default()
        },
        ..WriteOptions::default()
    };
    let degree = rows.sh_degree().min(format.highest_sh_degree());
    let count = rows.len();
    if args.dry_run {
        return output::print(&format!(
            "would write {} of SH degree {degree} to {}",
            counted(count, "Gaussian"),
            output.display(),
        ));
    }
    let written = scene_output::write(output, &*rows, &options)?;
    if let (Some(place), Some(source)) = (place, sources.first()) {
        let chosen = place.up.map(|direction| Direction(direction).chosen());
        source.record_move(output, &place.map, chosen)?;
    }
    if let Some(source) = sources.first() {
        source.tell_of_sky(output);
    }
    output::print(&format!(
        "{} of SH degree {degree} in {} ({})",
        counted(count, "Gaussian"),
        output.display(),
        Bytes(written.bytes)
    ))
}

/// All scenes with all actions applied; also whether they are to be rendered with Mip-Splatting's
/// 2D filter, and where they were moved to.
fn edited(
    args: &Args,
    sources: &[SceneSource],
    photos: &Photos,
) -> Result<(Box<dyn Rows>, bool, Option<Place>)> {
    let mut finished: Vec<Editor> = Vec::new();
    let mut steps = args.steps.0.iter().peekable();
    for source in sources {
        steps.next_if(|step| matches!(step, Step::Scene(_)));
        let path = source.file();
        let mut editor = Editor::new(path.into(), open(path, args)?, photos);
        while let Some(Step::Action(action)) = steps.next_if(|s| matches!(s, Step::Action(_))) {
            editor.apply(action)?;
        }
        editor.report_moves();
        finished.push(editor);
    }
    let mut editor = match finished.len() {
        0 => bail!(WrongUsage("give a scene to read".into())),
        1 => finished.remove(0),
        _ => Editor::merged(finished)?,
    };
    let antialiased = editor.antialiased();
    for step in steps {
        if let Step::Action(action) = step {
            editor.apply(action)?;
        }
    }
    editor.report_moves();
    let place = editor.place();
    Ok((editor.into_rows(), antialiased, place))
}

fn open(path: &Path, args: &Args) -> Result<OpenScene> {
    let options = ReadOptions {
        sh_degree_limit: splatcore_core::sh::MAX_STORED_DEGREE,
        spz_axes: args.spz_axes.into(),
        lod: args.lod,
    };
    let scene = scene::open(path, &options)?;
    load::say(path, scene.dropped, &scene.notes);
    Ok(scene)
}
