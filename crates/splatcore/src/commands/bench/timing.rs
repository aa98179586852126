//! The numbers of one pipeline.

use super::samples::{Samples, add, median};
use super::steps::Steps;
use crate::cameras::NamedCamera;
use splatcore_core::backend::{
    BackendError, RenderOptions, Renderer, StageTimes, StripCounts, Timed,
};
use splatcore_core::pipeline::Blend;
use splatcore_core::{Image, Photo, Pipeline, metrics};
use splatcore_papers::{Row, StagesMs, is_backward};
use splatcore_train::Lpips;
use std::panic::resume_unwind;
use std::thread;
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
    /// Images are compared with those of these options, if there.
    pub reference: Option<RenderOptions>,
    pub passes: u32,
    /// Pipelines of whose images SSIM is measured too.
    pub ssim: &'a [Pipeline],
    /// The same of LPIPS, with its weights.
    pub lpips: Option<(&'a Lpips, &'a [Pipeline])>,
    /// Called after every pass of a pipeline, and after every image of the reference.
    pub tick: &'a mut (dyn FnMut(Done) + Send),
}

/// What has been done.
#[derive(Clone, Copy)]
pub enum Done {
    /// An image of the reference.
    Reference,
    /// A pass over the cameras.
    Pass(Pipeline),
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Done::Reference => f.write_str("the reference"),
            Done::Pass(pipeline) => pipeline.fmt(f),
        }
    }
}

/// What the images are compared with: vanilla's. The CPU blends vanilla's lists with sub-tile
/// culling, as [`Pipeline::VANILLA`] itself tests every pixel of every box there and takes minutes
/// for a large image; both are in f32, and the images are the same but for roundings (more than
/// 130 dB, `splatcore-cpu/tests/it/vanilla.rs`).
pub fn reference(backend: &str) -> Pipeline {
    match backend {
        "cpu" => Pipeline {
            blend: Blend::Subtile,
            ..Pipeline::VANILLA
        },
        _ => Pipeline::VANILLA,
    }
}

/// Passes over the cameras that [`Timing::rows`] makes for one pipeline.
pub fn passes(timed: u32, backward: bool) -> u64 {
    let kinds = if backward { 5 } else { 3 };
    1 + kinds * timed as u64
}

/// A row, or why there is none: the backend lacks the pipeline, or the memory for it.
pub type Measured = Result<Row, BackendError>;

/// What has been measured of one pipeline.
struct Subject<'a> {
    options: &'a RenderOptions,
    totals: Totals,
    /// Of each camera, if there is a reference.
    psnr: Vec<f64>,
    /// Of each camera that has a photo of its size.
    psnr_photos: Vec<f64>,
    /// The same two of SSIM, if it is wanted.
    ssim: Option<[Vec<f64>; 2]>,
    /// LPIPS of each camera that has a photo of its size, if it is wanted.
    lpips: Vec<f64>,
    stages: Samples,
    /// Seconds of the frames of each pass, from event to event.
    forward: Vec<f64>,
    /// Of the backward stages of each pass.
    backward: Vec<f64>,
    /// Wall-clock seconds of each pass.
    frames: Vec<f64>,
    steps: Option<(f64, StagesMs)>,
    missing: Option<BackendError>,
}

/// Counts, summed over the cameras.
#[derive(Default)]
struct Totals {
    visible: u64,
    pairs: u64,
    /// Mean and variance of the lists' lengths.
    lists: [f64; 2],
    /// Evaluated and blended.
    fragments: Option<[u64; 2]>,
    strips: Option<StripCounts>,
}

impl Totals {
    fn merge(&mut self, other: Self) {
        self.visible += other.visible;
        self.pairs += other.pairs;
        (0..2).for_each(|k| self.lists[k] += other.lists[k]);
        self.fragments = match (self.fragments, other.fragments) {
            (Some([a, b]), Some([c, d])) => Some([a + c, b + d]),
            _ => None,
        };
        if let Some(strips) = other.strips {
            let sums = self.strips.get_or_insert_default();
            sums.visited += strips.visited;
            sums.blended += strips.blended;
        }
    }
}

impl<'a> Subject<'a> {
    fn new(options: &'a RenderOptions, ssim: bool) -> Self {
        Self {
            options,
            totals: Totals {
                fragments: Some([0; 2]),
                ..Totals::default()
            },
            psnr: Vec::new(),
            psnr_photos: Vec::new(),
            ssim: ssim.then(Default::default),
            lpips: Vec::new(),
            stages: Samples::default(),
            forward: Vec::new(),
            backward: Vec::new(),
            frames: Vec::new(),
            steps: None,
            missing: None,
        }
    }

    /// Takes in what was measured of other cameras by another renderer. A pass is one over all
    /// cameras then; `views` are how many there are here and there.
    fn merge(&mut self, other: Self, views: [usize; 2]) {
        self.totals.merge(other.totals);
        self.psnr.extend(other.psnr);
        self.psnr_photos.extend(other.psnr_photos);
        self.lpips.extend(other.lpips);
        for (here, there) in self.ssim.iter_mut().zip(other.ssim) {
            here.iter_mut().zip(there).for_each(|(a, b)| a.extend(b));
        }
        self.stages.merge(other.stages);
        for (here, there) in [
            (&mut self.forward, other.forward),
            (&mut self.backward, other.backward),
            (&mut self.frames, other.frames),
        ] {
            here.iter_mut().zip(there).for_each(|(a, b)| *a += b);
        }
        if let (Some((ms, stages)), Some((their_ms, theirs))) = (&mut self.steps, other.steps) {
            let [here, there] = views.map(|count| count as f64 / (views[0] + views[1]) as f64);
            let mean = |a: f64, b: f64| here * a + there * b;
            *ms = mean(*ms, their_ms);
            for ((_, ms), (_, their_ms)) in stages.iter_mut().zip(theirs) {
                *ms = mean(*ms, their_ms);
            }
        }
        self.missing = self.missing.take().or(other.missing);
    }

    fn into_row(self, views: f64, with_backward: bool) -> Measured {
        if let Some(error) = self.missing {
            return Err(error);
        }
        let (mut forward, mut behind, mut frames) = (self.forward, self.backward, self.frames);
        let stages = self.stages.medians(views);
        let totals = self.totals;
        let per_frame = |total: u64| (total as f64 / views).round() as u64;
        let [evaluated, blended] = [0, 1].map(|k| totals.fragments.map(|f| per_frame(f[k])));
        let ns_per_blended = |stage: &str| {
            let found = stages.iter().find(|(name, _)| *name == stage);
            Some(found.map_or(0.0, |s| s.1) * 1e6 / (blended? as f64).max(1.0))
        };
        // A mean over some of the cameras would not compare with one over all of them.
        let mean = |values: &[f64]| {
            (values.len() as f64 == views).then(|| values.iter().sum::<f64>() / views)
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
        Ok(Row {
            pipeline: self.options.pipeline,
            interpolate: self.options.interpolate,
            intersect: intersect.to_string(),
            blend: blend.to_string(),
            backward: backward.to_string(),
            gpu_ms: median(&mut forward) * 1e3 / views,
            frame_ms: median(&mut frames) * 1e3 / views,
            backward_ms: with_backward.then(|| median(&mut behind) * 1e3 / views),
            step_ms,
            step_stages,
            psnr_vs_reference: mean(&self.psnr),
            psnr_vs_reference_worst: self.psnr.iter().copied().reduce(f64::min),
            psnr_vs_photos: mean(&self.psnr_photos),
            ssim_vs_reference: self.ssim.as_ref().and_then(|ssim| mean(&ssim[0])),
            ssim_vs_photos: self.ssim.as_ref().and_then(|ssim| mean(&ssim[1])),
            lpips_vs_photos: mean(&self.lpips),
            visible: per_frame(totals.visible),
            pairs: per_frame(totals.pairs),
            list_lengths: totals.lists.map(|sum| sum / views),
            fragments_evaluated: evaluated,
            fragments_blended: blended,
            warps_visited: totals.strips.map(|strips| per_frame(strips.visited)),
            warps_blended: totals.strips.map(|strips| per_frame(strips.blended)),
            ns_per_blended: ns_per_blended("blend"),
            ns_per_blended_backward: ns_per_blended("blend_backward").filter(|_| with_backward),
            stages,
        })
    }
}

/// As [`Timing::rows`], by several renderers of one scene at the same time, each with some of the
/// cameras. Every time is that of a frame or step on the renderer that made it.
///
/// # Errors
/// As there.
pub fn rows_over(
    timings: &mut [Timing<'_>],
    pipelines: &[RenderOptions],
) -> Result<Vec<Measured>, BackendError> {
    let views: Vec<usize> = timings.iter().map(|timing| timing.cameras.len()).collect();
    let backward = timings.iter().any(|timing| timing.steps.is_some());
    let measured: Vec<_> = thread::scope(|scope| {
        let measure = |timing| scope.spawn(|| Timing::subjects(timing, pipelines));
        let threads: Vec<_> = timings.iter_mut().map(measure).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|subjects| subjects.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    let mut all = Vec::new();
    let mut known = 0;
    for (subjects, views) in measured.into_iter().zip(views) {
        let subjects = subjects?;
        if known == 0 {
            all = subjects;
        } else {
            let pairs = all.iter_mut().zip(subjects);
            pairs.for_each(|(here, there)| here.merge(there, [known, views]));
        }
        known += views;
    }
    let row = |subject: Subject| subject.into_row(known as f64, backward);
    Ok(all.into_iter().map(row).collect())
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
        rows_over(std::slice::from_mut(self), pipelines)
    }

    fn subjects<'b>(
        &mut self,
        pipelines: &'b [RenderOptions],
    ) -> Result<Vec<Subject<'b>>, BackendError> {
        let subject = |options| Subject::new(options, self.ssim.contains(&options.pipeline));
        let mut subjects: Vec<Subject> = pipelines.iter().map(subject).collect();
        self.warm_up(&mut subjects)?;
        // Kinds of passes one after the other: events disturb the wall clock.
        for pass in [Self::stage_pass, Self::device_pass, Self::frame_pass] {
            for _ in 0..self.passes {
                for subject in present(&mut subjects) {
                    pass(self, subject)?;
                    (self.tick)(Done::Pass(subject.options.pipeline));
                }
            }
        }
        if let Some(steps) = &mut self.steps {
            for subject in present(&mut subjects) {
                let options = subject.options;
                let mut tick = || (self.tick)(Done::Pass(options.pipeline));
                subject.steps = Some(steps.time(options, self.passes, &mut tick)?);
            }
        }
        Ok(subjects)
    }

    /// One pass that counts and compares.
    fn warm_up(&mut self, subjects: &mut [Subject]) -> Result<(), BackendError> {
        for (i, named) in self.cameras.iter().enumerate() {
            let full = self.full.as_deref_mut().unwrap_or(&mut *self.renderer);
            let expected = match &self.reference {
                Some(reference) => {
                    let image = full.render(&named.camera, reference)?.image;
                    (self.tick)(Done::Reference);
                    Some(image)
                }
                None => None,
            };
            for subject in present(subjects) {
                match self.warm_up_view(i, subject, expected.as_ref()) {
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
                (self.tick)(Done::Pass(subject.options.pipeline));
            }
        }
        Ok(())
    }

    fn warm_up_view(
        &mut self,
        i: usize,
        subject: &mut Subject,
        expected: Option<&Image>,
    ) -> Result<(), BackendError> {
        let named = &self.cameras[i];
        let NamedCamera { camera, photo, .. } = named;
        let options = subject.options;
        // First of all, for it tells whether the backend has the pipeline.
        self.renderer.stage_times(camera, options, self.stages())?;
        if let Some(steps) = &mut self.steps {
            steps.step(i, options)?;
        }
        let counts = self.renderer.counts(camera, options)?;
        let totals = &mut subject.totals;
        totals.visible += counts.visible;
        totals.pairs += counts.pairs;
        let lists = self.renderer.tile_counts(camera, options)?.counts;
        let tiles = lists.len().max(1) as f64;
        let mean = lists.iter().map(|&n| n as f64).sum::<f64>() / tiles;
        let squares = lists.iter().map(|&n| (n as f64 - mean).powi(2));
        totals.lists[0] += mean;
        totals.lists[1] += squares.sum::<f64>() / tiles;
        let fragments = counts.fragments_evaluated.zip(counts.fragments_blended);
        totals.fragments = match (totals.fragments, fragments) {
            (Some([a, b]), Some((evaluated, blended))) => Some([a + evaluated, b + blended]),
            _ => None,
        };
        if let Some(strips) = counts.strips {
            let sums = totals.strips.get_or_insert_default();
            sums.visited += strips.visited;
            sums.blended += strips.blended;
        }
        let image: Image = self.renderer.render(camera, options)?.image;
        let psnr = expected.map(|expected| decibels(metrics::psnr_between(&image, expected)));
        subject.psnr.extend(psnr);
        let fits = |photo: &&Photo| (photo.width, photo.height) == (camera.width, camera.height);
        let photo = photo.as_ref().filter(fits);
        let psnr = photo.map(|photo| decibels(metrics::psnr(&image, photo)));
        subject.psnr_photos.extend(psnr);
        if let Some([reference, photos]) = &mut subject.ssim {
            let (a, b) = rayon::join(
                || expected.map(|expected| metrics::ssim_between(&image, expected)),
                || photo.map(|photo| metrics::ssim(&image, photo)),
            );
            reference.extend(a.map(number));
            photos.extend(b.map(number));
        }
        let lpips = self.lpips.filter(|(_, of)| of.contains(&options.pipeline));
        if let Some(((lpips, _), photo)) = lpips.zip(photo) {
            let score = lpips.score(&image, photo);
            subject
                .lpips
                .push(score.map_err(|error| error.of_view(&named.name))?);
        }
        Ok(())
    }

    /// Which stages are timed.
    fn stages(&self) -> Timed {
        match self.steps.is_some() {
            true => Timed::TrainingStages,
            false => Timed::Stages,
        }
    }

    /// The times of the stages of every view.
    fn stage_pass(&mut self, subject: &mut Subject) -> Result<(), BackendError> {
        let mut pass = StageTimes::new();
        for NamedCamera { camera, .. } in self.cameras {
            let stages = self.stages();
            let times = self.renderer.stage_times(camera, subject.options, stages)?;
            add(&mut pass, times);
        }
        let backward = pass.iter().filter(|(name, _)| is_backward(name));
        subject
            .backward
            .push(backward.map(|(_, seconds)| seconds).sum());
        subject.stages.push(pass);
        Ok(())
    }

    /// The time of every view's frame, from event to event.
    fn device_pass(&mut self, subject: &mut Subject) -> Result<(), BackendError> {
        let mut sum = 0.0;
        for NamedCamera { camera, .. } in self.cameras {
            let options = subject.options;
            let times = self.renderer.stage_times(camera, options, Timed::Frame)?;
            sum += times.iter().map(|(_, seconds)| seconds).sum::<f64>();
        }
        subject.forward.push(sum);
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
