//! What follows the last step: views are measured while scene and state go to disk, then metrics
//! and report are written.

use super::job::Job;
use super::memory::{exchanged, host_memory};
use super::metrics::{self, Measured, Written};
use super::photos::Photos;
use super::poses::{self, Refined};
use super::ready::Ready;
use super::result::{report, write_colours, write_sky};
use super::timeline::Timeline;
use super::writing::SceneWriter;
use crate::commands::eval::measure;
use crate::output::{self, counted};
use crate::ranks::{Account, Rank};
use crate::report::{MeasuredResiduals, Scene, ViewPictures};
use crate::scene_source::Files;
use crate::sharing::{self, Choices, SharedScene};
use crate::sky;
use crate::up::Up;
use anyhow::{Context, Result};
use splatcore_core::{Backend, View};
use splatcore_train::trainer::Residuals;
use splatcore_train::{Evaluation, Extras, Trainer};
use std::sync::Arc;

/// A run at the end of its steps.
pub struct End<'a> {
    pub job: &'a Job,
    /// Of several processes that train together, this one.
    pub rank: Option<&'a Rank>,
    pub files: &'a Files,
    pub ready: &'a Ready,
    pub timeline: &'a Timeline,
    /// What was measured before.
    pub measured: Vec<Measured>,
    /// Why the run ended before its last step, if it did.
    pub stopped: Option<&'static str>,
}

impl End<'_> {
    /// Measures the views, and writes what is not yet being written. `split` is what the views are
    /// called.
    ///
    /// # Errors
    /// What the backend or the disk report.
    pub fn conclude(
        self,
        trainer: &mut Trainer,
        writer: SceneWriter,
        (views, split): (&[View], &'static str),
    ) -> Result<(Written, SharedScene)> {
        let (job, files, ready, timeline) = (self.job, self.files, self.ready, self.timeline);
        let (photos, up) = (&ready.photos, ready.facts.up);
        let (seconds, steps) = (trainer.seconds(), trainer.step());
        // What only this process does must not wait for the others.
        let alone = ready.alone.as_deref().unwrap_or(&*ready.backend);
        let refined = Refined::of(trainer, alone, photos);
        let views = poses::measured(refined.as_ref(), photos, views);
        let found = timeline.time("measure", || self.measure(trainer, &views));
        let residuals = timeline.time("compare photos trained on", || trainer.residuals());
        // Whatever else goes wrong, what can be had is written, the state first.
        let saved = timeline.time("wait for the checkpoint", || trainer.wait_saved(&mut ()));
        let scene = timeline.time("wait for the scene", || writer.wait())?;
        let (mut evaluation, pictures) = found?;
        let residuals = of_photos(&residuals?, trainer);
        residuals.tell();
        evaluation.gaussians = scene.gaussians().len();
        let mut measured = self.measured;
        measured.push(Measured::at(steps, &evaluation));
        let refined = refined.as_ref();
        let cameras = poses::conclude(refined, trainer, job, &ready.dataset, photos, &evaluation)?;
        let metrics = Written {
            host_memory: host_memory(trainer)?,
            exchanged: exchanged(trainer),
            ranks: accounts(self.rank, trainer)?,
            evaluation,
            split,
            seconds,
            steps,
            residuals,
            cameras,
            colours: write_colours(trainer, files)?,
            breakdown: trainer.breakdown(),
            stopped: self.stopped,
            curve: metrics::curve(trainer.curve()),
            measured,
            timeline: timeline.phases(),
        };
        output::write_json(&files.metrics, &metrics)?;
        write_sky(trainer, files)?;
        let shown = shown_scene(job, up, &scene, &views);
        let about = about(job, photos, &*ready.backend);
        report(&metrics, &about, trainer, shown, pictures)?.write(&files.report)?;
        say_what_was_spent(trainer);
        saved.with_context(|| {
            let scene = files.scene.display();
            format!("{scene} is complete, but not the state behind it, which --resume needs")
        })?;
        Ok((metrics, scene))
    }

    fn measure(
        &self,
        trainer: &mut Trainer,
        views: &[View],
    ) -> Result<(Evaluation, Vec<ViewPictures>)> {
        let region = trainer.region();
        let (renderer, options) = trainer.renderer()?;
        let extras = Extras {
            align_colour: self.ready.config.loss.colour.is_some(),
            region,
            ..Extras::default()
        };
        measure(renderer, views, &options, extras, true)
    }
}

/// What each of several processes used.
fn accounts(rank: Option<&Rank>, trainer: &mut Trainer) -> Result<Vec<Account>> {
    let Some(rank) = rank else {
        return Ok(Vec::new());
    };
    let own = rank.account(trainer)?;
    Ok(rank.accounts(own))
}

/// How well the scene shows the photos trained on, by their names.
fn of_photos(residuals: &Residuals, trainer: &Trainer) -> MeasuredResiduals {
    let named = residuals.psnr.iter().filter_map(|&(view, psnr)| {
        let view = trainer.views().get(view)?;
        Some((view.name.clone(), psnr))
    });
    MeasuredResiduals::of(residuals.reduced_by, named.collect())
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
