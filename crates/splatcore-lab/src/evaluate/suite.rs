//! Scenes with references, which every candidate's results are held to.

use super::Broken;
use super::blame::blame;
use crate::gates::result::{
    GradientError, ImageError, TestScene, check_metamorphic, gradient_errors, image_error,
    judge_gradients, judge_image,
};
use crate::gates::{Gate, Rejection};
use crate::worker::{Child, FrameSpec, WorkerError};
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_core::random::Rng;
use splatcore_core::{Backend, Gaussians, Image, Pipeline};

/// Test scenes, what is right for each, and how far the baseline is from it.
pub struct Suite {
    cases: Vec<Case>,
    /// Whether the backward pass is looked at too.
    training: bool,
}

struct Case {
    test: TestScene,
    frames: Vec<Expected>,
    gradients: Option<ExpectedGradients>,
}

struct Expected {
    image: Image,
    /// Transmittance as the baseline has it, as an image of one value.
    transmittance: Image,
    baseline: ImageError,
    /// Whether the baseline gives the same bits twice.
    repeats: bool,
}

struct ExpectedGradients {
    /// The gradient with respect to the image that they start from.
    from: Image,
    right: Gaussians,
    baseline: Vec<GradientError>,
}

/// The pipeline of the reference for images of `pipeline`: the same pairs, blended on the processor
/// in f32; `None` for a blend whose fragments or order are its own, which only itself can be held
/// to.
pub fn reference_of(pipeline: Pipeline) -> Option<Pipeline> {
    pipeline.blend.blends_as_scalar().then_some(Pipeline {
        intersect: pipeline.intersect,
        blend: Blend::Subtile,
        backward: Backward::Subtile,
    })
}

impl Suite {
    /// Renders the references, and the baseline beside them.
    ///
    /// # Errors
    /// If the baseline itself fails: a machine or a build that nothing can be judged with.
    pub fn new(
        tests: Vec<TestScene>,
        pipeline: Pipeline,
        training: bool,
        reference: &dyn Backend,
        baseline: &mut Child,
    ) -> Result<Self, Broken> {
        let reference_pipeline = reference_of(pipeline);
        let mut cases = Vec::new();
        for test in tests {
            let broken = |error: &dyn std::fmt::Display| {
                Broken(format!("the baseline itself fails, {}: {error}", test.name))
            };
            baseline.load(&test.scene).map_err(|e| broken(&e))?;
            let mut right = match reference_pipeline {
                Some(_) => Some(reference.renderer(&test.scene).map_err(|e| broken(&e))?),
                None => None,
            };
            let mut frames = Vec::new();
            let mut gradients = None;
            for (i, frame) in test.frames.iter().enumerate() {
                let (image, transmittance) = baseline.render(frame).map_err(|e| broken(&e))?;
                let (again, _) = baseline.render(frame).map_err(|e| broken(&e))?;
                let expected = match (&mut right, reference_pipeline) {
                    (Some(right), Some(pipeline)) => {
                        let options = options(frame, pipeline).map_err(|e| broken(&e))?;
                        let rendered = right.render(&frame.camera(), &options);
                        rendered.map_err(|e| broken(&e))?.image
                    }
                    _ => image.clone(),
                };
                frames.push(Expected {
                    baseline: image_error(&image, &expected),
                    repeats: bits(&image) == bits(&again),
                    transmittance: as_image(frame, &transmittance),
                    image: expected,
                });
                if i > 0 || !training {
                    continue;
                }
                if let (Some(right), Some(pipeline)) = (&mut right, reference_pipeline) {
                    let options = options(frame, pipeline).map_err(|e| broken(&e))?;
                    let from = gradient_of_image(frame);
                    let right = right
                        .gradients(&frame.camera(), &options, &from)
                        .map_err(|e| broken(&e))?;
                    let found = baseline.gradients(frame, &from).map_err(|e| broken(&e))?;
                    gradients = Some(ExpectedGradients {
                        baseline: gradient_errors(&found, &right),
                        from,
                        right,
                    });
                }
            }
            cases.push(Case {
                test,
                frames,
                gradients,
            });
        }
        Ok(Self { cases, training })
    }

    /// Holds a worker's results to the references.
    ///
    /// # Errors
    /// The rejection. `Ok` says what was looked at.
    pub fn check(&self, worker: &mut Child) -> Result<Vec<String>, Rejection> {
        let (mut images, mut gradients, mut repeated) = (0, 0, 0);
        for case in &self.cases {
            worker.load(&case.test.scene).map_err(blame)?;
            for (frame, expected) in case.test.frames.iter().zip(&case.frames) {
                let name = format!("{}, {}x{}", case.test.name, frame.size[0], frame.size[1]);
                let (image, transmittance) = worker.render(frame).map_err(blame)?;
                let error = image_error(&image, &expected.image);
                judge_image(&name, &error, &expected.baseline)?;
                let behind = image_error(&as_image(frame, &transmittance), &expected.transmittance);
                judge_image(
                    &format!("{name}, transmittance"),
                    &behind,
                    &expected.baseline,
                )?;
                images += 1;
                if expected.repeats {
                    let (again, _) = worker.render(frame).map_err(blame)?;
                    repeated += 1;
                    if bits(&again) != bits(&image) {
                        let reason = format!("{name}: rendered twice, the image has other bits");
                        return Err(Rejection::new(Gate::Repeat, reason));
                    }
                }
            }
            if let (Some(expected), Some(frame)) = (&case.gradients, case.test.frames.first()) {
                let found = worker.gradients(frame, &expected.from).map_err(blame)?;
                let errors = gradient_errors(&found, &expected.right);
                judge_gradients(&case.test.name, &errors, &expected.baseline)?;
                gradients += 1;
            }
        }
        let mut passed = vec![
            format!("{}: {images} images", Gate::Result),
            format!("{}: {images} images", Gate::Precision),
            format!("{}: {repeated} images", Gate::Repeat),
        ];
        if self.training {
            passed.push(format!("{}: {gradients} gradients", Gate::Result));
        }
        Ok(passed)
    }

    /// What must not change images does not, on the first few scenes.
    ///
    /// # Errors
    /// The rejection.
    pub fn check_metamorphic(&self, worker: &mut Child) -> Result<String, Rejection> {
        const SCENES: usize = 3;
        for case in self.cases.iter().take(SCENES) {
            check_metamorphic(worker, &case.test, &blame)?;
        }
        Ok(format!("{}: {SCENES} scenes", Gate::Metamorphic))
    }
}

/// Renders every scene once, without a look at the images: for workers that check every access.
///
/// # Errors
/// What the worker fails with.
pub fn walk(tests: &[TestScene], training: bool, worker: &mut Child) -> Result<usize, WorkerError> {
    let mut frames = 0;
    for test in tests {
        worker.load(&test.scene)?;
        if let Some(frame) = test.frames.first() {
            worker.render(frame)?;
            frames += 1;
            if training {
                worker.gradients(frame, &gradient_of_image(frame))?;
            }
        }
    }
    Ok(frames)
}

fn options(
    frame: &FrameSpec,
    pipeline: Pipeline,
) -> Result<splatcore_core::backend::RenderOptions, String> {
    frame.with_pipeline(pipeline).options()
}

/// One value a pixel, as an image.
fn as_image(frame: &FrameSpec, values: &[f32]) -> Image {
    Image {
        width: frame.size[0],
        height: frame.size[1],
        data: values.iter().map(|&v| [v; 3]).collect(),
    }
}

fn bits(image: &Image) -> Vec<u32> {
    image.data.iter().flatten().map(|v| v.to_bits()).collect()
}

/// A gradient with respect to an image: noise, the same for every candidate.
fn gradient_of_image(frame: &FrameSpec) -> Image {
    let mut rng = Rng::new(1, 11);
    let mut image = Image::filled(frame.size[0], frame.size[1], [0.0; 3]);
    let values = image.data.iter_mut().flatten();
    values.for_each(|v| *v = rng.normal() / 100.0);
    image
}
