//! A training run from a dataset to the files in its folder; `train` and `demo` share it.

use crate::commands::eval::measure;
use crate::interrupt::Guard;
use crate::output::{self, counted, duration, thousands};
use crate::progress::Progress;
use crate::report::{Chart, Line, Report, ViewPictures, decibels};
use crate::{backends, load};
use anyhow::{Context, Result, bail};
use serde::Serialize;
use splatcore_core::backend::{RenderOptions, Renderer};
use splatcore_core::exposure::Exposure;
use splatcore_core::image::to_bytes;
use splatcore_core::{View, camera};
use splatcore_data::dataset::{Dataset, LoadOptions, Split};
use splatcore_data::{file, scene};
use splatcore_train::config::Background;
use splatcore_train::trainer::Outcome;
use splatcore_train::{
    Breakdown, Checkpoint, Evaluation, Observer, ResolvedConfig, Signal, Trainer, evaluate_with,
    init, memory,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to train, and where the result goes.
pub struct Job {
    /// Folder or file of the dataset.
    pub dataset: PathBuf,
    /// Folder of the photos in place of `images`.
    pub images: Option<String>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// Settings.
    pub config: ResolvedConfig,
    /// Which card computes; the first if not given.
    pub device: Option<usize>,
    /// Go on from the folder's checkpoint.
    pub resume: bool,
    /// Replace an earlier run in the folder.
    pub overwrite: bool,
    /// Stop when so many seconds have been trained, over all resumes.
    pub time_limit: Option<f64>,
    /// The command that goes on with this run, for messages.
    pub resume_command: String,
}

/// Names of the files of a run, in its folder.
pub struct Files {
    /// The Gaussians.
    pub scene: PathBuf,
    /// Quality, time, steps.
    pub metrics: PathBuf,
    /// Settings that reproduce the run.
    pub config: PathBuf,
    /// To go on from.
    pub checkpoint: PathBuf,
    /// For people.
    pub report: PathBuf,
    /// The photos' transforms of colours, if the run learns them.
    pub exposures: PathBuf,
}

impl Files {
    /// The files of the run in `folder`.
    pub fn of(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            scene: file("scene.ply"),
            metrics: file("metrics.json"),
            config: file("config.toml"),
            checkpoint: file("checkpoint.safetensors"),
            report: file("report.html"),
            exposures: file("exposures.json"),
        }
    }

    fn remove(&self) -> Result<()> {
        for path in [
            &self.scene,
            &self.metrics,
            &self.config,
            &self.checkpoint,
            &self.report,
            &self.exposures,
        ] {
            match std::fs::remove_file(path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    bail!(
                        "{}: cannot be replaced ({e}); choose another folder with -o",
                        path.display()
                    )
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// `metrics.json`.
#[derive(Serialize)]
pub struct Metrics {
    /// As eval.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Which photos were measured: `test`, or `train` when none is held out.
    pub split: &'static str,
    /// Seconds trained, without loading and measuring.
    pub seconds: f64,
    /// Steps taken.
    pub steps: u32,
    /// Where the time went; nothing if no step's stages were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Breakdown>,
    /// Why there are fewer steps than iterations, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
}

/// Trains, measures, and writes every file of the run.
///
/// # Errors
/// Also when the run was interrupted: the message says how to go on.
pub fn run(job: &Job) -> Result<Metrics> {
    let (config, files) = (&job.config, Files::of(&job.folder));
    // What is wrong with it is said before anything else is done, what is right when the work
    // begins.
    let backend = backends::for_training(config, job.device)?;
    let dataset = load::dataset(&job.dataset, job.images.as_deref(), config.seed)?;
    let checkpoint = prepare_folder(job, &files)?;
    let backend = backend.announce();
    let Photos { train, test } = load_photos(&dataset, config)?;
    let (measured, split): (&[View], _) = match test.is_empty() {
        true => (&train, "train"),
        false => (&test, "test"),
    };
    if test.is_empty() {
        eprintln!(
            "no photo is held out: quality is measured on the photos trained on, which flatters it"
        );
    }

    let mut trainer = match checkpoint {
        Some(checkpoint) => {
            eprintln!(
                "resuming at step {} of {}",
                checkpoint.step, config.iterations
            );
            plan_memory(
                config,
                &*backend,
                checkpoint.state.gaussians.len(),
                &train,
                &test,
            );
            Trainer::resume(config, &*backend, Arc::clone(&train), checkpoint)?
        }
        None => {
            let extent = camera::extent(train.iter().map(|view| &view.camera));
            let points = &dataset.points;
            let start = init::from_points(&points.positions, &points.colours, config, extent);
            if start.surplus > 0 {
                eprintln!(
                    "{} starting points are left out: --max-gaussians",
                    thousands(start.surplus as u64)
                );
            }
            plan_memory(config, &*backend, start.gaussians.len(), &train, &test);
            Trainer::new(config, &*backend, Arc::clone(&train), start.gaussians)?
        }
    };
    if job.overwrite && !job.resume {
        files.remove()?;
    }
    file::write_bytes(&files.config, config.to_toml()?.as_bytes())?;
    trainer.save_to(&files.checkpoint);
    if let Some(seconds) = job.time_limit {
        trainer.stop_after(seconds);
    }

    let mut watch = Watch {
        progress: Progress::new("training", config.iterations.into()),
        guard: Guard::start()?,
        measured,
        align_colour: config.loss.exposure,
        psnr: Vec::new(),
    };
    let outcome = trainer.run_ahead(&mut watch)?;
    let mut psnr = std::mem::take(&mut watch.psnr);
    drop(watch);
    if let Outcome::Interrupted { step } = outcome {
        trainer.wait_saved(&mut ())?;
        bail!(
            "interrupted at step {step} of {}; the state is saved, go on with: {}",
            config.iterations,
            job.resume_command
        );
    }

    let stopped = match outcome {
        Outcome::TimeLimit { step } => {
            eprintln!(
                "stopped by --time-limit at step {step} of {}; to go on: {}",
                config.iterations, job.resume_command
            );
            Some("time limit")
        }
        Outcome::Finished | Outcome::Interrupted { .. } => None,
    };

    let (seconds, steps) = (trainer.seconds(), trainer.step());
    let mut gaussians = trainer.scene()?;
    // Pictures do not show them, and no reader would take them.
    let unsound = gaussians.drop_unsound();
    if unsound > 0 {
        eprintln!(
            "warning: {} with a value that is not finite left out of the scene; try lower learning \
             rates",
            counted(unsound, "Gaussian")
        );
    }
    // Checkpoint and scene, of a million Gaussians nearly a gigabyte, go to disk while the views
    // are measured.
    let measured = std::thread::scope(|scope| -> Result<_> {
        let writer =
            scope.spawn(|| scene::write_ply(&files.scene, &gaussians, config.scene.antialias));
        let (renderer, options) = trainer.renderer();
        let measured = measure(renderer, measured, &options, config.loss.exposure, true)?;
        match writer.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(measured)
    });
    // Whatever else goes wrong, what can be had is written, the state first.
    let saved = trainer.wait_saved(&mut ());
    let (mut evaluation, pictures) = measured?;
    evaluation.gaussians = gaussians.len();
    let metrics = Metrics {
        evaluation,
        split,
        seconds,
        steps,
        breakdown: trainer.breakdown(),
        stopped,
    };
    output::write_json(&files.metrics, &metrics)?;
    if config.loss.exposure {
        write_exposures(&files.exposures, trainer.exposures()?)?;
    }
    psnr.retain(|(step, _)| *step < steps as f64);
    psnr.push((steps as f64, metrics.evaluation.psnr));
    let about = [
        ("Dataset", job.dataset.display().to_string()),
        (
            "Photos",
            format!("{} trained on, {} held out", train.len(), test.len()),
        ),
        ("Computed by", backend.describe()),
    ];
    report(&metrics, &about, &trainer, psnr, pictures)?.write(&files.report)?;
    saved.with_context(|| {
        let scene = files.scene.display();
        format!("{scene} is complete, but not the state behind it, which --resume needs")
    })?;
    Ok(metrics)
}

/// `exposures.json`: by name of the photo, the rows of `[A | b]` that turn a rendered colour into
/// the photo's.
fn write_exposures(path: &Path, exposures: Vec<(String, Exposure)>) -> Result<()> {
    let rows = |e: Exposure| [0, 4, 8].map(|at| [e[at], e[at + 1], e[at + 2], e[at + 3]]);
    let table: BTreeMap<String, [[f32; 4]; 3]> = exposures
        .into_iter()
        .map(|(name, exposure)| (name, rows(exposure)))
        .collect();
    output::write_json(path, &table)
}

/// Checks the folder before any long work, and reads the checkpoint when resuming.
fn prepare_folder(job: &Job, files: &Files) -> Result<Option<Checkpoint>> {
    let folder = job.folder.display();
    let occupied = std::fs::read_dir(&job.folder).is_ok_and(|mut entries| entries.next().is_some());
    if !job.resume && !job.overwrite && occupied {
        if files.checkpoint.is_file() {
            bail!(
                "{folder}: already holds a run; add --resume to go on with it, --overwrite to \
                 replace it, or choose \
                 another folder with -o"
            );
        }
        bail!(
            "{folder}: is not empty; choose another folder with -o, or add --overwrite to write \
             into it"
        );
    }
    if job.resume && !files.checkpoint.is_file() {
        bail!(
            "{}: there is no checkpoint to resume from; start without --resume (with --overwrite \
             if the folder is not \
             empty)",
            files.checkpoint.display()
        );
    }
    output::check_writable(&job.folder)?;
    if job.resume || job.overwrite {
        // A run that was killed while it wrote may have left half a checkpoint, as large as a whole
        // one.
        file::remove_unfinished(&job.folder);
    }
    Ok(if job.resume {
        Some(Checkpoint::load(&files.checkpoint)?)
    } else {
        None
    })
}

struct Photos {
    train: Arc<Vec<View>>,
    test: Vec<View>,
}

fn load_photos(dataset: &Dataset, config: &ResolvedConfig) -> Result<Photos> {
    let every = config.data.test_every as usize;
    let mut indices = dataset.select(Split::Train, every);
    let trained = indices.len();
    indices.extend(dataset.select(Split::Test, every));
    if trained == 0 {
        bail!(
            "{}: all that there is, {}, is held out and nothing left to train on; add photos{}",
            dataset.root.display(),
            counted(indices.len(), "photo"),
            match dataset
                .entries
                .iter()
                .any(|entry| entry.declared_split.is_some())
            {
                true => ", or change the splits that the files declare",
                false => ", or use --test-every 0 to hold out none",
            }
        );
    }
    let options = LoadOptions {
        max_size: config.data.max_size,
        background: config.data.background.colour(),
        // What they stand on changes with the step, or with each photo's exposure.
        keep_alpha: config.data.background == Background::Random || config.loss.exposure,
    };
    let mut train = load::views(dataset, &indices, &options)?;
    let mut test = train.split_off(trained);
    for view in &mut test {
        if view.photo.alpha.is_some() {
            view.photo = view.photo.on(to_bytes(options.background));
        }
    }
    let sizes = train
        .iter()
        .map(|v| [v.photo.width, v.photo.height])
        .max_by_key(|[w, h]| *w as u64 * *h as u64);
    let [w, h] = sizes.unwrap_or_default();
    eprintln!(
        "{} to train on, {} held out, up to {w}x{h}; {}",
        counted(train.len(), "photo"),
        test.len(),
        counted(dataset.points.positions.len(), "starting point")
    );
    Ok(Photos {
        train: Arc::new(train),
        test,
    })
}

fn plan_memory(
    config: &ResolvedConfig,
    backend: &dyn splatcore_core::Backend,
    start: usize,
    train: &[View],
    test: &[View],
) {
    let plan = memory::plan(config, backend, start, train.iter().chain(test));
    eprintln!("{plan}");
    if let Some(warning) = plan.warning() {
        eprintln!("warning: {warning}: lower --max-gaussians, --max-size or --sh-degree");
    }
}

/// Shows progress, hears Ctrl-C, measures now and then.
struct Watch<'a> {
    progress: Progress,
    guard: Guard,
    measured: &'a [View],
    align_colour: bool,
    psnr: Vec<(f64, f64)>,
}

impl Observer for Watch<'_> {
    fn signal(&mut self) -> Signal {
        if self.guard.stop_requested() {
            Signal::Stop
        } else {
            Signal::Continue
        }
    }

    fn progress(&mut self, p: &splatcore_train::Progress) -> Signal {
        self.progress.update(p.step.into(), || {
            format!(
                // What matters most comes first: a narrow terminal cuts the end.
                "{} left, {:.1} steps/s, loss {:.4}, {} Gaussians",
                duration(p.seconds_left),
                p.steps_per_second,
                p.loss,
                thousands(p.gaussians as u64)
            )
        });
        Signal::Continue
    }

    fn not_saved(&mut self, error: &splatcore_data::DataError) {
        self.progress.note(&format!(
            "warning: training goes on without this checkpoint: {error}"
        ));
    }

    fn measure(&mut self, step: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        match evaluate_with(
            renderer,
            self.measured,
            options,
            self.align_colour,
            &|_, _, _, _| {},
        ) {
            Ok(found) => {
                self.psnr.push((step.into(), found.psnr));
                let aligned = found
                    .psnr_aligned
                    .map(|psnr| format!(", colours aligned {psnr:.2} dB"));
                self.progress.note(&format!(
                    "step {step}: PSNR {:.2} dB, SSIM {:.4}{}",
                    found.psnr,
                    found.ssim,
                    aligned.unwrap_or_default()
                ));
            }
            // Training itself is sound: say so and go on.
            Err(error) => self
                .progress
                .note(&format!("warning: not measured at step {step}: {error}")),
        }
    }
}

fn report(
    metrics: &Metrics,
    about: &[(&str, String)],
    trainer: &Trainer,
    psnr: Vec<(f64, f64)>,
    views: Vec<ViewPictures>,
) -> Result<Report> {
    let held_out = metrics.split == "test";
    let kind = if held_out { "held-out" } else { "training" };
    let found = &metrics.evaluation;
    let mut summary = vec![
        (
            format!("PSNR, {kind} photos"),
            format!("{} dB", decibels(found.psnr)),
        ),
        (format!("SSIM, {kind} photos"), format!("{:.4}", found.ssim)),
        ("Gaussians".into(), thousands(found.gaussians as u64)),
        ("Steps".into(), thousands(metrics.steps.into())),
        ("Time trained".into(), duration(metrics.seconds)),
    ];
    if let Some(psnr) = found.psnr_aligned {
        summary.push((
            "PSNR, colours aligned".into(),
            format!("{} dB", decibels(psnr)),
        ));
    }
    if let Some(reason) = metrics.stopped {
        summary.push(("Stopped by".into(), reason.into()));
    }
    summary.extend(
        about
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone())),
    );
    let curve = trainer.curve();
    let chart = |title: &str, points: Vec<(f64, f64)>| Chart {
        title: title.into(),
        x_label: "step".into(),
        lines: vec![Line {
            name: title.into(),
            points,
        }],
    };
    let mut charts = vec![
        chart(
            "Loss (smoothed)",
            curve.iter().map(|p| (p.step.into(), p.loss)).collect(),
        ),
        chart(
            "Gaussians",
            curve
                .iter()
                .map(|p| (p.step.into(), p.gaussians as f64))
                .collect(),
        ),
    ];
    if psnr.len() > 1 {
        charts.push(chart(&format!("PSNR of {kind} photos, dB"), psnr));
    }
    Ok(Report {
        title: "splatcore training run".into(),
        summary,
        charts,
        views_title: if held_out {
            "Held-out views".into()
        } else {
            "Training views (none is held out)".into()
        },
        views,
        config: Some(trainer.config().to_toml()?),
    })
}
