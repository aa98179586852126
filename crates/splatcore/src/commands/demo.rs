//! `splatcore demo`: the whole way, from photos made here to a report and a page to send.

use crate::backends;
use crate::ending::{self, Ending};
use crate::output::{self, WrongUsage};
use crate::program;
use crate::progress::Progress;
use crate::run::{self, Files, Finished, Job, Show};
use crate::viewing::ViewerArgs;
use anyhow::{Result, bail};
use splatcore_data::lock;
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use splatcore_train::config::BackendChoice;
use splatcore_train::{Config, ResolvedConfig};
use std::path::PathBuf;

/// Make a small dataset, train on it, show the result.
///
/// A small ray tracer paints a garden square from 48 sides (DIR/photos); then train, eval and
/// report as for real photos (DIR/run). Ends with a page to look at and to send (DIR/page.html).
/// Takes up to three minutes on two cores.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Folder for photos and results
    #[arg(short, long, value_name = "DIR", default_value = "splatcore-demo")]
    output: PathBuf,
    /// Only make the photos, a dataset for `splatcore train`
    #[arg(long, conflicts_with = "iterations")]
    photos_only: bool,
    /// Training steps. Time grows in proportion; more give a sharper result
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2000,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    iterations: u32,
    /// Do not show the training in a browser
    #[arg(long)]
    no_view: bool,
    #[command(flatten)]
    viewer: ViewerArgs,
    /// Replace the demo that DIR holds
    #[arg(long)]
    overwrite: bool,
    /// Where to compute: auto (the fastest at hand), cpu, cuda
    #[arg(long, value_name = "NAME", default_value = "auto", value_enum)]
    backend: BackendChoice,
    /// Threads of the cpu backend [all cores]. Fewer take longer; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

/// The settings of the demo, chosen for a good result within three minutes on two cores.
fn config(args: &Args) -> Result<ResolvedConfig> {
    let settings = Config {
        iterations: Some(args.iterations),
        backend: Some(args.backend),
        threads: args.threads.map(usize::from),
        ..Config::UNSET
    };
    Ok(settings.resolve()?)
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.photos_only && args.viewer.given() {
        bail!(WrongUsage(
            "--port, --listen and --no-browser have no effect with --photos-only, which trains and \
             shows nothing; leave them out"
                .into()
        ));
    }
    let (photos, folder) = (args.output.join("photos"), args.output.join("run"));
    // Photos are the same every time, so old ones are simply painted over; a run is someone's
    // result.
    if !args.photos_only && !args.overwrite && !lock::is_empty(&folder) {
        bail!(
            "{}: already holds a run; add --overwrite to replace it, or choose another folder with \
             -o",
            folder.display()
        );
    }
    backends::check(args.backend)?;
    let lock = output::take_folder(&args.output, "demo")?;
    let options = ProceduralOptions::default();
    let progress = Progress::new("painting photos", options.views as u64);
    write_dataset(&photos, &options, &|done, _| {
        progress.update(done as u64, String::new)
    })?;
    drop(progress);
    if args.photos_only {
        return output::print(&format!("photos   {}", photos.display()));
    }
    let resume_command = format!(
        "splatcore train {} -o {} --resume",
        photos.display(),
        folder.display()
    );
    let job = Job {
        dataset: photos.clone(),
        images: None,
        init: None,
        cards: None,
        split_photos: false,
        device: None,
        memory: None,
        memory_files: None,
        photo_memory: crate::load::PhotoMemoryArgs::default(),
        folder: folder.clone(),
        config: config(&args)?,
        resume: false,
        overwrite: args.overwrite,
        upright: false,
        time_limit: None,
        begun: program::begun(),
        show: (!args.no_view).then(|| Show {
            viewer: args.viewer.clone(),
            allow_control: false,
            share: 0.2,
        }),
        resume_command,
    };
    let Finished { scene, live, .. } = run::run(&job)?;
    let (files, page) = (Files::of(&folder), args.output.join("page.html"));
    ending::write_page(&page, &scene, "splatcore demo", &folder)?;
    drop(lock);
    Ending {
        photos: &photos,
        files: &files,
        page: &page,
        next: None,
    }
    .print()?;
    match live {
        Some(live) => run::stay(live, scene, &job, false),
        None => Ok(()),
    }
}
