//! Which flags have something to act on: in the formats that are read, in the one that is written,
//! and in what actions ask of the photos.

use super::action::Action;
use super::args::Args;
use super::steps::Step;
use crate::load::SpzAxesChoice;
use crate::output::WrongUsage;
use crate::scene_source::SceneSource;
use anyhow::Result;
use splatcore_data::scene::Format;
use splatcore_train::config::BackendChoice;

/// What a flag acts on.
enum On {
    /// A scene that is read in one of these formats.
    Read(&'static [Format]),
    /// A file that is written in one of these.
    Written(&'static [Format]),
    /// Actions that ask where the photos were taken, or what they see.
    Photos,
    /// Actions that look at what the photos see.
    Sight,
}

const SOGS: &[Format] = &[Format::Sog, Format::SogFolder, Format::StreamedSog];

/// Refuses a flag that nothing looks at; `format` is that of the file that is written.
///
/// # Errors
/// Names the first such flag.
pub fn check(args: &Args, sources: &[SceneSource], format: Option<Format>) -> Result<()> {
    let (photos, backend) = (&args.photos, &args.backend);
    let computes = backend.backend != BackendChoice::Auto
        || backend.threads.is_some()
        || backend.device.device.is_some();
    let flags = [
        ("--lod", args.lod.is_some(), On::Read(SOGS)),
        (
            "--spz-axes",
            args.spz_axes != SpzAxesChoice::Auto,
            On::Read(&[Format::Spz]),
        ),
        (
            "--spz-version",
            args.spz_version.is_some(),
            On::Written(&[Format::Spz]),
        ),
        (
            "--spz-sh-bits",
            args.spz_sh_bits.is_some(),
            On::Written(&[Format::Spz]),
        ),
        (
            "--sog-palette",
            args.sog_palette.is_some(),
            On::Written(SOGS),
        ),
        (
            "--keep-properties",
            args.keep_properties,
            On::Written(&[Format::Ply]),
        ),
        ("--dataset", photos.dataset.is_some(), On::Photos),
        ("--images", photos.images.is_some(), On::Photos),
        ("--split", photos.split.is_some(), On::Sight),
        ("--test-every", photos.test_every.is_some(), On::Sight),
        ("--max-size", photos.max_size.is_some(), On::Sight),
        ("--backend, --device and --threads", computes, On::Sight),
    ];
    for (flag, given, on) in flags {
        let (used, only) = match on {
            On::Read(formats) => (
                sources.iter().any(|source| may_be(source, formats)),
                format!("is for reading {}", names(formats)),
            ),
            On::Written(formats) => (
                format.is_some_and(|format| formats.contains(&format)),
                format!("is for writing {}", names(formats)),
            ),
            On::Photos => (
                args.steps.ask_photos(),
                "asks the photos for --prune-floaters, --max-scale, --up dataset or --metric \
                 PHOTO,PHOTO=LENGTH"
                    .to_owned(),
            ),
            On::Sight => (
                looks_at_photos(args),
                "is for --prune-floaters and --max-scale".to_owned(),
            ),
        };
        if given && !used {
            let message = format!("{flag} has no effect here: it {only}; leave it out");
            return Err(WrongUsage(message).into());
        }
    }
    check_properties(args)
}

/// Refuses to keep properties through actions that make a new scene, whose Gaussians have none.
fn check_properties(args: &Args) -> Result<()> {
    let makes_anew = |step: &Step| {
        let Step::Action(action) = step else {
            return None;
        };
        match action {
            Action::Decimate(_) => Some("--decimate"),
            Action::PruneFloaters(_) => Some("--prune-floaters"),
            Action::MaxScale(_) => Some("--max-scale"),
            _ => None,
        }
    };
    match args.steps.0.iter().find_map(makes_anew) {
        Some(flag) if args.keep_properties => Err(WrongUsage(format!(
            "--keep-properties does not go with {flag}, behind which Gaussians have no more \
             properties than any scene's; leave one out"
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Whether a scene may be in one of these formats, as far as its name tells.
fn may_be(source: &SceneSource, formats: &[Format]) -> bool {
    let file = source.file();
    let json = file.extension().is_some_and(|ending| ending == "json");
    match Format::of_name(file) {
        Some(format) => formats.contains(&format),
        None if file.is_dir() || json => formats.iter().any(|format| SOGS.contains(format)),
        None => true,
    }
}

fn looks_at_photos(args: &Args) -> bool {
    let looks = |action: &Action| matches!(action, Action::PruneFloaters(_) | Action::MaxScale(_));
    args.steps
        .0
        .iter()
        .any(|step| matches!(step, Step::Action(action) if looks(action)))
}

fn names(formats: &[Format]) -> &'static str {
    match formats {
        [Format::Ply] => ".ply",
        [Format::Spz] => ".spz",
        _ => ".sog, meta.json and lod-meta.json",
    }
}
