//! Scenes with references, which every candidate's results are held to.

use super::Broken;
use super::blame::blame;
use super::gradients::{ExpectedGradients, gradient_of_image};
use super::reference::{self, reference_of};
use crate::gates::result::{
    ImageError, Losses, TestScene, bits, check_metamorphic, image_error, judge_image,
};
use crate::gates::{Gate, Rejection};
use crate::worker::{Child, FrameSpec, WorkerError};
use splatcore_core::pipeline::Backward;
use splatcore_core::{Backend, Image, Pipeline};

/// Test scenes, what is right for each, and how far the baseline is from it.
#[derive(Default)]
pub struct Suite {
    pub(super) cases: Vec<Case>,
    /// The second scene, by the last camera of the first, whose frames it follows.
    after: Option<Case>,
    /// Whether the backward pass is looked at too.
    pub(super) training: bool,
}

/// Frames of the first scene that another scene follows in the same memory, by the same camera.
const LAUNCHES: usize = 50;
/// Frames of a scene whose gradients are looked at: what one leaves in memory meets the next.
pub(super) const STEPS: usize = 2;
/// Scenes of which checkpoints are looked at.
const WITH_CHECKPOINTS: usize = 2;

pub(super) struct Case {
    pub(super) test: TestScene,
    pub(super) frames: Vec<Expected>,
    /// Of the first frames, one after the other.
    pub(super) gradients: Vec<ExpectedGradients>,
    /// Of the first frame, by the backward pass that reads where pixels stopped and the checkpoints
    /// that some blends leave for it.
    checkpoints: Option<(FrameSpec, ExpectedGradients)>,
}

pub(super) struct Expected {
    image: Image,
    /// Transmittance, or inverse depth of a frame with that, as an image of one value.
    fourth: Image,
    /// What the fourth channel is multiplied by: inverse depth depends on the unit of length.
    unit: f32,
    /// Errors of the baseline's image and of its fourth channel.
    baseline: [ImageError; 2],
    /// Whether the baseline gives the same bits twice.
    repeats: bool,
}

impl Expected {
    /// Holds an image and its fourth channel to the reference, each no further from it than the
    /// baseline's.
    fn judge(
        &self,
        name: &str,
        frame: &FrameSpec,
        (image, fourth): (&Image, &[f32]),
        losses: &mut Losses,
    ) -> Result<(), Rejection> {
        let [baseline, baseline_behind] = &self.baseline;
        let error = image_error(image, &self.image);
        judge_image(name, &error, baseline)?;
        losses.push(&error, baseline);
        let found = as_image(frame, fourth, self.unit);
        let behind = image_error(&found, &self.fourth);
        let what = match frame.inverse_depth {
            true => "inverse depth",
            false => "transmittance",
        };
        judge_image(&format!("{name}, {what}"), &behind, baseline_behind)?;
        losses.push(&behind, baseline_behind);
        Ok(())
    }
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
    fn new(
        test: TestScene,
        judge: &Judge,
        baseline: &mut Child,
        with_checkpoints: bool,
    ) -> Result<Self, Broken> {
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
            let (image, fourth) = baseline.render(frame).map_err(|e| broken(&e))?;
            let unit = match frame.inverse_depth {
                true => 1.0 / fourth.iter().copied().fold(1e-30, f32::max),
                false => 1.0,
            };
            let again = baseline.render(frame).map_err(|e| broken(&e))?;
            let repeats = same_bits((&image, &fourth), (&again.0, &again.1));
            let behind = as_image(frame, &fourth, unit);
            let (right_image, right_behind) = match &mut right {
                Some((right, pipeline)) => {
                    let found = reference::render(&mut **right, frame, *pipeline);
                    let (image, fourth) = found.map_err(|e| broken(&e))?;
                    (image, as_image(frame, &fourth, unit))
                }
                None => (image.clone(), behind.clone()),
            };
            frames.push(Expected {
                baseline: [
                    image_error(&image, &right_image),
                    image_error(&behind, &right_behind),
                ],
                repeats,
                fourth: right_behind,
                unit,
                image: right_image,
            });
        }
        let mut gradients = Vec::new();
        if let (Some((right, pipeline)), true) = (&mut right, judge.training) {
            for frame in test.frames.iter().take(STEPS) {
                let found = ExpectedGradients::new(frame, &mut **right, *pipeline, baseline);
                gradients.push(found.map_err(|e| broken(&e))?);
            }
        }
        let mut checkpoints = None;
        let by_checkpoints = Pipeline {
            backward: Backward::GaussianParallel,
            ..judge.pipeline
        };
        let is_possible = with_checkpoints && by_checkpoints.check_training().is_ok();
        let first = test.frames.first().filter(|_| is_possible);
        if let (Some((right, pipeline)), Some(frame)) = (&mut right, first) {
            let frame = frame.with_pipeline(by_checkpoints);
            let found = ExpectedGradients::new(&frame, &mut **right, *pipeline, baseline);
            checkpoints = Some((frame, found.map_err(|e| broken(&e))?));
        }
        Ok(Self {
            test,
            frames,
            gradients,
            checkpoints,
        })
    }

    /// For messages.
    fn name_of(&self, frame: &FrameSpec) -> String {
        format!("{}, {}x{}", self.test.name, frame.size[0], frame.size[1])
    }

    /// What the worker, which has loaded the scene, renders for a frame, if it is right.
    pub(super) fn judge(
        &self,
        frame: &FrameSpec,
        expected: &Expected,
        worker: &mut Child,
        losses: &mut Losses,
    ) -> Result<(Image, Vec<f32>), Rejection> {
        let (image, fourth) = worker.render(frame).map_err(blame)?;
        expected.judge(&self.name_of(frame), frame, (&image, &fourth), losses)?;
        Ok((image, fourth))
    }
}

impl Suite {
    /// Renders the references, and the baseline beside them.
    ///
    /// # Errors
    /// If the baseline itself fails: a machine or a build that nothing can be judged with.
    pub fn new(tests: Vec<TestScene>, judge: &Judge, baseline: &mut Child) -> Result<Self, Broken> {
        let after = match &tests[..] {
            [first, second, ..] => first.frames.last().map(|frame| TestScene {
                name: format!("{}, after {LAUNCHES} frames of {}", second.name, first.name),
                scene: second.scene.clone(),
                frames: vec![frame.clone()],
            }),
            _ => None,
        };
        let mut suite = Self {
            cases: vec![],
            after: after
                .map(|test| Case::new(test, judge, baseline, false))
                .transpose()?,
            training: judge.training,
        };
        for (number, test) in tests.into_iter().enumerate() {
            let case = Case::new(test, judge, baseline, number < WITH_CHECKPOINTS)?;
            suite.cases.push(case);
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
        self.cases.push(Case::new(test, judge, baseline, false)?);
        Ok(())
    }

    /// Holds a worker's results to the references.
    ///
    /// # Errors
    /// The rejection. `Ok` says what was looked at.
    pub fn check(&self, worker: &mut Child) -> Result<Vec<String>, Rejection> {
        let (mut images, mut gradients, mut checkpoints, mut repeated) = (0, 0, 0, 0);
        let mut losses = Losses::default();
        for case in &self.cases {
            worker.load(&case.test.scene).map_err(blame)?;
            for (frame, expected) in case.test.frames.iter().zip(&case.frames) {
                let (image, transmittance) = case.judge(frame, expected, worker, &mut losses)?;
                images += 1;
                if expected.repeats {
                    let (again, behind) = worker.render(frame).map_err(blame)?;
                    repeated += 1;
                    if !same_bits((&again, &behind), (&image, &transmittance)) {
                        let name = case.name_of(frame);
                        let reason = format!("{name}: rendered twice, the image has other bits");
                        return Err(Rejection::new(Gate::Repeat, reason));
                    }
                }
            }
            for (expected, frame) in case.gradients.iter().zip(&case.test.frames) {
                expected.judge(&case.test.name, frame, worker)?;
                gradients += 1;
            }
            if let Some((frame, expected)) = &case.checkpoints {
                let name = format!("{}, by checkpoints", case.test.name);
                expected.judge(&name, frame, worker)?;
                checkpoints += 1;
            }
        }
        losses.judge()?;
        let launches = self.check_launches(worker)?;
        let mut passed = vec![
            format!("{}: {images} images", Gate::Result),
            format!("{}: {images} images", Gate::Precision),
            format!("{}: {repeated} images", Gate::Repeat),
            format!("{}: a frame {launches} times", Gate::Repeat),
        ];
        if self.training {
            passed.push(format!("{}: {gradients} gradients", Gate::Result));
        }
        if checkpoints > 0 {
            let result = Gate::Result;
            passed.push(format!("{result}: {checkpoints} gradients by checkpoints"));
        }
        Ok(passed)
    }

    /// Holds a worker whose memory held numbers to the references: a frame of each scene, and its
    /// gradients. Returns how many frames.
    ///
    /// # Errors
    /// The rejection, by [`Gate::Memory`].
    pub fn check_filled(&self, worker: &mut Child) -> Result<usize, Rejection> {
        let mut judge = |case: &Case| {
            worker.load(&case.test.scene).map_err(blame)?;
            if let Some((frame, expected)) = case.test.frames.first().zip(case.frames.first()) {
                case.judge(frame, expected, worker, &mut Losses::default())?;
            }
            if let Some((expected, frame)) = case.gradients.first().zip(case.test.frames.first()) {
                expected.judge(&case.test.name, frame, worker)?;
            }
            Ok(())
        };
        let all = self.cases.iter().try_for_each(&mut judge);
        all.map_err(|Rejection { reason, .. }| {
            let reason = format!("in memory that held numbers before: {reason}");
            Rejection::new(Gate::Memory, reason)
        })?;
        Ok(self.cases.len())
    }

    /// A frame many times, then another scene in the same memory by the same camera: a kernel shows
    /// that counts its launches, or remembers a camera. If the baseline has other bits each time,
    /// these are not compared.
    fn check_launches(&self, worker: &mut Child) -> Result<usize, Rejection> {
        let Some(case) = self.cases.first() else {
            return Ok(0);
        };
        let last = case.test.frames.last().zip(case.frames.last());
        let Some((frame, expected)) = last else {
            return Ok(0);
        };
        worker.load(&case.test.scene).map_err(blame)?;
        let (first, behind) = worker.render(frame).map_err(blame)?;
        for launch in 1..LAUNCHES {
            let (image, now_behind) = worker.render(frame).map_err(blame)?;
            if expected.repeats && !same_bits((&image, &now_behind), (&first, &behind)) {
                let name = &case.test.name;
                let reason = format!("{name}: the image has other bits after {launch} frames");
                return Err(Rejection::new(Gate::Repeat, reason));
            }
        }
        if let Some(after) = &self.after {
            worker.load(&after.test.scene).map_err(blame)?;
            for (frame, expected) in after.test.frames.iter().zip(&after.frames) {
                after.judge(frame, expected, worker, &mut Losses::default())?;
            }
        }
        Ok(LAUNCHES)
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

/// Whether images and transmittances are the same, bit by bit.
fn same_bits(a: (&Image, &[f32]), b: (&Image, &[f32])) -> bool {
    let transmittance = |of: &[f32]| of.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    bits(a.0) == bits(b.0) && transmittance(a.1) == transmittance(b.1)
}

/// One value a pixel, times `unit`, as an image.
fn as_image(frame: &FrameSpec, values: &[f32], unit: f32) -> Image {
    Image {
        width: frame.size[0],
        height: frame.size[1],
        data: values.iter().map(|&v| [unit * v; 3]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::result::random;

    /// The fourth channel is held to the reference and not to the baseline: one that is off as much
    /// on the other side is as exact.
    #[test]
    fn a_fourth_channel_is_as_exact_as_the_baseline_s() {
        let frame = random(1, Pipeline::default()).remove(0).frames.remove(0);
        let pixels = (frame.size[0] * frame.size[1]) as usize;
        let image = Image::filled(frame.size[0], frame.size[1], [0.5; 3]);
        let fourth = |off: f32| vec![0.5 + off; pixels];
        let right = as_image(&frame, &fourth(0.0), 1.0);
        let expected = Expected {
            image: image.clone(),
            baseline: [
                image_error(&image, &image),
                image_error(&as_image(&frame, &fourth(1e-4), 1.0), &right),
            ],
            fourth: right,
            unit: 1.0,
            repeats: true,
        };
        let judge = |off: f32| {
            let losses = &mut Losses::default();
            expected.judge("scene", &frame, (&image, &fourth(off)), losses)
        };
        assert_eq!(judge(-1e-4), Ok(()));
        let rejected = judge(-1.1e-4).unwrap_err();
        assert_eq!(rejected.gate, Gate::Precision);
        assert!(
            rejected.reason.contains("transmittance"),
            "{}",
            rejected.reason
        );
    }
}
