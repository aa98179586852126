//! What a run has before it makes its trainer. A card is opened, which takes the driver some tenths
//! of a second, while the photos are read.

use super::begin::of_points;
use super::facts;
use super::job::{Init, Job, prepare_folder};
use super::photos::{Photos, load_photos};
use super::timeline::Timeline;
use crate::backends::{self, Opened};
use crate::ranks::Rank;
use crate::scene_source::{Facts, Files, SceneSource};
use crate::{load, sizing};
use anyhow::Result;
use splatcore_core::{Backend, Gaussians};
use splatcore_data::dataset::Dataset;
use splatcore_data::lock::FolderLock;
use splatcore_train::config::BackendChoice;
use splatcore_train::{Checkpoint, ResolvedConfig};
use splatcore_view::Port;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

/// What a run has before it makes its trainer.
pub struct Ready {
    /// With what the trainer computes.
    pub backend: Arc<dyn Backend>,
    /// Of a rank, the same card for what it does alone.
    pub alone: Option<Box<dyn Backend>>,
    /// The settings; of a run with a budget on a processor, with a size that it can train.
    pub config: ResolvedConfig,
    /// Where the photos are.
    pub dataset: Dataset,
    /// The photos, decoded.
    pub photos: Photos,
    /// What the run records of its dataset.
    pub facts: Facts,
    /// The Gaussians at the first step; `None` for those of the checkpoint.
    pub start: Option<Gaussians>,
    /// Where to go on.
    pub checkpoint: Option<Checkpoint>,
    /// Where the run is shown, if that was asked for.
    pub port: Option<Port>,
    /// The folder is taken while this lives.
    _lock: FolderLock,
}

/// A backend, and of a rank the same card for what it does alone.
type Backends = (Opened, Option<Box<dyn Backend>>);

/// A backend that may still be being opened.
enum Opening<'scope> {
    Begun(ScopedJoinHandle<'scope, Result<Backends>>),
    Done(Backends),
}

impl Opening<'_> {
    fn wait(self) -> Result<Backends> {
        match self {
            Self::Done(opened) => Ok(opened),
            Self::Begun(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }

    /// Waits, unless the driver is at work.
    fn if_quick(self) -> Result<Self> {
        match self {
            Self::Begun(thread) if thread.is_finished() => {
                Self::Begun(thread).wait().map(Self::Done)
            }
            opening => Ok(opening),
        }
    }
}

/// Makes ready the run of the process that writes its files.
///
/// # Errors
/// What is wrong is told before anything is done in the folder, but for a card that the driver
/// cannot open.
pub fn ready(job: &Job, files: &Files, rank: Option<&Rank>, timeline: &Timeline) -> Result<Ready> {
    let open = || {
        timeline.time("open the backend", || {
            backends::of_rank(&job.config, &job.card(), rank)
        })
    };
    thread::scope(|scope| {
        let opening = match rank.is_none() && takes_time(&job.config) {
            true => Opening::Begun(scope.spawn(open)),
            false => Opening::Done(open()?),
        };
        read(job, files, rank, opening, timeline)
    })
}

/// Whether opening the backend takes long. A bound on threads must be set before any are used.
fn takes_time(config: &ResolvedConfig) -> bool {
    let compute = &config.compute;
    compute.backend != BackendChoice::Cpu
        && compute.threads.is_none()
        && splatcore_cuda::device::driver::has_driver()
}

/// Reads all that a run needs while the backend is opened.
fn read(
    job: &Job,
    files: &Files,
    rank: Option<&Rank>,
    opening: Opening<'_>,
    timeline: &Timeline,
) -> Result<Ready> {
    let mut dataset = timeline.time("read the dataset", || {
        load::dataset_to_train(&job.dataset, job.images.as_deref(), &job.config)
    })?;
    if let Some(Init::Points(path)) = &job.init {
        load::starting_points(&mut dataset, path, &job.config)?;
    }
    let init = job.init_scene()?;
    let scene = init.as_ref().map(SceneSource::load).transpose()?;
    let opening = opening.if_quick()?;
    let show = job.show.as_ref();
    let port = show.map(|show| show.viewer.bind()).transpose()?;
    let (lock, checkpoint) = prepare_folder(job, files, &dataset)?;
    let facts = timeline.time("find up", || {
        facts::of_run(job, files, init.as_ref(), &mut dataset)
    })?;
    // The others take the settings as they are.
    let keeps_size = checkpoint.is_some() || rank.is_some();
    let load = |config: &ResolvedConfig, dataset: &mut Dataset| -> Result<_> {
        let photos = timeline.time("decode photos", || load_photos(dataset, job, config, rank))?;
        let start = match (&checkpoint, &scene) {
            (None, None) => Some(timeline.time("make the first Gaussians", || {
                of_points(config, dataset, &photos.train)
            })),
            _ => None,
        };
        Ok((photos, start))
    };
    let (backend, alone, config, (photos, start)) = match opening {
        Opening::Done((opened, alone)) => {
            let backend = opened.announce();
            let config = sized(job, &*backend, &dataset, keeps_size)?;
            let loaded = load(&config, &mut dataset)?;
            (backend, alone, config, loaded)
        }
        begun => {
            let mut loaded = load(&job.config, &mut dataset)?;
            let (opened, alone) = timeline.time("wait for the backend", || begun.wait())?;
            let backend = opened.announce();
            let config = sized(job, &*backend, &dataset, keeps_size)?;
            // The driver found no card after all.
            if config != job.config {
                loaded = load(&config, &mut dataset)?;
            }
            (backend, alone, config, loaded)
        }
    };
    Ok(Ready {
        backend: Arc::from(backend),
        alone,
        config,
        dataset,
        photos,
        facts,
        start: start.or_else(|| scene.map(|(scene, _)| scene)),
        checkpoint,
        port,
        _lock: lock,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_data::procedural::{ProceduralOptions, write_dataset};
    use splatcore_train::Config;
    use splatcore_train::config::WallTime;
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn job(folder: &Path, budget: Option<f64>) -> Job {
        let options = ProceduralOptions {
            width: 64,
            height: 48,
            views: 10,
            samples: 1,
            points: 400,
            ..ProceduralOptions::default()
        };
        let dataset = folder.join("photos");
        write_dataset(&dataset, &options, &|_, _| {}).unwrap();
        let config = Config {
            backend: Some(BackendChoice::Cpu),
            budget: budget.and_then(WallTime::from_seconds),
            ..Config::UNSET
        };
        Job {
            dataset,
            images: None,
            init: None,
            folder: folder.join("run"),
            config: config.complete(),
            device: None,
            memory: None,
            memory_files: None,
            photo_memory: load::PhotoMemoryArgs::default(),
            cards: None,
            split_photos: false,
            resume: false,
            overwrite: false,
            upright: false,
            time_limit: None,
            begun: Instant::now(),
            show: None,
            resume_command: String::new(),
        }
    }

    /// Reads what a run needs while a backend is opened, which ends once the photos are there.
    fn while_opening(job: &Job) -> (Ready, Vec<&'static str>) {
        let timeline = Timeline::since(job.begun);
        let names = || timeline.phases().iter().map(|p| p.name).collect::<Vec<_>>();
        let ready = thread::scope(|scope| {
            let open = || {
                let deadline = Instant::now() + Duration::from_secs(60);
                while !names().contains(&"make the first Gaussians") && Instant::now() < deadline {
                    thread::sleep(Duration::from_millis(1));
                }
                backends::of_rank(&job.config, &job.card(), None)
            };
            let opening = Opening::Begun(scope.spawn(open));
            read(job, &Files::of(&job.folder), None, opening, &timeline).unwrap()
        });
        (ready, names())
    }

    #[test]
    fn all_is_ready_when_the_backend_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(folder.path(), None);
        let (ready, phases) = while_opening(&job);
        let wanted = [
            "read the dataset",
            "find up",
            "decode photos",
            "make the first Gaussians",
            "wait for the backend",
        ];
        assert_eq!(phases, wanted);
        assert_eq!(ready.config, job.config);
        assert_eq!(ready.start.as_ref().unwrap().len(), 400);
        let (first, photos) = (ready.start.clone(), ready.photos.fingerprint());
        drop(ready);
        // The same as after the backend is open.
        let timeline = Timeline::since(job.begun);
        let again = super::ready(&job, &Files::of(&job.folder), None, &timeline).unwrap();
        assert_eq!((again.start, again.photos.fingerprint()), (first, photos));
    }

    #[test]
    fn a_processor_in_the_place_of_a_card_gets_photos_that_it_can_train_on() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(folder.path(), Some(1.0));
        let (ready, phases) = while_opening(&job);
        let decoded = phases.iter().filter(|name| **name == "decode photos");
        assert_eq!(decoded.count(), 2);
        assert!(ready.config.scene.max_gaussians.is_some());
        assert_ne!(ready.config, job.config);
    }
}
