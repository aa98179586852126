//! What actions ask of the dataset: where its cameras are, and what they see.

use crate::backends::BackendArgs;
use crate::load;
use crate::output::counted;
use anyhow::{Context, Result, bail};
use splatcore_core::backend::{Learner, Refine, RenderOptions};
use splatcore_core::{Camera, Gaussians};
use splatcore_data::dataset::{Dataset, LoadOptions, Split};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which photos are asked.
#[derive(clap::Args)]
pub struct PhotosArgs {
    /// The photos that the scene was made of, for --prune-floaters, --max-scale, --up and --metric
    #[arg(long, value_name = "DATASET")]
    dataset: Option<PathBuf>,
    /// Whose cameras tell: those of all photos, or without the held-out ones (train), so that these
    /// can measure the result
    #[arg(long, value_name = "SPLIT", default_value_t = Split::All, requires = "dataset")]
    split: Split,
    /// Every Nth photo is held out [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N", requires = "dataset")]
    test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER", requires = "dataset")]
    images: Option<String>,
    /// Look at this many pixels on the longer side. Time falls with the square, and hardly what is
    /// found
    #[arg(long, value_name = "PX", default_value_t = 960, requires = "dataset",
          value_parser = clap::value_parser!(u32).range(1..))]
    max_size: u32,
}

impl PhotosArgs {
    /// Whether there is a dataset to ask.
    pub fn is_given(&self) -> bool {
        self.dataset.is_some()
    }
}

/// The dataset of `--dataset`, opened when it is first asked.
pub struct Photos<'a> {
    args: &'a PhotosArgs,
    backend: &'a BackendArgs,
    dataset: OnceCell<Dataset>,
}

impl<'a> Photos<'a> {
    pub fn new(args: &'a PhotosArgs, backend: &'a BackendArgs) -> Self {
        Self {
            args,
            backend,
            dataset: OnceCell::new(),
        }
    }

    fn folder(&self) -> Result<&Path> {
        let folder = self.args.dataset.as_deref();
        folder.context("add --dataset DIR, the photos that the scene was made of")
    }

    fn dataset(&self) -> Result<&Dataset> {
        if let Some(dataset) = self.dataset.get() {
            return Ok(dataset);
        }
        let dataset = load::dataset(self.folder()?, self.args.images.as_deref(), 0)?;
        Ok(self.dataset.get_or_init(|| dataset))
    }

    /// The mean direction that is up in the photos, in their world.
    pub fn up(&self) -> Result<[f64; 3]> {
        let mut sum = [0.0; 3];
        let cameras = self
            .dataset()?
            .entries
            .iter()
            .map(|entry| &entry.camera.camera);
        for Camera { rotation, .. } in cameras {
            // Image rows go down: up is minus the second row of world to camera.
            (0..3).for_each(|c| sum[c] -= rotation[1][c]);
        }
        let count = self.dataset()?.entries.len() as f64;
        let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length < 0.1 * count {
            bail!(
                "{}: the photos have no common up; write --up with a direction",
                self.folder()?.display()
            );
        }
        Ok(sum.map(|v| v / length))
    }

    /// Where two photos were taken, in their world.
    pub fn positions(&self, names: &[String; 2]) -> Result<[[f64; 3]; 2]> {
        let dataset = self.dataset()?;
        let find = |name: &String| {
            let found = dataset.entries.iter().find(|entry| entry.name == *name);
            match found {
                Some(entry) => Ok(entry.camera.camera.position()),
                None => bail!(
                    "{}: has no photo {name}; `splatcore info` shows how they are named",
                    self.folder()?.display()
                ),
            }
        };
        let both = [find(&names[0])?, find(&names[1])?];
        if both[0] == both[1] {
            bail!(
                "{} and {} were taken at one place; choose two places",
                names[0],
                names[1]
            );
        }
        Ok(both)
    }

    /// A learner of the scene that sees the photos.
    fn learner(&self, scene: &Path, gaussians: &Gaussians) -> Result<Box<dyn Learner>> {
        let (args, folder) = (self.args, self.folder()?);
        let (background, test_every) = load::settings_of(scene, None, args.test_every);
        let dataset = self.dataset()?;
        let indices = load::select(dataset, folder, args.split, test_every)?;
        let options = LoadOptions {
            max_size: Some(args.max_size),
            background: background.colour(),
            keep_alpha: false,
        };
        let views = load::views(dataset, &indices, &options)?;
        Ok(self.backend.open()?.learner(gaussians, Arc::new(views))?)
    }

    /// The scene without its floaters; `scene` is the file whose run tells the background.
    pub fn without_floaters(
        &self,
        scene: &Path,
        gaussians: Gaussians,
        antialias: bool,
        depth_share: f32,
    ) -> Result<Gaussians> {
        let mut learner = self.learner(scene, &gaussians)?;
        let report = learner.refine(&Refine::PruneFloaters {
            render: RenderOptions {
                antialias,
                ..RenderOptions::default()
            },
            depth_share,
        })?;
        eprintln!(
            "left out {} of {}",
            counted(report.pruned, "floater"),
            counted(gaussians.len(), "Gaussian")
        );
        drop(gaussians);
        Ok(learner.snapshot()?.gaussians)
    }

    /// The scene with no Gaussian larger than a share of its distance to the nearest camera.
    pub fn with_limited_scales(
        &self,
        scene: &Path,
        gaussians: Gaussians,
        share: f32,
    ) -> Result<Gaussians> {
        let mut learner = self.learner(scene, &gaussians)?;
        learner.refine(&Refine::LimitScales { share })?;
        let limited = learner.snapshot()?.gaussians;
        let both = gaussians.log_scales.iter().zip(&limited.log_scales);
        eprintln!(
            "made {} of {} smaller",
            both.filter(|(was, is)| was != is).count(),
            counted(limited.len(), "Gaussian")
        );
        Ok(limited)
    }
}
