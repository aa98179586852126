//! The numbers of one pipeline.

use super::samples::{Samples, add, median};
use super::steps::Steps;
use crate::cameras::NamedCamera;
use splatcore_core::backend::{BackendError, FrameCounts, RenderOptions, Renderer, StageTimes};
use splatcore_core::{Image, Photo, Pipeline, metrics};
use splatcore_papers::{Row, StagesMs, is_backward};
use std::time::Instant;

/// Images with the same bits have an infinite PSNR, which JSON cannot hold.
const SAME_BITS: f64 = 120.0;

/// What is timed, and how.
pub struct Timing<'a> {
    pub renderer: &'a mut dyn Renderer,
    /// Renders the reference, if not `renderer`.
    pub full: Option<&'a mut dyn Renderer>,
    /// Also the backward pass and training steps, if there.
    pub steps: Option<&'a mut Steps>,
    pub cameras: &'a [NamedCamera],
    /// Images are compared with those of these options.
    pub reference: RenderOptions,
    pub passes: u32,
    /// Pipelines of whose images SSIM is measured too.
    pub ssim: &'a [Pipeline],
    /// Called after every pass of a pipeline.
    pub tick: &'a mut dyn FnMut(Pipeline),
}

/// Passes over the cameras that [`Timing::rows`] makes for one pipeline.
pub fn passes(timed: u32, backward: bool) -> u64 {
    let kinds = if backward { 4 } else { 2 };
    1 + kinds * timed as u64
}

/// A row, or why there is none: the backend lacks the pipeline, or the memory for it.
pub type Measured = Result<Row, BackendError>;

/// What has been measured of one pipeline.
struct Subject<'a> {
    options: &'a RenderOptions,
    totals: FrameCounts,
    /// Summed over the cameras, as far as they have photos of their size.
    psnr: f64,
    psnr_worst: f64,
    psnr_photos: f64,
    photos: usize,
    /// Summed likewise, if wanted: against the reference, against the photos.
    ssim: Option<[f64; 2]>,
    stages: Samples,
    forward: Vec<f64>,
    backward: Vec<f64>,
    /// Wall-clock seconds of each pass.
    frames: Vec<f64>,
    steps: Option<(f64, StagesMs)>,
    missing: Option<BackendError>,
}

impl<'a> Subject<'a> {
    fn new(options: &'a RenderOptions, ssim: bool) -> Self {
        Self {
            options,
            ssim: ssim.then_some([0.0; 2]),
            totals: FrameCounts::default(),
            psnr: 0.0,
            psnr_worst: SAME_BITS,
            psnr_photos: 0.0,
            photos: 0,
            stages: Samples::default(),
            forward: Vec::new(),
            backward: Vec::new(),
            frames: Vec::new(),
            steps: None,
            missing: None,
        }
    }

    fn into_row(self, views: f64, with_backward: bool) -> Measured {
        if let Some(error) = self.missing {
            return Err(error);
        }
        let (mut forward, mut behind, mut frames) = (self.forward, self.backward, self.frames);
        let stages = self.stages.medians(views);
        let totals = self.totals;
        let per_frame = |total: u64| (total as f64 / views).round() as u64;
        let ns_per_blended = |stage: &str| {
            let found = stages.iter().find(|(name, _)| *name == stage);
            found.map_or(0.0, |s| s.1) * 1e6 / (totals.fragments_blended as f64 / views).max(1.0)
        };
        let (step_ms, step_stages) = match self.steps {
            Some((ms, stages)) => (Some(ms), stages),
            None => (None, Vec::new()),
        };
        let Pipeline {
            intersect,
            blend,
            backward,
        } = self.options.pipeline;
        // A mean over some of the cameras would not compare with one over all of them.
        let all_photos = self.photos as f64 == views;
        Ok(Row {
            pipeline: self.options.pipeline,
            intersect: intersect.to_string(),
            blend: blend.to_string(),
            backward: backward.to_string(),
            gpu_ms: median(&mut forward) * 1e3 / views,
            frame_ms: median(&mut frames) * 1e3 / views,
            backward_ms: with_backward.then(|| median(&mut behind) * 1e3 / views),
            step_ms,
            step_stages,
            psnr_vs_reference: self.psnr / views,
            psnr_vs_reference_worst: self.psnr_worst,
            psnr_vs_photos: all_photos.then(|| self.psnr_photos / views),
            ssim_vs_reference: self.ssim.map(|ssim| ssim[0] / views),
            ssim_vs_photos: self.ssim.filter(|_| all_photos).map(|ssim| ssim[1] / views),
            visible: per_frame(totals.visible),
            pairs: per_frame(totals.pairs),
            fragments_evaluated: per_frame(totals.fragments_evaluated),
            fragments_blended: per_frame(totals.fragments_blended),
            warps_visited: totals.warps.map(|warps| per_frame(warps.visited)),
            warps_blended: totals.warps.map(|warps| per_frame(warps.blended)),
            ns_per_blended: ns_per_blended("blend"),
            ns_per_blended_backward: with_backward.then(|| ns_per_blended("blend_backward")),
            stages,
        })
    }
}

/// Passes in a row with an empty frame before timing gives up; after each there is more room.
const ATTEMPTS: usize = 4;

impl Timing<'_> {
    /// Everything about each pipeline, in the order given. The pipelines take turns, a pass each,
    /// so that a clock that drifts hits all of them alike.
    ///
    /// # Errors
    /// What the backend reports, but for what it lacks: that is told in place of the row, before
    /// any time is spent on timing.
    pub fn rows(&mut self, pipelines: &[RenderOptions]) -> Result<Vec<Measured>, BackendError> {
        let subject = |options| Subject::new(options, self.ssim.contains(&options.pipeline));
        let mut subjects: Vec<Subject> = pipelines.iter().map(subject).collect();
        self.warm_up(&mut subjects)?;
        for _ in 0..self.passes {
            for subject in present(&mut subjects) {
                self.stage_pass(subject)?;
                (self.tick)(subject.options.pipeline);
            }
        }
        for _ in 0..self.passes {
            for subject in present(&mut subjects) {
                self.frame_pass(subject)?;
                (self.tick)(subject.options.pipeline);
            }
        }
        if let Some(steps) = &mut self.steps {
            for subject in present(&mut subjects) {
                let options = subject.options;
                let mut tick = || (self.tick)(options.pipeline);
                subject.steps = Some(steps.time(options, self.passes, &mut tick)?);
            }
        }
        let (views, backward) = (self.cameras.len() as f64, self.steps.is_some());
        Ok(subjects
            .into_iter()
            .map(|s| s.into_row(views, backward))
            .collect())
    }

    /// One pass that counts and compares.
    fn warm_up(&mut self, subjects: &mut [Subject]) -> Result<(), BackendError> {
        for (i, named) in self.cameras.iter().enumerate() {
            let full = self.full.as_deref_mut().unwrap_or(&mut *self.renderer);
            let expected = full.render(&named.camera, &self.reference)?.image;
            for subject in present(subjects) {
                match self.warm_up_view(i, subject, &expected) {
                    Err(
                        error @ (BackendError::Unsupported { .. }
                        | BackendError::OutOfMemory { .. }),
                    ) => {
                        subject.missing = Some(error);
                    }
                    other => other?,
                }
            }
        }
        for subject in subjects {
            let skipped = match subject.missing {
                Some(_) => passes(self.passes, self.steps.is_some()),
                None => 1,
            };
            for _ in 0..skipped {
                (self.tick)(subject.options.pipeline);
            }
        }
        Ok(())
    }

    fn warm_up_view(
        &mut self,
        i: usize,
        subject: &mut Subject,
        expected: &Image,
    ) -> Result<(), BackendError> {
        let NamedCamera { camera, photo, .. } = &self.cameras[i];
        let options = subject.options;
        // First of all, for it tells whether the backend has the pipeline.
        self.renderer
            .stage_times(camera, options, self.steps.is_some())?;
        if let Some(steps) = &mut self.steps {
            steps.step(i, options)?;
        }
        let counts = self.renderer.counts(camera, options)?;
        let totals = &mut subject.totals;
        totals.visible += counts.visible;
        totals.pairs += counts.pairs;
        totals.fragments_evaluated += counts.fragments_evaluated;
        totals.fragments_blended += counts.fragments_blended;
        if let Some(warps) = counts.warps {
            let sums = totals.warps.get_or_insert_default();
            sums.visited += warps.visited;
            sums.blended += warps.blended;
        }
        let image: Image = self.renderer.render(camera, options)?.image;
        let psnr = decibels(metrics::psnr_between(&image, expected));
        subject.psnr += psnr;
        subject.psnr_worst = subject.psnr_worst.min(psnr);
        let fits = |photo: &&Photo| (photo.width, photo.height) == (camera.width, camera.height);
        let photo = photo.as_ref().filter(fits);
        if let Some(photo) = photo {
            subject.psnr_photos += decibels(metrics::psnr(&image, photo));
            subject.photos += 1;
        }
        if let Some([reference, photos]) = &mut subject.ssim {
            let (a, b) = rayon::join(
                || metrics::ssim_between(&image, expected),
                || photo.map_or(0.0, |photo| metrics::ssim(&image, photo)),
            );
            *reference += number(a);
            *photos += number(b);
        }
        Ok(())
    }

    /// The times of the stages of every view.
    fn stage_pass(&mut self, subject: &mut Subject) -> Result<(), BackendError> {
        let backward = self.steps.is_some();
        let mut pass = StageTimes::new();
        for NamedCamera { camera, .. } in self.cameras {
            add(
                &mut pass,
                self.renderer
                    .stage_times(camera, subject.options, backward)?,
            );
        }
        let sum = |wanted: bool| -> f64 {
            let stages = pass.iter().filter(|(name, _)| is_backward(name) == wanted);
            stages.map(|(_, seconds)| seconds).sum()
        };
        subject.forward.push(sum(false));
        subject.backward.push(sum(true));
        subject.stages.push(pass);
        Ok(())
    }

    /// From one frame to the next when a device is kept busy, by the wall clock.
    fn frame_pass(&mut self, subject: &mut Subject) -> Result<(), BackendError> {
        // Whatever the change of pipeline costs is no part of a frame.
        if let Some(first) = self.cameras.first() {
            self.renderer.render_only(&first.camera, subject.options)?;
        }
        self.renderer.finish()?;
        // A frame without enough room for its lists is empty, and fast: its pass does not count.
        for _ in 0..ATTEMPTS {
            let start = Instant::now();
            for NamedCamera { camera, .. } in self.cameras {
                self.renderer.render_only(camera, subject.options)?;
            }
            if self.renderer.finish()? {
                subject.frames.push(start.elapsed().as_secs_f64());
                return Ok(());
            }
        }
        Err(BackendError::Input(format!(
            "{}: frames were left empty in each of {ATTEMPTS} passes, for lack of room for their \
             lists: no time can be given",
            subject.options.pipeline
        )))
    }
}

/// Those that the backend has.
fn present<'a, 'b>(subjects: &'b mut [Subject<'a>]) -> impl Iterator<Item = &'b mut Subject<'a>> {
    subjects
        .iter_mut()
        .filter(|subject| subject.missing.is_none())
}

/// PSNR that JSON can hold; an image with a NaN has none, which counts as 0 dB.
fn decibels(psnr: f64) -> f64 {
    number(psnr).min(SAME_BITS)
}

/// What an image with a NaN has counts as 0.
fn number(quality: f64) -> f64 {
    if quality.is_nan() { 0.0 } else { quality }
}

#[cfg(test)]
mod tests;
