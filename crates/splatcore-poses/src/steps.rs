//! The steps of finding poses: features, matches, models. Each goes on where it was stopped.

use crate::child::{self, Call, End};
use crate::groups::Grouped;
use crate::log_lines::{Event, event};
use crate::program::{Extract, Pairs, Program};
use crate::state::State;
use crate::{Job, Observer, PosesError};
use splatcore_data::DataError;
use splatcore_data::dataset::colmap::parse_images_bin;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// What all steps need.
pub struct Steps<'a> {
    pub job: &'a Job,
    pub program: &'a Program,
    pub observer: &'a mut dyn Observer,
    /// `poses.log`.
    pub log: BufWriter<File>,
    pub log_path: PathBuf,
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

impl Steps<'_> {
    /// Runs a program; its lines go to the log, what they tell to `hear`.
    fn run(
        &mut self,
        call: &Call,
        hear: &mut dyn FnMut(&mut dyn Observer, &Event),
    ) -> Result<Ended, PosesError> {
        let log_path = &self.log_path;
        let failed = |e: std::io::Error| PosesError::from(DataError::write(log_path, &e));
        let log = &mut self.log;
        writeln!(log, "\n$ {}", call.shown()).map_err(failed)?;
        let observer = std::cell::RefCell::new(&mut *self.observer);
        let mut said = None;
        let end = child::run(call, &|| observer.borrow().stop(), &mut |line| {
            writeln!(log, "{line}").map_err(failed)?;
            match event(line) {
                Some(Event::Error(text)) => said = Some(text),
                Some(event) => hear(&mut **observer.borrow_mut(), &event),
                None => {}
            }
            Ok(())
        });
        self.log.flush().map_err(failed)?;
        match end? {
            End::Exited(status) => Ok(Ended { status, said }),
            End::Stopped => Err(PosesError::Stopped {
                dataset: self.job.dataset.clone(),
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
            log: self.log_path.clone(),
        })
    }

    /// Finds features of the photos, one group after the other. A group's camera is made with its
    /// first photo; its id is kept in the state, so that later calls use it again.
    pub fn extract(
        &mut self,
        grouped: &Grouped,
        names: &[String],
        state: &mut State,
    ) -> Result<(), PosesError> {
        let total = names.len() as u64;
        self.observer.stage("features", total);
        let list = self.work.join("photos.txt");
        let Some(features) = state.features.clone() else {
            return Ok(());
        };
        let mut before = 0;
        for group in &grouped.groups {
            let lines: String = group
                .photos
                .iter()
                .map(|&i| format!("{}\n", names[i]))
                .collect();
            std::fs::write(&list, lines).map_err(|e| DataError::write(&list, &e))?;
            let call = self.program.extract(&Extract {
                database: &self.database,
                images: &self.images,
                list: &list,
                camera_model: &features.camera_model,
                camera_each: grouped.each,
                camera_id: state.cameras.get(&group.key).copied(),
                max_size: features.max_size,
            });
            let mut camera = None;
            let ended = self.run(&call, &mut |observer, event| match event {
                Event::Done(done, _) => observer.progress(before + done, total, ""),
                Event::Camera(id) => camera = camera.or(Some(*id)),
                _ => {}
            });
            if let (Some(id), false) = (camera, grouped.each) {
                state.cameras.entry(group.key.clone()).or_insert(id);
                state.write(&self.job.dataset)?;
            }
            self.check("feature extraction", ended?)?;
            before += group.photos.len() as u64;
        }
        state.extracted = true;
        state.write(&self.job.dataset)
    }

    /// Matches photos.
    pub fn pair(&mut self, pairs: &Pairs<'_>) -> Result<(), PosesError> {
        self.observer.stage("matches", 0);
        let call = self.program.pair(&self.database, pairs);
        let ended = self.run(&call, &mut |observer, event| {
            if let Event::Done(done, total) = event {
                observer.progress(*done, *total, "");
            }
        })?;
        self.check("matching", ended)
    }

    /// Finds focal lengths where EXIF tells too few of them. Without them the global mapper may
    /// still succeed, so a failure is no end.
    pub fn calibrate(&mut self) -> Result<(), PosesError> {
        self.observer.stage("focal lengths", 0);
        let call = self.program.calibrate(&self.database);
        let ended = self.run(&call, &mut |_, _| {})?;
        if !ended.status.success() {
            self.observer
                .note("focal lengths could not be found before mapping");
        }
        Ok(())
    }

    /// Makes models of the matches, the largest first; none if the photos have too little in
    /// common.
    pub fn map(&mut self, globally: bool, photos: u64) -> Result<Vec<Model>, PosesError> {
        let (name, step) = match globally {
            true => ("poses, globally", "the global mapper"),
            false => ("poses, photo by photo", "the incremental mapper"),
        };
        let models = self
            .work
            .join(if globally { "global" } else { "incremental" });
        std::fs::create_dir_all(&models).map_err(|e| DataError::write(&models, &e))?;
        self.observer.stage(name, photos);
        let call = self
            .program
            .map(globally, &self.database, &self.images, &models);
        let mut phases = 0;
        let ended = self.run(&call, &mut |observer, event| match event {
            Event::Registered(count) => observer.progress(*count, photos, ""),
            Event::Phase(phase) => {
                phases += 1;
                observer.progress(0, photos, &format!("{phase} (phase {phases})"));
            }
            _ => {}
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
