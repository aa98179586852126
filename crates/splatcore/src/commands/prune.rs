//! `splatcore prune`: a scene with fewer Gaussians and harmonics, chosen by what photos show.

use crate::backends::BackendArgs;
use crate::commands::eval::measure;
use crate::commands::scene_output;
use crate::interrupt::{self, Guard};
use crate::load;
use crate::output::{self, WrongUsage, counted, duration, thousands};
use crate::progress::Progress;
use anyhow::{Result, bail};
use serde::Serialize;
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::{Backend, Gaussians, Pipeline, View};
use splatcore_data::dataset::{LoadOptions, Split};
use splatcore_data::scene::{self, Format, SceneFile, SogOptions, WriteOptions};
use splatcore_train::config::Background;
use splatcore_train::memory::Bytes;
use splatcore_train::prune::{self, Keep, Score};
use splatcore_train::{Config, Extras, Observer, Outcome, Signal, Trainer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Make a scene smaller: keep the Gaussians that photos show most.
///
/// Scores each Gaussian over the training photos, keeps the best, then lets the rest learn from the
/// photos for some steps (--finetune). Prints PSNR, SSIM and size on held-out photos before and
/// after. The name after -o tells the format, as for convert; .sog is the smallest.
#[derive(clap::Args)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb
    scene: PathBuf,
    /// The photos that the scene was made of
    #[arg(long, value_name = "DATASET")]
    dataset: PathBuf,
    /// Gaussians to keep: a share, 40%, or a number. Size, memory and time of a frame fall with it
    #[arg(long, value_name = "SHARE|N", default_value = "100%")]
    keep: Keep,
    /// Which formula scores a Gaussian: docs/methods/prune.md. Time and memory are the same
    #[arg(long, value_name = "NAME", default_value = "transmittance", value_enum)]
    score: Score,
    /// Training steps after pruning, which add and remove nothing. 3000 make up for most of what
    /// went; time grows in proportion. Ctrl-C ends them early and writes what there is
    #[arg(long, value_name = "N", default_value_t = 0)]
    finetune: u32,
    /// Degree of the spherical harmonics to keep, 0 to 2: fitted to the old colours in the
    /// directions of the photos, then learnt on by --finetune. Files get smaller, reflections
    /// weaker
    #[arg(long, value_name = "0..2", value_parser = clap::value_parser!(u8).range(0..=2))]
    sh_degree: Option<u8>,
    /// The file to write; its name tells the format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Entries of the palette of harmonics of a SOG at most, as for convert
    #[arg(long, value_name = "N", default_value_t = SogOptions::default().palette,
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    sog_palette: u32,
    /// Every Nth photo, sorted by name from the first, is held out: it measures, and neither scores
    /// nor teaches [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N")]
    test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Scale photos so that the longer side is at most this many pixels [that of the run beside the
    /// scene, or their own size]. Time and memory fall with the square
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..))]
    max_size: Option<u32>,
    /// Colour behind the scene and transparent photos: black, white, or r,g,b from 0 to 1 [that of
    /// the run beside the scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    background: Option<Background>,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON object: {"split","before","pruned","after"}, each {"psnr","ssim","gaussians",
    /// "sh_degree","bytes"}; "pruned" is before --finetune
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// How good and how large a scene is.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    psnr: f64,
    ssim: f64,
    gaussians: usize,
    sh_degree: u8,
    /// Of the file; none for a scene in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// What the command prints.
#[derive(Serialize)]
struct Report {
    split: &'static str,
    before: Measured,
    #[serde(skip_serializing_if = "Option::is_none")]
    pruned: Option<Measured>,
    after: Measured,
}

/// What every stage needs.
struct Work {
    backend: Box<dyn Backend>,
    train: Arc<Vec<View>>,
    /// Held out; those of `train` if there are none.
    test: Arc<Vec<View>>,
    background: Background,
    antialias: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    check(&args)?;
    let SceneFile {
        mut gaussians,
        antialiased,
        bytes,
        dropped,
        notes,
        ..
    } = scene::read(&args.scene)?;
    load::say(&args.scene, dropped, &notes);
    let wanted = args
        .sh_degree
        .filter(|&degree| degree < gaussians.sh_degree);
    if let (Some(degree), None) = (args.sh_degree, wanted) {
        eprintln!(
            "{}: has no harmonics above degree {}; --sh-degree {degree} changes nothing",
            args.scene.display(),
            gaussians.sh_degree
        );
    }
    let (work, split) = prepare(&args, antialiased)?;
    interrupt::watch()?;
    let mut renderer = work.backend.renderer(&gaussians)?;
    let mut before = work.measure(&mut *renderer, &gaussians)?;
    before.bytes = Some(bytes);

    let kept = args.keep.of(gaussians.len());
    if kept < gaussians.len() {
        let scores = work.scores(&mut *renderer, &gaussians, args.score)?;
        let best = prune::best(&scores, kept);
        gaussians.retain(|i| best[i]);
        eprintln!(
            "{} of {} kept",
            thousands(kept as u64),
            counted(before.gaussians, "Gaussian")
        );
    }
    drop(renderer);
    if let Some(degree) = wanted {
        gaussians = work.reduced(&gaussians, degree)?;
    }
    let mut pruned = None;
    if args.finetune > 0 {
        pruned = Some(work.measure_scene(&gaussians)?);
        gaussians = work.finetuned(gaussians, args.finetune)?;
    }
    let after = write(&work, &gaussians, &args)?;
    let report = Report {
        split,
        before,
        pruned,
        after,
    };
    match args.json {
        true => output::print_json(&report),
        false => output::print(&table(&report, &args.output)),
    }
}

/// Refuses before any long work what would fail after it.
fn check(args: &Args) -> Result<()> {
    scene_output::format(&args.output)?;
    if args.keep == Keep::Share(1.0) && args.finetune == 0 && args.sh_degree.is_none() {
        bail!(WrongUsage(
            "nothing to do: give --keep 40%, --sh-degree 1 or --finetune 3000".into()
        ));
    }
    scene_output::check_free(&args.output, args.overwrite)
}

/// Opens the backend and decodes the photos; also how the split that measures is called.
fn prepare(args: &Args, antialias: bool) -> Result<(Work, &'static str)> {
    let dataset = load::dataset(&args.dataset, args.images.as_deref(), 0)?;
    let backend = args.backend.open()?;
    let (background, test_every) = load::settings_of(&args.scene, args.background, args.test_every);
    let options = LoadOptions {
        max_size: args.max_size.or(load::max_size_of(&args.scene)),
        background: background.colour(),
        // What they stand on changes with the step.
        keep_alpha: background == Background::Random,
    };
    let train = load::select(&dataset, &args.dataset, Split::Train, test_every)?;
    let [train, test] = load::train_and_test(&dataset, train, test_every as usize, &options)?;
    let train = Arc::new(train);
    let (test, split) = match test.is_empty() {
        true => {
            eprintln!(
                "no photo is held out: quality is measured on the photos that teach, which \
                 flatters it"
            );
            (Arc::clone(&train), "train")
        }
        false => (Arc::new(test), "test"),
    };
    let work = Work {
        backend,
        train,
        test,
        background,
        antialias,
    };
    Ok((work, split))
}

impl Work {
    fn options(&self, pipeline: Pipeline) -> RenderOptions {
        RenderOptions {
            pipeline,
            background: self.background.colour(),
            antialias: self.antialias,
            ..RenderOptions::default()
        }
    }

    fn measure_scene(&self, gaussians: &Gaussians) -> Result<Measured> {
        self.measure(&mut *self.backend.renderer(gaussians)?, gaussians)
    }

    /// `renderer` is of `gaussians`.
    fn measure(&self, renderer: &mut dyn Renderer, gaussians: &Gaussians) -> Result<Measured> {
        let options = self.options(Pipeline::MEASURED);
        let (found, _) = measure(renderer, &self.test, &options, Extras::default(), false)?;
        Ok(Measured {
            psnr: found.psnr,
            ssim: found.ssim,
            gaussians: gaussians.len(),
            sh_degree: gaussians.sh_degree,
            bytes: None,
        })
    }

    /// `renderer` is of `gaussians`.
    fn scores(
        &self,
        renderer: &mut dyn Renderer,
        gaussians: &Gaussians,
        score: Score,
    ) -> Result<Vec<f64>> {
        let (progress, options) = self.over_views("scoring");
        let visibility = prune::visibility(renderer, &self.train, &options, &mut |done| {
            progress.update(done as u64, String::new)
        })?;
        Ok(score.of(gaussians, &visibility))
    }

    fn reduced(&self, gaussians: &Gaussians, degree: u8) -> Result<Gaussians> {
        let mut renderer = self.backend.renderer(gaussians)?;
        let (progress, options) = self.over_views("fitting harmonics");
        let (views, tell) = (&self.train, &mut |done: usize| {
            progress.update(done as u64, String::new)
        });
        let reduced = prune::reduced(gaussians, degree, &mut *renderer, views, &options, tell)?;
        Ok(reduced)
    }

    fn over_views(&self, what: &str) -> (Progress, RenderOptions) {
        let progress = Progress::new(what, self.train.len() as u64);
        (progress, self.options(Pipeline::AUTO))
    }

    fn finetuned(&self, gaussians: Gaussians, steps: u32) -> Result<Gaussians> {
        let config = Config {
            background: Some(self.background),
            antialias: Some(self.antialias),
            ..prune::finetuning(steps, gaussians.sh_degree)
        };
        let views = Arc::clone(&self.train);
        let mut trainer = Trainer::new(&config.resolve()?, &*self.backend, views, gaussians)?;
        let mut watch = Watch {
            progress: Progress::new("fine-tuning", steps.into()),
            guard: Guard::start_finetuning()?,
        };
        let outcome = trainer.run(&mut watch)?;
        drop(watch);
        if let Outcome::Interrupted { step } = outcome {
            eprintln!("stopped at step {step} of {steps}; the scene is written as it is");
        }
        let mut gaussians = trainer.scene()?;
        let unsound = gaussians.drop_unsound();
        if unsound > 0 {
            eprintln!(
                "warning: {} with a value that is not finite left out",
                counted(unsound, "Gaussian")
            );
        }
        Ok(gaussians)
    }
}

/// Shows progress and hears Ctrl-C.
struct Watch {
    progress: Progress,
    guard: Guard,
}

impl Observer for Watch {
    fn signal(&mut self) -> Signal {
        match self.guard.stop_requested() {
            true => Signal::Stop,
            false => Signal::Continue,
        }
    }

    fn progress(&mut self, p: &splatcore_train::Progress) -> Signal {
        self.progress.update(p.step.into(), || {
            format!("{} left, loss {:.4}", duration(p.seconds_left), p.loss)
        });
        Signal::Continue
    }
}

/// Writes the scene and measures what the file holds, which may be less exact.
fn write(work: &Work, gaussians: &Gaussians, args: &Args) -> Result<Measured> {
    let output = &args.output;
    let options = WriteOptions {
        antialiased: work.antialias,
        sog: SogOptions {
            palette: args.sog_palette,
            ..SogOptions::default()
        },
        ..WriteOptions::default()
    };
    let written = scene_output::write(output, gaussians, &options)?;
    let mut measured = match Format::of_output(output)? {
        Format::Usda | Format::Usdz => {
            eprintln!(
                "{}: USD is not read here: the scene is measured as it was before it was written",
                output.display()
            );
            work.measure_scene(gaussians)?
        }
        _ => work.measure_scene(&scene::read(output)?.gaussians)?,
    };
    measured.bytes = Some(written.bytes);
    Ok(measured)
}

/// The report for people.
fn table(report: &Report, output: &Path) -> String {
    let line = |name: &str, m: &Measured| {
        let size = m.bytes.map(|bytes| format!(", {}", Bytes(bytes)));
        format!(
            "{name:<7} {:>6.2} dB  SSIM {:.4}  {} of SH degree {}{}",
            m.psnr,
            m.ssim,
            counted(m.gaussians, "Gaussian"),
            m.sh_degree,
            size.unwrap_or_default()
        )
    };
    let mut lines = vec![line("before", &report.before)];
    lines.extend(report.pruned.as_ref().map(|m| line("pruned", m)));
    lines.push(line("after", &report.after));
    lines.push(format!("scene   {}", output.display()));
    lines.join("\n")
}
