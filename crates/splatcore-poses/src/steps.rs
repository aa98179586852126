//! The steps of finding poses: features, matches, models. Each goes on where it was stopped.

use crate::child::{Call, End};
use crate::effort::Effort;
use crate::groups::Grouped;
use crate::log::Log;
use crate::log_lines::{Event, STAGES, event};
use crate::pairs::Seconds;
use crate::program::{Extract, Pairs, Program};
use crate::state::State;
use crate::track::Track;
use crate::{Job, PosesError, panoramas};
use splatcore_data::DataError;
use splatcore_data::dataset::colmap::parse_images_bin;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Registering a photo takes longer the more there are: the time until so many are registered
/// grows with this power of their number (measured on 97 frames with COLMAP 3.8).
const MAPPING_POWER: f64 = 1.7;
/// From so many photos on, the time of their features says how fast the machine is.
const ENOUGH_MEASURED: u64 = 3;

/// What all steps need.
pub struct Steps<'a, 'b> {
    pub job: &'a Job,
    pub program: &'a Program,
    pub track: &'a mut Track<'b>,
    /// The number of the phase that finds features; the others follow.
    pub first: usize,
    /// What the work costs, as far as is known.
    pub effort: Effort,
    /// Pairs of photos that are compared.
    pub pairs: usize,
    /// The photos are views of photos of 360 degrees, whose lens is known.
    pub of_views: bool,
    pub log: Log,
    pub database: PathBuf,
    pub images: PathBuf,
    /// A folder for files that are not needed afterwards.
    pub work: PathBuf,
}

/// How a step's program ended.
struct Ended {
    status: ExitStatus,
    /// The last line that looks like an error.
    said: Option<String>,
}

/// A model that a mapper wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub folder: PathBuf,
    /// Photos with a pose.
    pub photos: usize,
}

impl Steps<'_, '_> {
    /// Runs a program; its lines go to the log, what they tell to `hear`.
    fn run(
        &mut self,
        call: &Call,
        hear: &mut dyn FnMut(&mut Track<'_>, &Event) -> Result<(), PosesError>,
    ) -> Result<Ended, PosesError> {
        let mut said = None;
        let end = self.log.run(call, self.track, &mut |track, line| {
            match event(line) {
                Some(Event::Error(text)) => said = Some(text),
                Some(event) => hear(track, &event)?,
                None => {}
            }
            Ok(())
        });
        match end? {
            End::Exited(status) => Ok(Ended { status, said }),
            End::Stopped => Err(PosesError::Stopped {
                dataset: self.job.dataset.clone(),
                repeated: None,
            }),
        }
    }

    fn check(&self, step: &'static str, ended: Ended) -> Result<(), PosesError> {
        if ended.status.success() {
            return Ok(());
        }
        Err(PosesError::Step {
            step,
            status: ended.status.to_string(),
            said: ended.said.unwrap_or_else(|| "it does not say why".into()),
            log: self.log.path.clone(),
        })
    }

    /// Finds features of the photos, one group after the other. A group's camera is made with its
    /// first photo; its id is kept in the state, so that later calls use it again.
    pub fn extract(
        &mut self,
        grouped: &Grouped,
        names: &[String],
        pairs: &Pairs<'_>,
        state: &mut State,
    ) -> Result<(), PosesError> {
        let total = names.len() as u64;
        let expected = self.effort.extraction();
        let later = self.effort.comparing(pairs, self.pairs) + self.effort.mapping();
        let begin = [Some(expected), Some(later)];
        self.track.begin(self.first, "features", total, begin);
        let list = self.work.join("photos.txt");
        let Some(features) = state.features.clone() else {
            return Ok(());
        };
        let mut seen = Seen::default();
        let mut before = 0;
        for group in &grouped.groups {
            let lines: String = group
                .photos
                .iter()
                .map(|&i| format!("{}\n", names[i]))
                .collect();
            std::fs::write(&list, lines).map_err(|e| DataError::write(&list, &e))?;
            let parameters = self.of_views.then(|| panoramas::parameters(group.size.0));
            let call = self.program.extract(&Extract {
                database: &self.database,
                images: &self.images,
                list: &list,
                camera_model: &features.camera_model,
                parameters: parameters.as_deref(),
                camera_each: grouped.each,
                camera_id: state.cameras.get(&group.key).copied(),
                max_size: features.max_size,
            });
            let dataset = &self.job.dataset;
            let mut hear = |track: &mut Track<'_>, event: &Event| match event {
                Event::Done(done, _) => {
                    track.count(before + done, total);
                    Ok(())
                }
                // Noted at once: a later call that does not know it would make another camera.
                Event::Camera(id) if !grouped.each && !state.cameras.contains_key(&group.key) => {
                    state.cameras.insert(group.key.clone(), *id);
                    state.write(dataset)
                }
                Event::Features(count) => {
                    seen.add(*count, track.seconds());
                    Ok(())
                }
                _ => Ok(()),
            };
            let ended = self.run(&call, &mut hear);
            self.check("feature extraction", ended?)?;
            before += group.photos.len() as u64;
        }
        self.learn(&seen, expected / total.max(1) as f64);
        state.extracted = true;
        state.feature_count = seen.mean().or(state.feature_count);
        state.write(&self.job.dataset)
    }

    /// What was seen of features says more of the phases that follow.
    fn learn(&mut self, seen: &Seen, expected: f64) {
        self.effort.features = seen.mean().or(self.effort.features);
        if seen.photos >= ENOUGH_MEASURED {
            let measured = seen.until / seen.photos as f64;
            self.effort.slowness *= measured / expected;
        }
    }

    /// Matches photos.
    pub fn pair(&mut self, pairs: &Pairs<'_>) -> Result<(), PosesError> {
        let expected = self.effort.comparing(pairs, self.pairs);
        let begin = [Some(expected), Some(self.effort.mapping())];
        self.track.begin(self.first + 1, "matching", 0, begin);
        if let Some(call) = self.program.prepare(&self.database, pairs, &self.work) {
            self.track.detail("learning which photos look alike");
            let ended = self.run(&call, &mut |_, _| Ok(()))?;
            self.check("matching", ended)?;
            self.track.detail("");
        }
        let call = self.program.pair(&self.database, pairs, &self.work);
        let ended = self.run(&call, &mut |track, event| {
            if let Event::Done(done, total) = event {
                track.count(*done, *total);
            }
            Ok(())
        })?;
        self.check("matching", ended)
    }

    /// What ways of matching take.
    pub fn matching_seconds(&self) -> Seconds {
        Seconds::of(&self.effort, self.program.finds_similar())
    }

    /// Finds focal lengths where EXIF tells too few of them. Without them the global mapper may
    /// still succeed, so a failure is no end.
    pub fn calibrate(&mut self) -> Result<(), PosesError> {
        let mapping = Some(self.effort.mapping());
        self.track
            .begin(self.first + 2, "focal lengths", 0, [Some(0.0), mapping]);
        let call = self.program.calibrate(&self.database);
        let ended = self.run(&call, &mut |_, _| Ok(()))?;
        if !ended.status.success() {
            self.track
                .note("focal lengths could not be found before mapping");
        }
        Ok(())
    }

    /// Makes models of the matches, the largest first; none if the photos have too little in
    /// common.
    pub fn map(&mut self, globally: bool, photos: u64) -> Result<Vec<Model>, PosesError> {
        let (name, step) = match globally {
            true => ("posing all photos", "the global mapper"),
            false => ("registering photos", "the incremental mapper"),
        };
        let models = self
            .work
            .join(if globally { "global" } else { "incremental" });
        std::fs::create_dir_all(&models).map_err(|e| DataError::write(&models, &e))?;
        // The global mapper counts no photos.
        let total = if globally { 0 } else { photos };
        let expected = [Some(self.effort.mapping()), Some(0.0)];
        self.track.begin(self.first + 2, name, total, expected);
        let call = self
            .program
            .map(globally, &self.database, &self.images, &models);
        let ended = self.run(&call, &mut |track, event| {
            match event {
                Event::Registered(count) => {
                    let share = *count as f64 / photos.max(1) as f64;
                    track.mark(*count, photos, share.powf(MAPPING_POWER));
                    track.detail("");
                }
                Event::Stage(stage, name) => {
                    track.mark(0, 0, *stage as f64 / STAGES as f64);
                    track.detail(&format!("{name} ({} of {STAGES})", stage + 1));
                }
                Event::Doing(what) => track.detail(what),
                _ => {}
            }
            Ok(())
        });
        let ended = ended.map_err(|error| match error {
            PosesError::Stopped { dataset, .. } => PosesError::Stopped {
                dataset,
                repeated: Some("the mapper"),
            },
            error => error,
        })?;
        let found = found(&models)?;
        // Version 3.8 calls it a failure when photos have nothing in common.
        let nothing = ended.said.as_ref().is_some_and(|said| {
            let said = said.to_lowercase();
            said.contains("failed to create") || said.contains("failed to reconstruct")
        });
        if found.is_empty() && nothing {
            return Ok(found);
        }
        self.check(step, ended)?;
        Ok(found)
    }
}

/// Features that were found.
#[derive(Default)]
struct Seen {
    photos: u64,
    features: u64,
    /// When the last photo was done, in seconds since the first began.
    until: f64,
}

impl Seen {
    fn add(&mut self, features: u64, now: f64) {
        self.photos += 1;
        self.features = self.features.saturating_add(features);
        self.until = now;
    }

    /// Features of a photo.
    fn mean(&self) -> Option<f64> {
        (self.photos > 0).then(|| self.features as f64 / self.photos as f64)
    }
}

/// The models in the folders of a folder, the largest first, of equals the first by name.
fn found(folder: &Path) -> Result<Vec<Model>, PosesError> {
    let entries = std::fs::read_dir(folder).map_err(|e| DataError::read(folder, &e))?;
    let mut models = Vec::new();
    for entry in entries {
        let folder = entry.map_err(|e| DataError::read(folder, &e))?.path();
        let path = folder.join("images.bin");
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|e| DataError::read(&path, &e))?;
        let photos = parse_images_bin(&bytes, &path)?.len();
        models.push(Model { folder, photos });
    }
    models.sort_by(|a, b| {
        b.photos
            .cmp(&a.photos)
            .then_with(|| a.folder.cmp(&b.folder))
    });
    Ok(models)
}
