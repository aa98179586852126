//! `splatcore demo`: the whole way, from photos made here to a report and a page to send.

use crate::output::{self, duration, thousands};
use crate::progress::Progress;
use crate::run::{self, Files, Finished, Job, Show};
use crate::sharing::{self, Choices, SharedScene};
use crate::viewing::ViewerArgs;
use crate::{backends, load};
use anyhow::{Result, bail};
use splatcore_data::dataset::Split;
use splatcore_data::file::write_bytes;
use splatcore_data::lock;
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use splatcore_train::config::BackendChoice;
use splatcore_train::{Config, ResolvedConfig};
use std::path::{Path, PathBuf};

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
    #[arg(long)]
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

/// The scene as a page that begins where the photos were taken.
fn write_page(page: &Path, scene: &SharedScene, photos: &Path) -> Result<()> {
    let dataset = load::dataset(photos, None, 0)?;
    let shown = dataset.select(Split::Test, 8);
    let views = shown.iter().map(|i| &dataset.entries[*i]);
    let choices = Choices {
        title: "splatcore demo".into(),
        views: views
            .map(|entry| sharing::view(entry.name.clone(), &entry.camera.camera))
            .collect(),
        ..Choices::default()
    };
    Ok(write_bytes(page, scene.page(&choices)?.as_bytes())?)
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
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
        device: None,
        folder: folder.clone(),
        config: config(&args)?,
        resume: false,
        overwrite: args.overwrite,
        upright: false,
        time_limit: None,
        show: (!args.no_view).then(|| Show {
            viewer: args.viewer.clone(),
            allow_control: false,
            share: 0.2,
        }),
        resume_command,
    };
    let Finished {
        metrics,
        scene,
        live,
    } = run::run(&job)?;
    let (found, files) = (&metrics.evaluation, Files::of(&folder));
    let page = args.output.join("page.html");
    write_page(&page, &scene, &photos)?;
    drop(lock);
    output::print(&format!(
        "PSNR {:.2} dB, SSIM {:.4} on {} held-out photos; {} Gaussians, trained in {}\nphotos   \
         {}\nscene    {}  \
         (opens in any Gaussian splat viewer)\n\
         report   {}  (photo, render and error side by side)\n\
         page     {}  (the scene in one file: open it, send it to a friend)",
        found.psnr,
        found.ssim,
        found.views.len(),
        thousands(found.gaussians as u64),
        duration(metrics.seconds),
        photos.display(),
        files.scene.display(),
        files.report.display(),
        page.display()
    ))?;
    match live {
        Some(live) => run::stay(live, scene, &job, false),
        None => Ok(()),
    }
}
