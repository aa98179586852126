//! The names of a run's files.

use anyhow::{Result, bail};
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

    /// Removes those that there are.
    pub fn remove(&self) -> Result<()> {
        let model = ["cameras.txt", "images.txt", "points3D.txt"];
        let model = model.map(|name| self.colmap.join(name));
        for path in [
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
        .into_iter()
        .chain(&model)
        {
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
