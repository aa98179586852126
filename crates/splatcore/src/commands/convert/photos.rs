//! What actions ask of the dataset: where its cameras are, and what they see.

use crate::backends::BackendArgs;
use crate::cameras::named::meant;
use crate::load;
use crate::output::counted;
use crate::scene_source::SceneSource;
use crate::up::{Evidence, Up};
use anyhow::{Context, Result, bail};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Learner, Refine, RenderOptions};
use splatcore_data::dataset::{Dataset, LoadOptions, Split};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which photos are asked.
#[derive(clap::Args)]
pub struct PhotosArgs {
    /// The photos that the scene was made of, for --prune-floaters, --max-scale, --up and --metric
    /// [those of the run]
    #[arg(long, value_name = "DATASET")]
    pub dataset: Option<PathBuf>,
    /// Whose cameras tell: those of all photos, or without the held-out ones (train), so that these
    /// can measure the result [all]
    #[arg(long, value_name = "SPLIT")]
    pub split: Option<Split>,
    /// Every Nth photo is held out [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N")]
    pub test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<String>,
    /// Look at this many pixels on the longer side [960]. Time falls with the square, and hardly
    /// what is found
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_size: Option<u32>,
}

/// Pixels on the longer side that are looked at.
const MAX_SIZE: u32 = 960;

/// The dataset of `--dataset`, or of the run of the first scene that has one, opened when it is
/// first asked.
pub struct Photos<'a> {
    args: &'a PhotosArgs,
    backend: &'a BackendArgs,
    sources: &'a [SceneSource],
    dataset: OnceCell<(Dataset, PathBuf)>,
}

impl<'a> Photos<'a> {
    pub fn new(args: &'a PhotosArgs, backend: &'a BackendArgs, sources: &'a [SceneSource]) -> Self {
        Self {
            args,
            backend,
            sources,
            dataset: OnceCell::new(),
        }
    }

    /// Whether a dataset is known and there, before anything is read.
    pub fn check(&self) -> Result<()> {
        let typed = self.args.dataset.as_deref();
        self.source()?.check_dataset(typed).map(drop)
    }

    /// The scene whose dataset it is.
    fn source(&self) -> Result<&SceneSource> {
        let known = self.sources.iter().find(|s| s.facts().dataset.is_some());
        known
            .or(self.sources.first())
            .context("give a scene to read")
    }

    fn opened(&self) -> Result<&(Dataset, PathBuf)> {
        if let Some(opened) = self.dataset.get() {
            return Ok(opened);
        }
        let (typed, images) = (self.args.dataset.as_deref(), self.args.images.as_deref());
        let opened = self.source()?.needs_dataset(typed, images)?;
        Ok(self.dataset.get_or_init(|| opened))
    }

    fn folder(&self) -> Result<&Path> {
        Ok(&self.opened()?.1)
    }

    fn dataset(&self) -> Result<&Dataset> {
        Ok(&self.opened()?.0)
    }

    /// The direction that is up in the photos, in their world.
    pub fn up(&self) -> Result<[f64; 3]> {
        let up = Up::of_dataset(self.dataset()?);
        if up.from == Evidence::Assumed {
            bail!(
                "{}: the photos have no common up; write --up with a direction",
                self.folder()?.display()
            );
        }
        Ok(up.direction)
    }

    /// Where two photos were taken, in their world.
    pub fn positions(&self, names: &[String; 2]) -> Result<[[f64; 3]; 2]> {
        let dataset = self.dataset()?;
        let all = &dataset.entries;
        let find = |name: &String| {
            let found = meant(all.iter().map(|entry| &*entry.name), name);
            match all.iter().find(|entry| Some(&*entry.name) == found) {
                Some(entry) => Ok(entry.camera.position()),
                None => bail!(
                    "{}: has no photo {name}; it has {}, such as {}",
                    self.folder()?.display(),
                    all.len(),
                    all.first().map_or("", |entry| &*entry.name)
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
        let source = SceneSource::find(scene)?;
        let (background, test_every) = source.settings(None, args.test_every);
        let dataset = self.dataset()?;
        let indices = load::select(
            dataset,
            folder,
            args.split.unwrap_or(Split::All),
            test_every,
        )?;
        let options = LoadOptions {
            max_size: Some(args.max_size.unwrap_or(MAX_SIZE)),
            background: background.colour(),
            ..LoadOptions::default()
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
        learner.refine(&Refine::LimitScales { share, floor: 0.0 })?;
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
