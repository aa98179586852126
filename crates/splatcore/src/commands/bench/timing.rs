//! The numbers of one pipeline.

use super::steps::Steps;
use crate::cameras::NamedCamera;
use serde::{Serialize, Serializer};
use splatcore_core::backend::{BackendError, FrameCounts, RenderOptions, Renderer, StageTimes};
use splatcore_core::{Image, Pipeline, metrics};
use std::time::Instant;

/// Images with the same bits have an infinite PSNR, which JSON cannot hold.
const SAME_BITS: f64 = 120.0;

/// Milliseconds of the stages, in the order in which they ran.
pub type StagesMs = Vec<(&'static str, f64)>;

/// One row of the result. Times are milliseconds a frame or step.
#[derive(Serialize)]
pub struct Row {
    pub pipeline: Pipeline,
    pub intersect: String,
    pub blend: String,
    pub backward: String,
    /// Sum of the forward stages.
    pub gpu_ms: f64,
    /// Wall clock of whole frames, images left on the device.
    pub frame_ms: f64,
    /// Sum of the backward stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_ms: Option<f64>,
    /// Wall clock of whole training steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ms: Option<f64>,
    #[serde(serialize_with = "as_map")]
    pub stages: StagesMs,
    /// Stages of a training step.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub step_stages: StagesMs,
    pub psnr_vs_reference: f64,
    pub visible: u64,
    pub pairs: u64,
    pub fragments_evaluated: u64,
    pub fragments_blended: u64,
    pub ns_per_blended: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_blended_backward: Option<f64>,
}

/// Keeps the order in which the stages ran.
fn as_map<S: Serializer>(stages: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().copied())
}

/// What is timed, and how.
pub struct Timing<'a> {
    pub renderer: &'a mut dyn Renderer,
    /// Also the backward pass and training steps, if there.
    pub steps: Option<&'a mut Steps>,
    pub cameras: &'a [NamedCamera],
    pub options: RenderOptions,
    pub passes: u32,
    /// Called after every pass.
    pub tick: &'a mut dyn FnMut(),
}

/// Passes over the cameras that one [`Timing::row`] makes.
pub fn passes(timed: u32, backward: bool) -> u64 {
    let kinds = if backward { 4 } else { 2 };
    1 + kinds * timed as u64
}

impl Timing<'_> {
    /// Everything about the pipeline; its images are compared with those of `reference`.
    ///
    /// # Errors
    /// What the backend reports, [`BackendError::Unsupported`] before any time is spent on timing.
    pub fn row(&mut self, reference: &RenderOptions) -> Result<Row, BackendError> {
        let views = self.cameras.len() as f64;
        let backward = self.steps.is_some();
        let (totals, psnr) = self.warm_up(reference)?;

        let mut samples = Samples::default();
        let (mut forward, mut behind) = (Vec::new(), Vec::new());
        for _ in 0..self.passes {
            let mut pass = StageTimes::new();
            for NamedCamera { camera, .. } in self.cameras {
                add(
                    &mut pass,
                    self.renderer.stage_times(camera, &self.options, backward)?,
                );
            }
            let sum = |wanted: bool| -> f64 {
                let stages = pass.iter().filter(|(name, _)| is_backward(name) == wanted);
                stages.map(|(_, seconds)| seconds).sum()
            };
            forward.push(sum(false));
            behind.push(sum(true));
            samples.push(pass);
            (self.tick)();
        }
        let frame_ms = self.frame_ms()?;
        let (step_ms, step_stages) = match &mut self.steps {
            Some(steps) => {
                let (ms, stages) = steps.time(&self.options, self.passes, self.tick)?;
                (Some(ms), stages)
            }
            None => (None, Vec::new()),
        };

        let stages = samples.medians(views);
        let per_frame = |total: u64| (total as f64 / views).round() as u64;
        let ns_per_blended = |stage: &str| {
            let found = stages.iter().find(|(name, _)| *name == stage);
            found.map_or(0.0, |s| s.1) * 1e6 / (totals.fragments_blended as f64 / views).max(1.0)
        };
        let Pipeline {
            intersect,
            blend,
            backward: method,
        } = self.options.pipeline;
        Ok(Row {
            pipeline: self.options.pipeline,
            intersect: intersect.to_string(),
            blend: blend.to_string(),
            backward: method.to_string(),
            gpu_ms: median(&mut forward) * 1e3 / views,
            frame_ms,
            backward_ms: backward.then(|| median(&mut behind) * 1e3 / views),
            step_ms,
            step_stages,
            psnr_vs_reference: psnr,
            visible: per_frame(totals.visible),
            pairs: per_frame(totals.pairs),
            fragments_evaluated: per_frame(totals.fragments_evaluated),
            fragments_blended: per_frame(totals.fragments_blended),
            ns_per_blended: ns_per_blended("blend"),
            ns_per_blended_backward: backward.then(|| ns_per_blended("blend_backward")),
            stages,
        })
    }

    /// One pass that counts and compares; returns the summed counts and the mean PSNR.
    fn warm_up(&mut self, reference: &RenderOptions) -> Result<(FrameCounts, f64), BackendError> {
        let (mut totals, mut psnr) = (FrameCounts::default(), 0.0);
        for (i, NamedCamera { camera, .. }) in self.cameras.iter().enumerate() {
            // First of all, for it tells whether the backend has the pipeline.
            self.renderer
                .stage_times(camera, &self.options, self.steps.is_some())?;
            if let Some(steps) = &mut self.steps {
                steps.step(i, &self.options)?;
            }
            let counts = self.renderer.counts(camera, &self.options)?;
            totals.visible += counts.visible;
            totals.pairs += counts.pairs;
            totals.fragments_evaluated += counts.fragments_evaluated;
            totals.fragments_blended += counts.fragments_blended;
            let image: Image = self.renderer.render(camera, &self.options)?.image;
            let expected = self.renderer.render(camera, reference)?.image;
            psnr += metrics::psnr_between(&image, &expected).min(SAME_BITS);
        }
        (self.tick)();
        Ok((totals, psnr / self.cameras.len() as f64))
    }

    /// Milliseconds from one frame to the next when a device is kept busy.
    fn frame_ms(&mut self) -> Result<f64, BackendError> {
        self.renderer.finish()?;
        let mut seconds = Vec::new();
        for _ in 0..self.passes {
            let start = Instant::now();
            for NamedCamera { camera, .. } in self.cameras {
                self.renderer.render_only(camera, &self.options)?;
            }
            self.renderer.finish()?;
            seconds.push(start.elapsed().as_secs_f64());
            (self.tick)();
        }
        Ok(median(&mut seconds) * 1e3 / self.cameras.len() as f64)
    }
}

/// Adds a frame's times to those of its pass.
pub fn add(pass: &mut StageTimes, frame: StageTimes) {
    for (stage, seconds) in frame {
        match pass.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, sum)) => *sum += seconds,
            None => pass.push((stage, seconds)),
        }
    }
}

/// The times of each stage in each pass.
#[derive(Default)]
pub struct Samples(Vec<(&'static str, Vec<f64>)>);

impl Samples {
    /// Takes in a pass.
    pub fn push(&mut self, pass: StageTimes) {
        for (stage, seconds) in pass {
            match self.0.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, values)) => values.push(seconds),
                None => self.0.push((stage, vec![seconds])),
            }
        }
    }

    /// The median of each stage in milliseconds a frame.
    pub fn medians(mut self, views: f64) -> StagesMs {
        let ms = |(name, values): &mut (&'static str, Vec<f64>)| (*name, median(values) * 1e3 / views);
        self.0.iter_mut().map(ms).collect()
    }
}

/// Stages of the backward pass are named `..._backward`.
fn is_backward(stage: &str) -> bool {
    stage.ends_with("_backward")
}

/// The middle value, or the mean of the two middle ones; 0 of none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::backend::Rendered;
    use splatcore_core::{Camera, Gaussians};
    use std::time::Duration;

    /// Says that its stages take 3, 4 and 5 ms, waits 2 ms for a frame that stays, and as long again at the end.
    struct Known {
        frames: u32,
        finished: u32,
    }

    impl Renderer for Known {
        fn count(&self) -> usize {
            1
        }
        fn render(&mut self, camera: &Camera, _: &RenderOptions) -> Result<Rendered, BackendError> {
            Ok(Rendered {
                image: Image::filled(camera.width, camera.height, [0.5; 3]),
                transmittance: Vec::new(),
            })
        }
        fn render_only(&mut self, _: &Camera, _: &RenderOptions) -> Result<(), BackendError> {
            self.frames += 1;
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        }
        fn finish(&mut self) -> Result<(), BackendError> {
            self.finished += 1;
            std::thread::sleep(Duration::from_millis(2));
            Ok(())
        }
        fn gradients(&mut self, _: &Camera, _: &RenderOptions, _: &Image) -> Result<Gaussians, BackendError> {
            Ok(Gaussians::empty(0))
        }
        fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
            Ok(FrameCounts {
                visible: 10,
                pairs: 20,
                fragments_evaluated: 3000,
                fragments_blended: 1000,
            })
        }
        fn stage_times(
            &mut self,
            _: &Camera,
            _: &RenderOptions,
            _: bool,
        ) -> Result<StageTimes, BackendError> {
            Ok(vec![("sort", 0.003), ("blend", 0.004), ("blend_backward", 0.005)])
        }
    }

    #[test]
    fn times_are_milliseconds_a_frame() {
        let camera = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 4, 4);
        let cameras = ["a", "b"].map(|name| NamedCamera {
            name: name.into(),
            camera: camera.clone(),
            photo: None,
        });
        let mut renderer = Known {
            frames: 0,
            finished: 0,
        };
        let mut ticks = 0;
        let options = RenderOptions::default();
        let mut timing = Timing {
            renderer: &mut renderer,
            steps: None,
            cameras: &cameras,
            options: options.clone(),
            passes: 5,
            tick: &mut || ticks += 1,
        };
        let row = timing.row(&options).unwrap();
        assert!((row.gpu_ms - 7.0).abs() < 1e-9, "{}", row.gpu_ms);
        // Two frames and the wait for both: 3 ms a frame, or more on a busy machine.
        assert!(row.frame_ms >= 3.0 && row.frame_ms < 1000.0, "{}", row.frame_ms);
        assert_eq!((row.backward_ms, row.step_ms), (None, None));
        assert_eq!((row.pairs, row.fragments_blended), (20, 1000));
        assert!(
            (row.ns_per_blended - 4000.0).abs() < 1e-6,
            "{}",
            row.ns_per_blended
        );
        assert_eq!(row.psnr_vs_reference, SAME_BITS);
        assert_eq!(ticks, passes(5, false));
        assert_eq!((renderer.frames, renderer.finished), (10, 6));
    }

    #[test]
    fn medians() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn stages_keep_their_order_and_are_summed_over_a_pass() {
        let mut samples = Samples::default();
        for scale in [1.0, 3.0, 2.0] {
            let mut pass = StageTimes::new();
            add(&mut pass, vec![("sort", 0.001 * scale), ("blend", 0.004)]);
            add(&mut pass, vec![("sort", 0.003 * scale)]);
            samples.push(pass);
        }
        let found = samples.medians(2.0);
        assert!(
            (found[0].1 - 4.0).abs() < 1e-9 && (found[1].1 - 2.0).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!((found[0].0, found[1].0), ("sort", "blend"));
    }
}
