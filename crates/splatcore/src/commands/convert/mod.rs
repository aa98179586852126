//! `splatcore convert`: scenes in any format that is read, edited, as one file of any format that
//! is written.
//!
//! `args` has the flags, `steps` reads scenes and actions in the order in which they were typed,
//! `action` says what each action is, `editor` applies them, `photos` holds what some actions ask
//! of the dataset, `used` refuses flags without effect.

mod action;
mod args;
mod editor;
mod photos;
mod steps;
mod used;

pub use args::Args;

use crate::commands::scene_output;
use crate::interrupt;
use crate::load;
use crate::output::{self, WrongUsage, counted};
use crate::scene_source::SceneSource;
use crate::up::Direction;
use anyhow::{Result, bail};
use editor::{Editor, Place};
use photos::Photos;
use splatcore_data::scene::spz::SpzOptions;
use splatcore_data::scene::{self, Format, OpenScene, ReadOptions, Rows, SogOptions, WriteOptions};
use splatcore_train::memory::Bytes;
use std::path::Path;
use steps::Step;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let output = args.output.as_deref();
    let written = output
        .map(|output| Ok::<_, anyhow::Error>((output, scene_output::format(output)?)))
        .transpose()?;
    let sources = args.steps.scenes().map(SceneSource::find);
    let sources: Vec<SceneSource> = sources.collect::<Result<_>>()?;
    let format = written.map(|(_, format)| format);
    used::check(&args, &sources, format)?;
    let photos = Photos::new(&args.photos, &args.backend, &sources);
    if args.steps.ask_photos() {
        photos.check()?;
    }
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
    let options = options(&args, antialiased);
    let degree = rows.sh_degree().min(format.highest_sh_degree());
    let count = rows.len();
    if args.dry_run {
        return output::print(&format!(
            "would write {} of SH degree {degree} to {}",
            counted(count, "Gaussian"),
            output.display(),
        ));
    }
    if count == 0 && output.is_file() {
        bail!(
            "{}: would be replaced by a scene without Gaussians; remove it first if that is meant",
            output.display()
        );
    }
    sources
        .iter()
        .try_for_each(|source| source.before_writing(output))?;
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

/// How the file is written.
fn options(args: &Args, antialiased: bool) -> WriteOptions {
    let (spz, sog) = (SpzOptions::default(), SogOptions::default());
    WriteOptions {
        antialiased,
        keep_extras: args.keep_properties,
        keep_order: args.keep_order,
        spz: SpzOptions {
            version: args.spz_version.unwrap_or(spz.version),
            sh_bits: args.spz_sh_bits.map_or(spz.sh_bits, |bits| [bits; 2]),
            ..spz
        },
        sog: SogOptions {
            palette: args.sog_palette.unwrap_or(sog.palette),
            ..sog
        },
        ..WriteOptions::default()
    }
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
