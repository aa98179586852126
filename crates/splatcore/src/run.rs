//! A training run from a dataset to the files in its folder; `train` and `demo` share it.

mod afterwards;
mod begin;
mod conclude;
mod facts;
mod job;
mod memory;
mod metrics;
mod photos;
mod poses;
mod ready;
mod result;
mod timeline;
mod watch;
mod writing;

pub use crate::scene_source::Files;
pub use job::{Init, Job, Show};
#[cfg(test)]
pub use metrics::Measured;
pub use metrics::{Metrics, Written};

use crate::interrupt::Guard;
use crate::ranks::{Panics, Rank};
use crate::scene_source::{SceneSource, store_start};
use crate::sharing::SharedScene;
use crate::up::Up;
use crate::viewing::{Live, photos_of, scene_info};
use crate::{backends, load, output, sky};
use afterwards::afterwards;
use anyhow::{Result, anyhow};
use begin::{Begin, of_points, start};
use conclude::End;
use photos::{Photos, load_photos};
use ready::{Ready, ready};
use splatcore_core::backend::RenderOptions;
use splatcore_core::{Backend, View};
use splatcore_data::file;
use splatcore_train::trainer::Outcome;
use splatcore_train::{Checkpoint, ResolvedConfig, TrainError, Trainer};
use splatcore_view::Port;
use splatcore_view::protocol::SceneInfo;
use std::sync::Arc;
use timeline::Timeline;
use watch::{Follower, Watch};
use writing::SceneWriter;

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
    let files = Files::of(&job.folder);
    let timeline = Arc::new(Timeline::since(job.begun));
    let mut ready = ready(job, &files, rank, &timeline)?;
    let mut trainer = begin(job, &files, rank, &mut ready, &timeline)?;
    let (config, photos) = (&ready.config, &ready.photos);
    let (views, split) = measured_on(photos);
    let shown = (&ready.backend, ready.port.take());
    let live = watched(job, ready.facts.up, photos, &mut trainer, shown)?;
    let mut watch = Watch::start(config, (views, split), live)?;
    let _panics = Panics(rank);
    let work = (&mut trainer, &mut watch);
    let (stopped, writer) = match train((job, config, &files), rank, work, &timeline) {
        Err(error) => {
            leave_as_it_is(trainer, (rank, &error));
            return Err(error);
        }
        Ok(trained) => trained,
    };
    let (mut measured, live) = watch.end();
    measured.retain(|measured| measured.step < trainer.step());
    let end = End {
        job,
        rank,
        files: &files,
        ready: &ready,
        timeline: &timeline,
        measured,
        stopped,
    };
    let (metrics, scene) = end.conclude(&mut trainer, writer?, (views, split))?;
    Ok(Finished {
        metrics,
        scene,
        live,
    })
}

/// Takes the steps, starts to write the scene, saves the state. Returns why a run stopped early.
fn train(
    (job, config, files): (&Job, &ResolvedConfig, &Files),
    rank: Option<&Rank>,
    (trainer, watch): (&mut Trainer, &mut Watch<'_>),
    timeline: &Arc<Timeline>,
) -> Result<(Option<&'static str>, Result<SceneWriter, TrainError>)> {
    let outcome = trainer.run_unsaved(watch)?;
    watch.steps.note(timeline);
    if let Outcome::Interrupted { step } = outcome {
        save((trainer, watch), rank, timeline)?;
        trainer.wait_saved(&mut ())?;
        return Err(interrupted(step, trainer, job));
    }
    let stopped = why_stopped(outcome, trainer, job);
    let scene = timeline.time("fetch the scene", || trainer.scene());
    let scene = match scene {
        // What other ranks gave of it they do not give again.
        Err(error) if rank.is_some() => return Err(error.into()),
        scene => scene,
    };
    let writer = scene.map(|scene| SceneWriter::start(scene, config, files, timeline));
    // Whatever else goes wrong, the state is saved.
    if let Err(error) = save((trainer, watch), rank, timeline) {
        // The scene is written to its end first.
        tell(rank, &error);
        return Err(error);
    }
    Ok((stopped, writer))
}

/// The trainer, ready to take steps, whose settings are written.
fn begin(
    job: &Job,
    files: &Files,
    rank: Option<&Rank>,
    ready: &mut Ready,
    timeline: &Timeline,
) -> Result<Trainer> {
    let (config, photos) = (&ready.config, &ready.photos);
    rank.map_or(Ok(()), |rank| rank.same("photos", &photos.fingerprint()))?;
    if let Some(waiting) = rank.and_then(|rank| rank.waiting(config.batch.views)) {
        eprintln!("{waiting}");
    }
    let begin = Begin::of(ready.checkpoint.take(), ready.start.take());
    let count = begin.gaussians();
    let mut trainer = timeline.time("make the learner", || {
        start(config, &*ready.backend, photos, begin)
    })?;
    if job.overwrite && !job.resume {
        files.remove()?;
    }
    memory::check_disk(config, &job.folder, count, photos);
    timeline.time("write the settings", || {
        let settings = config.to_toml()?;
        let (written, noted) = rayon::join(
            || file::write_bytes(&files.config, settings.as_bytes()),
            || facts::write(&ready.facts, files, photos),
        );
        written?;
        noted
    })?;
    trainer.save_to(&files.checkpoint);
    set_ends(&mut trainer, job, (config, &*ready.backend), photos);
    if let Some(rank) = rank {
        trainer.train_together(rank.together());
    }
    Ok(trainer)
}

/// Takes the state at the end of the steps, which is written while the run goes on.
fn save(
    (trainer, watch): (&mut Trainer, &mut Watch<'_>),
    rank: Option<&Rank>,
    timeline: &Timeline,
) -> Result<()> {
    timeline.time("fetch the state", || trainer.save_end(watch))?;
    if let Some(rank) = rank {
        rank.done();
    }
    Ok(())
}

/// Tells the other ranks, if there are any, why this one ends.
fn tell(rank: Option<&Rank>, error: &anyhow::Error) {
    if let Some(rank) = rank {
        rank.tell(&output::one_line(error));
    }
}

/// Of a run that failed. A rank's memory stays: to free it would wait for exchanges with ranks that
/// wait for this one. The process ends soon.
fn leave_as_it_is(trainer: Trainer, (rank, error): (Option<&Rank>, &anyhow::Error)) {
    tell(rank, error);
    if rank.is_some() {
        std::mem::forget(trainer);
    }
}

/// The run of another rank, which ends with the process.
fn follow(job: &Job, rank: &Rank) -> Result<Finished> {
    let (config, files) = (&job.config, Files::of(&job.folder));
    let backend = backends::of_rank(config, &job.card(), Some(rank))?
        .0
        .quietly();
    let mut dataset = load::dataset_to_train(&job.dataset, job.images.as_deref(), config)?;
    let init = job.init_scene()?;
    let begin = init.as_ref().map(SceneSource::load).transpose()?;
    let checkpoint = match job.resume {
        true => Some(Checkpoint::load(&files.checkpoint)?),
        false => None,
    };
    facts::of_run(job, &files, init.as_ref(), &mut dataset)?;
    let photos = load_photos(&mut dataset, job, config, Some(rank))?;
    rank.same("photos", &photos.fingerprint())?;
    let photos = photos.without_held_out();
    let first = match (&checkpoint, begin) {
        (None, None) => Some(of_points(config, &dataset, &photos.train)),
        (_, scene) => scene.map(|(scene, _)| scene),
    };
    let begin = Begin::of(checkpoint, first);
    let mut trainer = start(config, &*backend, &photos, begin)?;
    set_ends(&mut trainer, job, (config, &*backend), &photos);
    trainer.train_together(rank.together());
    // Rank 0 hears Ctrl-C and tells the others.
    let _ignored = Guard::start()?;
    let _panics = Panics(Some(rank));
    if let Err(error) = trainer.run_ahead(&mut Follower(rank)) {
        let error = error.into();
        leave_as_it_is(trainer, (Some(rank), &error));
        return Err(error);
    }
    rank.give_account(&mut trainer);
    rank.done();
    rank.leave()
}

/// Tells the trainer what ends the run beside its last step.
fn set_ends(
    trainer: &mut Trainer,
    job: &Job,
    (config, backend): (&ResolvedConfig, &dyn Backend),
    photos: &Photos,
) {
    if let Some(budget) = &config.budget {
        let measured = match photos.test.is_empty() {
            true => &photos.train,
            false => &photos.test,
        };
        trainer.has_spent(job.begun.elapsed().as_secs_f64());
        let poses = &config.poses;
        let fits = (poses.refine || poses.motion.is_some()) && !photos.test.is_empty();
        let align_colour = config.loss.colour.is_some();
        let on_card = backend.name() == "cuda";
        let comparing = (photos.train.len(), budget.time.seconds(), on_card);
        let extras = (align_colour, fits);
        trainer.keep_time_for(afterwards(Arc::clone(measured), extras, comparing));
    }
    trainer.hold_out(Arc::clone(&photos.test));
    if let Some(seconds) = job.time_limit {
        trainer.stop_after(seconds);
    }
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
    (backend, port): (&Arc<dyn Backend>, Option<Port>),
) -> Result<Option<Live>> {
    let (Some(show), Some(port)) = (&job.show, port) else {
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
        (&show.viewer, port),
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

/// Why a run that was interrupted has no result.
fn interrupted(step: u32, trainer: &Trainer, job: &Job) -> anyhow::Error {
    let (iterations, command) = (trainer.config().iterations, &job.resume_command);
    anyhow!("interrupted at step {step} of {iterations}; the state is saved, go on with: {command}")
}

/// Why a run ended before its last step, for the metrics.
fn why_stopped(outcome: Outcome, trainer: &Trainer, job: &Job) -> Option<&'static str> {
    let Outcome::TimeLimit { step } = outcome else {
        return trainer.reached().map(|_| "quality target");
    };
    let (iterations, command) = (trainer.config().iterations, &job.resume_command);
    eprintln!("stopped by --time-limit at step {step} of {iterations}; to go on: {command}");
    Some("time limit")
}
