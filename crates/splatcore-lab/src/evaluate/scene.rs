//! Scenes to time on, and what is looked at once they were.

use super::Broken;
use super::blame::blame;
use super::gradients::ExpectedGradients;
use super::reference::{self, reference_of};
use super::settings::Settings;
use super::toolbox::{FrameKind, Toolbox};
use crate::gates::result::{ImageError, image_error, judge_image};
use crate::gates::{Gate, Rejection};
use crate::journal::Series;
use crate::timing::{TimedScene, turn};
use crate::worker::{Child, FrameSpec, WorkerError};
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, Image};

/// A scene to time on.
pub struct Scene {
    /// The Gaussians.
    pub scene: Gaussians,
    /// Its frames.
    pub timed: TimedScene,
    /// What one of them should be, once it is known.
    pub expected: Option<Expected>,
}

impl Scene {
    /// What one of its frames should be, rendered when it is first wanted.
    pub(super) fn expect(
        &mut self,
        settings: &Settings,
        toolbox: &dyn Toolbox,
        baseline: &mut Child,
    ) -> Result<&Expected, Broken> {
        let found = match self.expected.take() {
            Some(expected) => expected,
            None => expected(self, settings, toolbox, baseline)?,
        };
        Ok(self.expected.insert(found))
    }

    /// Loads it into a worker and renders its frames once: the first frame compiles.
    pub(super) fn load(&self, worker: &mut Child, training: bool) -> Result<(), WorkerError> {
        let TimedScene { name, frames, .. } = &self.timed;
        worker.load_as(name, &self.scene)?;
        turn(worker, name, frames, training).map(drop)
    }

    /// What its frames are like.
    pub(super) fn kinds(&self) -> impl Iterator<Item = FrameKind> {
        let gaussians = self.scene.len();
        let frames = self.timed.frames.iter();
        frames.map(move |frame| FrameKind {
            size: frame.size,
            gaussians,
        })
    }
}

/// A frame of the timed size, what it should be, and how far the baseline is from it.
pub struct Expected {
    pub(super) frame: FrameSpec,
    pub(super) image: Image,
    pub(super) baseline: ImageError,
    /// Where the backward pass is timed too.
    pub(super) gradients: Option<ExpectedGradients>,
}

impl Expected {
    /// Whether a worker that has loaded the scene under this name renders the frame as it should,
    /// and has the gradients that it should have.
    pub(super) fn still_rendered(&self, name: &str, worker: &mut Child) -> Result<(), Rejection> {
        let selected = worker.select(name);
        let rendered = selected.and_then(|()| worker.render(&self.frame));
        let (image, _) = rendered.map_err(blame)?;
        let error = image_error(&image, &self.image);
        let [width, height] = self.frame.size;
        let place = format!("{name}, {width}x{height}");
        let mut judged = judge_image(&place, &error, &self.baseline);
        if let Some(gradients) = &self.gradients {
            judged = judged.and_then(|()| gradients.judge(&place, &self.frame, worker));
        }
        judged.map_err(|rejection| Rejection::new(Gate::AfterTiming, rejection.to_string()))
    }
}

/// Renders the reference of a frame that the seed chooses.
pub(super) fn expected(
    scene: &Scene,
    settings: &Settings,
    toolbox: &dyn Toolbox,
    baseline: &mut Child,
) -> Result<Expected, Broken> {
    let name = &scene.timed.name;
    let broken = |error: &dyn std::fmt::Display| Broken(format!("{name}: {error}"));
    let frames = &scene.timed.frames;
    let chosen = Rng::new(settings.seed, 300).below(frames.len());
    let frame = frames
        .get(chosen)
        .ok_or_else(|| broken(&"it has no camera"))?
        .clone();
    baseline.select(name).map_err(|e| broken(&e))?;
    let (image, _) = baseline.render(&frame).map_err(|e| broken(&e))?;
    let mut gradients = None;
    let right = match reference_of(settings.pipeline) {
        Some(pipeline) => {
            let renderer = toolbox.reference().renderer(&scene.scene);
            let mut renderer = renderer.map_err(|e| broken(&e))?;
            if settings.training {
                let found = ExpectedGradients::new(&frame, &mut *renderer, pipeline, baseline);
                gradients = Some(found.map_err(|e| broken(&e))?);
            }
            let rendered = reference::render(&mut *renderer, &frame, pipeline);
            rendered.map_err(|e| broken(&e))?.0
        }
        None => image.clone(),
    };
    Ok(Expected {
        baseline: image_error(&image, &right),
        image: right,
        gradients,
        frame,
    })
}

/// Holds times to what writing the image takes: 16 bytes a pixel, by a memory faster than any
/// card's.
pub(super) fn bound(scene: &TimedScene, series: &Series) -> Result<(), Rejection> {
    const BYTES_A_PIXEL: f64 = 16.0;
    const BYTES_A_SECOND: f64 = 2e13;
    // Two turns a round.
    let pixels: f64 = scene
        .frames
        .iter()
        .map(|f| f64::from(f.size[0]) * f64::from(f.size[1]))
        .sum();
    let least = 2.0 * pixels * BYTES_A_PIXEL / BYTES_A_SECOND;
    match series.candidate.iter().find(|&&seconds| seconds < least) {
        Some(seconds) => Err(Rejection::new(
            Gate::Bound,
            format!(
                "{}: {:.1} us a round, and writing the images alone takes {:.1}",
                scene.name,
                1e6 * seconds,
                1e6 * least
            ),
        )),
        None => Ok(()),
    }
}
