//! What every stage of the command needs, and the stages that render or train.

use super::args::Args;
use super::report::Measured;
use crate::commands::eval::measure;
use crate::held_out;
use crate::interrupt::Guard;
use crate::load;
use crate::output::{counted, duration};
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use anyhow::Result;
use splatcore_core::backend::{RenderOptions, Renderer, Visibility};
use splatcore_core::sky::Sky;
use splatcore_core::{Backend, Gaussians, Pipeline, View};
use splatcore_data::dataset::{LoadOptions, Split};
use splatcore_train::config::Background;
use splatcore_train::{Config, Extras, Observer, Outcome, Signal, Trainer, prune};
use std::sync::Arc;

/// What every stage needs.
pub(super) struct Work {
    pub(super) backend: Box<dyn Backend>,
    train: Arc<Vec<View>>,
    /// Held out; those of `train` if there are none.
    test: Arc<Vec<View>>,
    background: Background,
    sky: Option<Arc<Sky>>,
    pub(super) antialias: bool,
}

/// Opens the backend and decodes the photos; also how the split that measures is called.
pub(super) fn prepare(
    args: &Args,
    source: &SceneSource,
    antialias: bool,
) -> Result<(Work, &'static str)> {
    let typed = args.dataset.as_deref();
    let (dataset, folder) = source.needs_dataset(typed, args.images.as_deref())?;
    let backend = args.backend.open()?;
    let (background, test_every) = source.settings(args.background, args.test_every);
    let options = LoadOptions {
        max_size: args.max_size.or(source.max_size()),
        background: background.colour(),
        // What they stand on changes with the step.
        keep_alpha: background == Background::Random,
        keep_lens: source.keep_lens(None),
        ..LoadOptions::default()
    };
    load::say_declared(&dataset, args.test_every);
    let train = load::select(&dataset, &folder, Split::Train, test_every)?;
    let [train, test] = load::train_and_test(&dataset, train, test_every as usize, &options)?;
    let train = Arc::new(train);
    let (test, split) = match test.is_empty() {
        true => {
            eprintln!(
                "no photo is held out: quality is measured on the photos that teach, which \
                 flatters it"
            );
            (Arc::clone(&train), "train")
        }
        false => {
            held_out::check(source, test.iter().map(|view| &*view.name));
            (Arc::new(test), "test")
        }
    };
    let work = Work {
        backend,
        train,
        test,
        background,
        sky: source.sky(args.background)?,
        antialias,
    };
    Ok((work, split))
}

impl Work {
    fn options(&self, pipeline: Pipeline) -> RenderOptions {
        RenderOptions {
            pipeline,
            background: self.background.colour(),
            sky: self.sky.clone(),
            antialias: self.antialias,
            ..RenderOptions::default()
        }
    }

    pub(super) fn measure_scene(&self, gaussians: &Gaussians) -> Result<Measured> {
        self.measure(&mut *self.backend.renderer(gaussians)?, gaussians)
    }

    /// `renderer` is of `gaussians`.
    pub(super) fn measure(
        &self,
        renderer: &mut dyn Renderer,
        gaussians: &Gaussians,
    ) -> Result<Measured> {
        let options = self.options(Pipeline::MEASURED);
        let (found, _) = measure(renderer, &self.test, &options, Extras::default(), false)?;
        Ok(Measured {
            psnr: found.psnr,
            ssim: found.ssim,
            gaussians: gaussians.len(),
            sh_degree: gaussians.sh_degree,
            bytes: None,
        })
    }

    /// How much of each Gaussian of the renderer's scene the training photos show.
    pub(super) fn shown(&self, renderer: &mut dyn Renderer) -> Result<Visibility> {
        let (progress, options) = self.over_views("scoring");
        let shown = prune::visibility(renderer, &self.train, &options, &mut |done| {
            progress.update(done as u64, String::new)
        })?;
        Ok(shown)
    }

    /// The scene with harmonics up to a lower degree.
    pub(super) fn reduced(&self, gaussians: &Gaussians, degree: u8) -> Result<Gaussians> {
        let mut renderer = self.backend.renderer(gaussians)?;
        let (progress, options) = self.over_views("fitting harmonics");
        let (views, tell) = (&self.train, &mut |done: usize| {
            progress.update(done as u64, String::new)
        });
        let reduced = prune::reduced(gaussians, degree, &mut *renderer, views, &options, tell)?;
        Ok(reduced)
    }

    fn over_views(&self, what: &str) -> (Progress, RenderOptions) {
        let progress = Progress::new(what, self.train.len() as u64);
        (progress, self.options(Pipeline::AUTO))
    }

    /// The scene after the steps of a config, whose name the progress bar has.
    pub(super) fn trained(
        &self,
        gaussians: Gaussians,
        config: Config,
        name: &str,
        guard: &Guard,
    ) -> Result<Gaussians> {
        let config = Config {
            background: Some(self.background),
            antialias: Some(self.antialias),
            ..config
        };
        let config = config.resolve()?;
        let steps = config.iterations;
        let views = Arc::clone(&self.train);
        let mut trainer = Trainer::new(&config, &*self.backend, views, gaussians)?;
        trainer.stand_before(self.sky.clone());
        let mut watch = Watch {
            progress: Progress::new(name, steps.into()),
            guard,
        };
        let outcome = trainer.run(&mut watch)?;
        drop(watch);
        if let Outcome::Interrupted { step } = outcome {
            eprintln!("stopped at step {step} of {steps}; the scene is written as it is");
        }
        let mut gaussians = trainer.scene()?;
        let unsound = gaussians.drop_unsound();
        if unsound > 0 {
            eprintln!(
                "warning: {} with a value that is not finite left out",
                counted(unsound, "Gaussian")
            );
        }
        Ok(gaussians)
    }
}

/// Shows progress and hears Ctrl-C.
struct Watch<'a> {
    progress: Progress,
    guard: &'a Guard,
}

impl Observer for Watch<'_> {
    fn signal(&mut self) -> Signal {
        match self.guard.stop_requested() {
            true => Signal::Stop,
            false => Signal::Continue,
        }
    }

    fn progress(&mut self, p: &splatcore_train::Progress) -> Signal {
        self.progress.update(p.step.into(), || {
            format!("{} left, loss {:.4}", duration(p.seconds_left), p.loss)
        });
        Signal::Continue
    }
}
