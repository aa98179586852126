//! A training run from a dataset to the files in its folder; `train` and `demo` share it.

mod afterwards;
mod begin;
mod facts;
mod job;
mod memory;
mod metrics;
mod photos;
mod poses;
mod result;
mod watch;

pub use crate::scene_source::Files;
pub use job::{Init, Job, Show};
pub use metrics::{Measured, Metrics, Written};

use crate::commands::eval::measure;
use crate::interrupt::Guard;
use crate::output::{self, counted};
use crate::ranks::Rank;
use crate::report::{Scene, ViewPictures};
use crate::scene_source::{SceneSource, store_start};
use crate::sharing::{self, Choices, SharedScene};
use crate::up::Up;
use crate::viewing::{Live, photos_of, scene_info};
use crate::{backends, load, sizing, sky};
use afterwards::afterwards;
use anyhow::{Context, Result, bail};
use begin::{Begin, start};
use job::prepare_folder;
use memory::host_memory;
use photos::{Photos, load_photos};
use poses::Refined;
use result::{report, write_colours, write_sky};
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Backend, View};
use splatcore_data::dataset::Dataset;
use splatcore_data::{file, scene};
use splatcore_train::config::Preset;
use splatcore_train::memory::Bytes;
use splatcore_train::trainer::Outcome;
use splatcore_train::{Checkpoint, Evaluation, Extras, ResolvedConfig, Trainer};
use splatcore_view::protocol::SceneInfo;
use std::path::Path;
use std::sync::Arc;
use watch::Watch;

/// A run whose files are written.
pub struct Finished {
    /// What metrics.json says.
    pub metrics: Written,
    /// The scene that was written.
    pub scene: SharedScene,
    /// What shows the run in a browser, if the job asked for it.
    pub live: Option<Live>,
}

/// Trains, measures, and writes every file of the run.
///
/// # Errors
/// Also when the run was interrupted: the message says how to go on.
pub fn run(job: &Job) -> Result<Finished> {
    let Some(rank) = Rank::meet(
        (job.cards, job.split_photos),
        &job.config,
        &job.resume_command,
    )?
    else {
        return lead(job, None);
    };
    let result = match rank.leads() {
        true => lead(job, Some(&rank)),
        false => follow(job, &rank),
    };
    if let Err(error) = &result {
        rank.failed(&output::one_line(error));
    }
    result
}

/// The run of the process that writes its files: the only one, or rank 0.
fn lead(job: &Job, rank: Option<&Rank>) -> Result<Finished> {
    let (config, files) = (&job.config, Files::of(&job.folder));
    // What is wrong is said before anything is done, what is right when the work begins.
    let (backend, alone) = backends::of_rank(config, &job.card(), rank)?;
    let mut dataset = load::dataset_to_train(&job.dataset, job.images.as_deref(), config.seed)?;
    let init = job.init_scene()?;
    let begin = init.as_ref().map(SceneSource::load).transpose()?;
    let (_lock, checkpoint) = prepare_folder(job, &files)?;
    let facts = facts::of_run(job, &files, init.as_ref(), &mut dataset)?;
    let backend: Arc<dyn Backend> = Arc::from(backend.announce());
    // The others take the settings as they are.
    let keeps_size = checkpoint.is_some() || rank.is_some();
    let config = &sized(job, &*backend, &dataset, keeps_size)?;
    let photos = load_photos(&mut dataset, job, config)?;
    let (views, split) = measured_on(&photos);
    rank.map_or(Ok(()), |rank| rank.same("photos", &photos.fingerprint()))?;

    let begin = Begin::of(config, &dataset, &photos, checkpoint, begin);
    let mut trainer = start(config, &*backend, &photos, begin)?;
    if job.overwrite && !job.resume {
        files.remove()?;
    }
    file::write_bytes(&files.config, config.to_toml()?.as_bytes())?;
    facts::write(&facts, &files, &photos)?;
    trainer.save_to(&files.checkpoint);
    set_ends(&mut trainer, job, config, &photos);
    if let Some(rank) = rank {
        trainer.train_together(rank.together());
    }
    let live = watched(job, facts.up, &photos, &mut trainer, &backend)?;
    let mut watch = Watch::start(config, (views, split), live)?;
    let outcome = trainer.run_ahead(&mut watch)?;
    if let Some(rank) = rank {
        rank.done();
    }
    let (mut before, live) = watch.end();
    before.retain(|measured| measured.step < trainer.step());
    let stopped = why_stopped(outcome, job, &mut trainer)?;

    let (seconds, steps) = (trainer.seconds(), trainer.step());
    // What only this process does must not wait for the others.
    let alone = alone.as_deref().unwrap_or(&*backend);
    let refined = Refined::of(&mut trainer, alone, &photos);
    let views = poses::measured(refined.as_ref(), &photos, views);
    let measured = write_and_measure(&mut trainer, &files, config, &views);
    // Whatever else goes wrong, what can be had is written, the state first.
    let saved = trainer.wait_saved(&mut ());
    let (shared, evaluation, pictures) = measured?;
    before.push(Measured::at(steps, &evaluation));
    let refined = refined.as_ref();
    let cameras = poses::conclude(refined, &mut trainer, job, &dataset, &photos, &evaluation)?;
    let metrics = Written {
        host_memory: host_memory(&mut trainer)?,
        evaluation,
        split,
        seconds,
        steps,
        cameras,
        colours: write_colours(&mut trainer, &files)?,
        breakdown: trainer.breakdown(),
        stopped,
        curve: metrics::curve(trainer.curve()),
        measured: before,
    };
    output::write_json(&files.metrics, &metrics)?;
    write_sky(&mut trainer, &files)?;
    let scene = shown_scene(job, facts.up, &shared, &views);
    let about = about(job, &photos, &*backend);
    report(&metrics, &about, &trainer, scene, pictures)?.write(&files.report)?;
    say_what_was_spent(&trainer);
    saved.with_context(|| {
        let scene = files.scene.display();
        format!("{scene} is complete, but not the state behind it, which --resume needs")
    })?;
    Ok(Finished {
        metrics,
        scene: shared,
        live,
    })
}

/// The run of another rank, which ends with the process.
fn follow(job: &Job, rank: &Rank) -> Result<Finished> {
    let (config, files) = (&job.config, Files::of(&job.folder));
    let backend = backends::of_rank(config, &job.card(), Some(rank))?
        .0
        .quietly();
    let mut dataset = load::dataset_to_train(&job.dataset, job.images.as_deref(), config.seed)?;
    let init = job.init_scene()?;
    let begin = init.as_ref().map(SceneSource::load).transpose()?;
    let checkpoint = match job.resume {
        true => Some(Checkpoint::load(&files.checkpoint)?),
        false => None,
    };
    facts::of_run(job, &files, init.as_ref(), &mut dataset)?;
    let photos = load_photos(&mut dataset, job, config)?;
    rank.same("photos", &photos.fingerprint())?;
    let begin = Begin::of(config, &dataset, &photos, checkpoint, begin);
    let mut trainer = start(config, &*backend, &photos, begin)?;
    set_ends(&mut trainer, job, config, &photos);
    trainer.train_together(rank.together());
    // Rank 0 hears Ctrl-C and tells the others.
    let _ignored = Guard::start()?;
    trainer.run_ahead(&mut ())?;
    rank.done();
    std::process::exit(0)
}

/// The settings; where a budget of time is for a processor, with a size that it can train.
fn sized(
    job: &Job,
    backend: &dyn Backend,
    dataset: &Dataset,
    keeps_size: bool,
) -> Result<ResolvedConfig> {
    match &job.config.budget {
        Some(budget) if backend.name() == "cpu" && !keeps_size => {
            let left = budget.time.seconds() - job.begun.elapsed().as_secs_f64();
            sizing::for_budget(&job.config, job.device, dataset, left.max(0.1))
        }
        _ => Ok(job.config.clone()),
    }
}

/// Tells the trainer what ends the run beside its last step.
fn set_ends(trainer: &mut Trainer, job: &Job, config: &ResolvedConfig, photos: &Photos) {
    if config.budget.is_some() {
        let measured = match photos.test.is_empty() {
            true => &photos.train,
            false => &photos.test,
        };
        trainer.has_spent(job.begun.elapsed().as_secs_f64());
        let poses = &config.poses;
        let fits = (poses.refine || poses.motion.is_some()) && !photos.test.is_empty();
        let align_colour = config.loss.colour.is_some();
        trainer.keep_time_for(afterwards(Arc::clone(measured), align_colour, fits));
    }
    trainer.hold_out(Arc::clone(&photos.test));
    if let Some(seconds) = job.time_limit {
        trainer.stop_after(seconds);
    }
}

/// Says how a run with a budget ended, and what takes the same steps without one.
fn say_what_was_spent(trainer: &Trainer) {
    let planned = trainer.config();
    let Some(budget) = &planned.budget else {
        return;
    };
    let most = match planned.scene.max_gaussians {
        Some(most) => format!(" --max-gaussians {most}"),
        None => String::new(),
    };
    eprintln!(
        "budget {}: {} were spent; the same length without it: --iterations {}{most}",
        budget.time,
        output::duration(trainer.budget_spent()),
        planned.iterations
    );
}

/// What the report says of the run first.
fn about(job: &Job, photos: &Photos, backend: &dyn Backend) -> [(&'static str, String); 3] {
    let (train, test) = (photos.train.len(), photos.test.len());
    [
        ("Dataset", job.dataset.display().to_string()),
        ("Photos", format!("{train} trained on, {test} held out")),
        ("Computed by", backend.describe()),
    ]
}

/// The views on which quality is measured, and what they are called: those held out, if there are
/// any.
fn measured_on(photos: &Photos) -> (&[View], &'static str) {
    if photos.test.is_empty() {
        eprintln!(
            "no photo is held out: quality is measured on the photos trained on, which flatters it"
        );
        return (&photos.train, "train");
    }
    (&photos.test, "test")
}

/// The scene for the report, with these views. A failure costs the report nothing else.
fn shown_scene(job: &Job, up: Option<Up>, scene: &SharedScene, views: &[View]) -> Scene {
    let export = format!(
        "splatcore export {} -o page.html",
        output::quote(&job.folder.to_string_lossy())
    );
    let shown = || -> Result<Scene> {
        let count = scene.gaussians().len();
        if count > sharing::MAX_IN_REPORT {
            let count = counted(count, "Gaussian");
            return Ok(Scene::Hint(format!(
                "{count} are too many for this file; a page of them: {export}"
            )));
        }
        let choices = Choices {
            title: job.folder.display().to_string(),
            background: job.config.data.background.colour(),
            sky: sky::read(&Files::of(&job.folder).sky)?.map(Arc::new),
            up,
            views: views
                .iter()
                .map(|v| sharing::view(v.name.clone(), &v.camera))
                .collect(),
            ..Choices::default()
        };
        Ok(Scene::Page(scene.page(&choices)?))
    };
    shown().unwrap_or_else(|error| {
        let error = output::one_line(&error);
        eprintln!("warning: the report does not show the scene: {error}");
        Scene::Hint(format!("not shown ({error}); try: {export}"))
    })
}

/// Keeps showing a finished run: until Ctrl-C if `always`, else only if somebody is looking.
pub fn stay(live: Live, scene: SharedScene, job: &Job, always: bool) -> Result<()> {
    if !always && live.watchers() == 0 {
        return Ok(());
    }
    let (gaussians, antialias) = scene.into_parts();
    let options = RenderOptions {
        antialias,
        background: job.config.data.background.colour(),
        sky: sky::read(&Files::of(&job.folder).sky)?.map(Arc::new),
        ..RenderOptions::default()
    };
    let file = Files::of(&job.folder).scene;
    live.stay(gaussians, &options, &file)
}

/// The server that shows the run, if that was asked for.
fn watched(
    job: &Job,
    up: Option<Up>,
    photos: &Photos,
    trainer: &mut Trainer,
    backend: &Arc<dyn Backend>,
) -> Result<Option<Live>> {
    let Some(show) = &job.show else {
        return Ok(None);
    };
    let start = trainer.scene()?;
    // Of a resumed run they may have moved.
    let now = trainer.cameras();
    let train = photos
        .train
        .iter()
        .zip(&now)
        .map(|(view, camera)| (view, camera, false));
    let test = photos.test.iter().map(|view| (view, &view.camera, true));
    let cameras = train
        .chain(test)
        .map(|(view, camera, held_out)| (&*view.name, camera, held_out));
    let info = SceneInfo {
        sh_degree: job.config.scene.sh_degree,
        ..scene_info(job.folder.display().to_string(), &start, cameras, up)
    };
    let views = vec![Arc::clone(&photos.train), Arc::clone(&photos.test)];
    let live = Live::start(
        &show.viewer,
        show.allow_control,
        show.share,
        (
            info,
            photos_of(views),
            store_start(Files::of(&job.folder).run),
        ),
        Arc::clone(backend),
    )?;
    Ok(Some(live))
}

/// Why a run ended before its last step, for the metrics.
///
/// # Errors
/// The run was interrupted: its state is saved, but no result.
fn why_stopped(outcome: Outcome, job: &Job, trainer: &mut Trainer) -> Result<Option<&'static str>> {
    let (iterations, command) = (trainer.config().iterations, &job.resume_command);
    match outcome {
        Outcome::Interrupted { step } => {
            trainer.wait_saved(&mut ())?;
            bail!(
                "interrupted at step {step} of {iterations}; the state is saved, go on with: \
                 {command}"
            );
        }
        Outcome::TimeLimit { step } => {
            eprintln!(
                "stopped by --time-limit at step {step} of {iterations}; to go on: {command}"
            );
            Ok(Some("time limit"))
        }
        Outcome::Finished => Ok(trainer.reached().map(|_| "quality target")),
    }
}

/// Writes the scene while the views are measured.
fn write_and_measure(
    trainer: &mut Trainer,
    files: &Files,
    config: &ResolvedConfig,
    measured: &[View],
) -> Result<(SharedScene, Evaluation, Vec<ViewPictures>)> {
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
    let scene = SharedScene::new(gaussians, config.scene.antialias);
    // Checkpoint and scene, of a million Gaussians nearly a gigabyte, go to disk while the views
    // are measured.
    let (evaluation, pictures) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            scene::write_ply(&files.scene, scene.gaussians(), config.scene.antialias)?;
            match config.preset.is_some_and(Preset::writes_sog) {
                true => write_sog(&files.sog, &scene),
                false => Ok(()),
            }
        });
        let region = trainer.region();
        let (renderer, options) = trainer.renderer()?;
        let extras = Extras {
            align_colour: config.loss.colour.is_some(),
            region,
            ..Extras::default()
        };
        let (mut evaluation, pictures) = measure(renderer, measured, &options, extras, true)?;
        match writer.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        evaluation.gaussians = scene.gaussians().len();
        Ok::<_, anyhow::Error>((evaluation, pictures))
    })?;
    Ok((scene, evaluation, pictures))
}

/// The scene once more, small.
fn write_sog(path: &Path, scene: &SharedScene) -> Result<()> {
    // The bar of the measuring is on the terminal.
    let bytes = scene.sog(&|_, _, _| {})?;
    file::write_bytes(path, bytes)?;
    eprintln!("{}: {}", path.display(), Bytes(bytes.len() as u64));
    Ok(())
}
