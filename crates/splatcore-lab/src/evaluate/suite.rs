//! Scenes with references, which every candidate's results are held to.

use super::Broken;
use super::blame::blame;
use super::gradients::{ExpectedGradients, gradient_of_image};
use super::reference::{self, reference_of};
use crate::gates::result::{
    ImageError, TestScene, bits, check_metamorphic, image_error, judge_image,
};
use crate::gates::{Gate, Rejection};
use crate::worker::{Child, FrameSpec, WorkerError};
use splatcore_core::{Backend, Image, Pipeline};

/// Test scenes, what is right for each, and how far the baseline is from it.
#[derive(Default)]
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

/// Who says what is right, and for which pipeline.
pub struct Judge<'a> {
    /// The backend of references.
    pub reference: &'a dyn Backend,
    /// The pipeline whose images are judged.
    pub pipeline: Pipeline,
    /// Whether gradients are judged too.
    pub training: bool,
}

impl Case {
    /// Renders the reference, and the baseline beside it.
    fn new(test: TestScene, judge: &Judge, baseline: &mut Child) -> Result<Self, Broken> {
        let broken = |error: &dyn std::fmt::Display| {
            Broken(format!("the baseline itself fails, {}: {error}", test.name))
        };
        baseline.load(&test.scene).map_err(|e| broken(&e))?;
        let mut right = match reference_of(judge.pipeline) {
            Some(pipeline) => {
                let renderer = judge.reference.renderer(&test.scene);
                Some((renderer.map_err(|e| broken(&e))?, pipeline))
            }
            None => None,
        };
        let mut frames = Vec::new();
        for frame in &test.frames {
            let (image, transmittance) = baseline.render(frame).map_err(|e| broken(&e))?;
            let (again, _) = baseline.render(frame).map_err(|e| broken(&e))?;
            let expected = match &mut right {
                Some((right, pipeline)) => {
                    reference::render(&mut **right, frame, *pipeline).map_err(|e| broken(&e))?
                }
                None => image.clone(),
            };
            frames.push(Expected {
                baseline: image_error(&image, &expected),
                repeats: bits(&image) == bits(&again),
                transmittance: as_image(frame, &transmittance),
                image: expected,
            });
        }
        let gradients = match (&mut right, test.frames.first()) {
            (Some((right, pipeline)), Some(frame)) if judge.training => {
                let found = ExpectedGradients::new(frame, &mut **right, *pipeline, baseline);
                Some(found.map_err(|e| broken(&e))?)
            }
            _ => None,
        };
        Ok(Self {
            test,
            frames,
            gradients,
        })
    }
}

impl Suite {
    /// Renders the references, and the baseline beside them.
    ///
    /// # Errors
    /// If the baseline itself fails: a machine or a build that nothing can be judged with.
    pub fn new(tests: Vec<TestScene>, judge: &Judge, baseline: &mut Child) -> Result<Self, Broken> {
        let mut suite = Self {
            cases: vec![],
            training: judge.training,
        };
        for test in tests {
            suite.add(test, judge, baseline)?;
        }
        Ok(suite)
    }

    /// One more scene.
    ///
    /// # Errors
    /// As [`Suite::new`].
    pub fn add(
        &mut self,
        test: TestScene,
        judge: &Judge,
        baseline: &mut Child,
    ) -> Result<(), Broken> {
        self.cases.push(Case::new(test, judge, baseline)?);
        Ok(())
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
                expected.judge(&case.test.name, frame, worker)?;
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

/// One value a pixel, as an image.
fn as_image(frame: &FrameSpec, values: &[f32]) -> Image {
    Image {
        width: frame.size[0],
        height: frame.size[1],
        data: values.iter().map(|&v| [v; 3]).collect(),
    }
}
