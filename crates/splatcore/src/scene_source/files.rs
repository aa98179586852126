//! The names of a run's files.

use super::beside::{beside, folder_of, of_old};
use anyhow::{Result, bail};
use splatcore_data::lock;
use std::path::{Path, PathBuf};

/// Names of the files of a run, in its folder.
pub struct Files {
    /// The Gaussians.
    pub scene: PathBuf,
    /// The Gaussians once more, small, if the preset asks for it.
    pub sog: PathBuf,
    /// Quality, time, steps.
    pub metrics: PathBuf,
    /// Settings that reproduce the run.
    pub config: PathBuf,
    /// To go on from.
    pub checkpoint: PathBuf,
    /// For people.
    pub report: PathBuf,
    /// The photos' transforms of colours, if the run learns the affine model.
    pub exposures: PathBuf,
    /// What photos and cameras made of colours, if the run learns another model.
    pub appearance: PathBuf,
    /// The photos' numbers of a model that has very many.
    pub grids: PathBuf,
    /// Which of the photos' looks a view without a photo has, if what they show says it.
    pub controller: PathBuf,
    /// The sky behind the scene, if the run learns one.
    pub sky: PathBuf,
    /// The photos' cameras.
    pub cameras: PathBuf,
    /// The same cameras for nerfstudio, of a run that refined them.
    pub transforms: PathBuf,
    /// The folder of a COLMAP model with them, likewise.
    pub colmap: PathBuf,
    /// Dataset, up, the view to begin with.
    pub run: PathBuf,
}

impl Files {
    /// The files of the run in `folder`.
    pub fn of(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            scene: file("scene.ply"),
            sog: file("scene.sog"),
            metrics: file("metrics.json"),
            config: file("config.toml"),
            checkpoint: file("checkpoint.safetensors"),
            report: file("report.html"),
            exposures: file("exposures.json"),
            appearance: file("appearance.json"),
            grids: file("appearance.npy"),
            controller: file("controller.json"),
            sky: file("sky.json"),
            cameras: file("cameras.json"),
            transforms: file("transforms.json"),
            colmap: file("colmap"),
            run: file("run.json"),
        }
    }

    /// Whether a run was begun in the folder. Else files of these names are somebody's own.
    pub fn hold_run(&self) -> bool {
        [&self.config, &self.checkpoint, &self.run]
            .iter()
            .any(|file| file.is_file())
    }

    /// Whether `folder` holds what a run writes before its first step and nothing else: no work is
    /// lost with it.
    pub fn hold_a_beginning(&self, folder: &Path) -> bool {
        let begun = [&self.run, &self.config, &self.cameras];
        let Ok(mut entries) = std::fs::read_dir(folder) else {
            return false;
        };
        self.run.is_file()
            && entries.all(|entry| {
                entry.is_ok_and(|entry| {
                    lock::is_lock(&entry.file_name()) || begun.contains(&&entry.path())
                })
            })
    }

    /// All but the COLMAP model.
    fn all(&self) -> [&PathBuf; 14] {
        [
            &self.scene,
            &self.sog,
            &self.metrics,
            &self.config,
            &self.checkpoint,
            &self.report,
            &self.exposures,
            &self.appearance,
            &self.grids,
            &self.controller,
            &self.sky,
            &self.cameras,
            &self.transforms,
            &self.run,
        ]
    }

    /// The files of the COLMAP model.
    fn model(&self) -> [PathBuf; 3] {
        ["cameras.txt", "images.txt", "points3D.txt"].map(|name| self.colmap.join(name))
    }

    /// Refuses to begin a run that would replace what no run wrote: a file that the dataset was
    /// read from, or in a folder without a run a file of one of these names.
    ///
    /// # Errors
    /// Names the file.
    pub fn check_own(&self, dataset: &[PathBuf]) -> Result<()> {
        let place = |path: &Path| path.canonicalize().ok();
        let read: Vec<PathBuf> = dataset.iter().filter_map(|file| place(file)).collect();
        let model = self.model();
        for file in self.all().into_iter().chain(&model).chain([&self.colmap]) {
            let Some(found) = place(file) else {
                continue;
            };
            // Somebody's own folder of that name may hold a model elsewhere in it.
            let keeps = self.hold_run() || *file == self.colmap;
            let whose = match (read.contains(&found), keeps) {
                (true, _) => "belongs to the photos",
                (false, false) => "is of no run that is known here",
                (false, true) => continue,
            };
            bail!(
                "{}: {whose}, and a run writes a file of that name; choose another folder with -o",
                file.display()
            );
        }
        Ok(())
    }

    /// Refuses the name of a file to write, given with `flag`, that the run in its folder has for
    /// one of its own.
    ///
    /// # Errors
    /// Names the file.
    pub fn check_not_own(file: &Path, flag: &str) -> Result<()> {
        let files = Self::of(folder_of(file));
        if files.hold_run()
            && files
                .all()
                .iter()
                .any(|own| own.file_name() == file.file_name())
        {
            bail!(
                "{}: is a file of the run in that folder; choose another name with {flag}",
                file.display()
            );
        }
        Ok(())
    }

    /// Removes the files of the run that the folder holds, and what was recorded beside its scene.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn remove(&self) -> Result<()> {
        if !self.hold_run() {
            return Ok(());
        }
        let model = self.model();
        let beside = [&self.scene, &self.sog].map(|scene| beside(scene));
        let own = [&self.scene, &self.sog];
        let is_own = |file: &PathBuf| own.contains(&file);
        let of_old = of_old(&self.scene);
        let old = of_old.filter(|of_old| of_old.sharers.iter().all(is_own));
        let old = old.map(|of_old| of_old.file);
        let others = model.iter().chain(&beside).chain(&old);
        for path in self.all().into_iter().chain(others) {
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
        // If nothing else is in it.
        let _ = std::fs::remove_dir(&self.colmap);
        Ok(())
    }
}
