//! What gradients a frame should have, and how far the baseline is from them.

use super::blame::blame;
use crate::gates::Rejection;
use crate::gates::result::{GradientError, gradient_errors, judge_gradients};
use crate::worker::{Child, FrameSpec};
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, Image, Pipeline, Renderer};

/// Gradients that candidates are held to.
pub(super) struct ExpectedGradients {
    /// The gradient with respect to the image that they start from.
    from: Image,
    right: Gaussians,
    baseline: Vec<GradientError>,
}

impl ExpectedGradients {
    /// Those of a frame, by a reference that has loaded the scene, beside the baseline's, which has
    /// selected it. `pipeline` is one of [`super::reference::reference_of`].
    ///
    /// # Errors
    /// The words of the one that fails.
    pub(super) fn new(
        frame: &FrameSpec,
        reference: &mut dyn Renderer,
        pipeline: Pipeline,
        baseline: &mut Child,
    ) -> Result<Self, String> {
        let options = frame.with_pipeline(pipeline).options()?;
        let from = gradient_of_image(frame);
        let right = reference.gradients(&frame.camera(), &options, &from.clone().into());
        let right = right.map_err(|error| error.to_string())?;
        let found = baseline.gradients(frame, &from);
        let found = found.map_err(|error| error.to_string())?;
        Ok(Self {
            baseline: gradient_errors(&found, &right),
            from,
            right,
        })
    }

    /// Holds a worker's gradients of the frame to them.
    ///
    /// # Errors
    /// The rejection.
    pub(super) fn judge(
        &self,
        name: &str,
        frame: &FrameSpec,
        worker: &mut Child,
    ) -> Result<(), Rejection> {
        let found = worker.gradients(frame, &self.from).map_err(blame)?;
        judge_gradients(name, &gradient_errors(&found, &self.right), &self.baseline)
    }
}

/// A gradient with respect to an image, the same for every candidate: noise of a magnitude that the
/// frame decides, as a loss's depends on the size of the image and on how far a training is. Some
/// pixels have none, as those that a mask leaves out.
pub(super) fn gradient_of_image(frame: &FrameSpec) -> Image {
    let mut rng = Rng::new(frame.translation[0].to_bits(), 11);
    let mut image = Image::filled(frame.size[0], frame.size[1], [0.0; 3]);
    let magnitude = 10.0f32.powf(-7.0 * rng.uniform());
    for pixel in &mut image.data {
        let masked = rng.below(8) == 0;
        *pixel = std::array::from_fn(|_| {
            let value = magnitude * rng.normal();
            if masked { 0.0 } else { value }
        });
    }
    image
}
