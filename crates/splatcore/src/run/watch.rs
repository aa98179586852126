//! What happens beside the training.

use super::metrics::Measured;
use super::photos::listed;
use super::timeline::Timeline;
use crate::interrupt::Guard;
use crate::output::{duration, thousands};
use crate::progress::{self, Progress};
use crate::ranks::Rank;
use crate::viewing::Live;
use splatcore_core::backend::{Learner, RenderOptions, Renderer};
use splatcore_core::{Camera, View};
use splatcore_train::intrinsics::LensChange;
use splatcore_train::memory::Bytes;
use splatcore_train::{Event, Extras, Observer, Planned, ResolvedConfig, Signal, evaluate_with};
use splatcore_view::Moment;
use std::borrow::Cow;
use std::time::Instant;

/// Shows progress, hears Ctrl-C, measures now and then.
pub struct Watch<'a> {
    pub progress: Progress,
    pub guard: Guard,
    pub measured: Cow<'a, [View]>,
    /// The same with the dataset's cameras.
    given: &'a [View],
    /// They are the photos trained on, whose cameras may move.
    trained_on: bool,
    pub align_colour: bool,
    pub psnr: Vec<Measured>,
    /// The browsers that look, if the run is shown.
    pub live: Option<Live>,
    /// When steps were taken.
    pub steps: Steps,
}

/// When the first step began, when it was launched, and when the last one was. A card does what was
/// launched later.
pub struct Steps {
    begun: Instant,
    first: Option<Instant>,
    last: Instant,
}

impl Steps {
    fn begin() -> Self {
        let begun = Instant::now();
        Self {
            begun,
            first: None,
            last: begun,
        }
    }

    fn taken(&mut self) {
        self.last = Instant::now();
        self.first.get_or_insert(self.last);
    }

    /// Takes down the first step, the other steps, and the wait until now for what was launched.
    pub fn note(&self, timeline: &Timeline) {
        let first = self.first.unwrap_or(self.last);
        timeline.note("launch the first step", self.begun, first);
        timeline.note("take the other steps", first, self.last);
        timeline.note("wait for the last step", self.last, Instant::now());
    }
}

impl<'a> Watch<'a> {
    /// Begins to show progress and to hear Ctrl-C.
    pub fn start(
        config: &ResolvedConfig,
        (measured, split): (&'a [View], &str),
        live: Option<Live>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            progress: Progress::new("training", config.iterations.into()),
            guard: Guard::start()?,
            measured: Cow::Borrowed(measured),
            given: measured,
            trained_on: split == "train",
            align_colour: config.loss.colour.is_some(),
            psnr: Vec::new(),
            live,
            steps: Steps::begin(),
        })
    }
}

impl Watch<'_> {
    /// What was measured, and what goes on showing the run.
    pub fn end(self) -> (Vec<Measured>, Option<Live>) {
        (self.psnr, self.live)
    }

    /// Measures with these cameras from now on. Held-out photos keep the dataset's poses until the
    /// scene stands still.
    fn look_from(&mut self, trained: &[Camera], lenses: &[LensChange]) {
        let cameras: Vec<Camera> = match self.trained_on {
            true => trained.to_vec(),
            false if lenses.is_empty() => return,
            false => {
                let given = self.given.iter().map(|view| &view.camera);
                given.map(|camera| LensChange::of(lenses, camera)).collect()
            }
        };
        for (view, camera) in self.measured.to_mut().iter_mut().zip(cameras) {
            view.camera = camera;
        }
    }
}

impl Observer for Watch<'_> {
    fn signal(&mut self) -> Signal {
        self.steps.taken();
        if self.guard.stop_requested() {
            Signal::Stop
        } else {
            Signal::Continue
        }
    }

    fn wants_look(&mut self) -> bool {
        self.live.as_ref().is_some_and(Live::wants_look)
    }

    fn look(&mut self, step: u32, learner: &mut dyn Learner, options: &RenderOptions) -> Signal {
        let guard = &self.guard;
        let interrupted = || guard.stop_requested();
        match &mut self.live {
            Some(live) => {
                let moment = Moment {
                    learner,
                    options,
                    step,
                };
                live.look(moment, &interrupted)
            }
            None => Signal::Continue,
        }
    }

    fn progress(&mut self, p: &splatcore_train::Progress) -> Signal {
        if let Some(live) = &mut self.live {
            live.progress(p);
        }
        // Steps get slower as Gaussians come, so what was planned counts too.
        let share = f64::from(p.step) / f64::from(p.iterations.max(1));
        let left = progress::weighed(p.seconds_left, share);
        self.progress.set_total(p.iterations.into());
        self.progress.tell(p.step.into(), Some(left), || {
            // What matters most comes first: a narrow terminal cuts the end.
            let first = match progress::in_whole() {
                true => String::new(),
                false => format!("{} left, ", duration(p.seconds_left)),
            };
            format!(
                "{first}{:.1} steps/s, loss {:.4}, {} Gaussians",
                p.steps_per_second,
                p.loss,
                thousands(p.gaussians as u64)
            )
        });
        Signal::Continue
    }

    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Saved { .. } => {}
            Event::Cameras { trained, lenses } => self.look_from(trained, lenses),
            Event::NotSaved(error) => self.progress.note(&format!(
                "warning: training goes on without this checkpoint: {error}"
            )),
            Event::PoseLimits { names } => self.progress.note(&at_pose_limits(names)),
            Event::IntrinsicsLimits { names } => self.progress.note(&format!(
                "warning: the intrinsics of {} and its like want to go beyond their limit \
                 (--intrinsics-limit): check the camera that the dataset gives these photos, or \
                 raise the limit",
                listed(names)
            )),
            Event::Offloaded { bytes } => self.progress.note(&offloaded(*bytes)),
            Event::Planned(planned) => self.progress.note(&in_words(planned)),
            Event::Reached { step, psnr, end } => self.progress.note(&format!(
                "quality target: the held-out photos have {psnr:.2} dB after step {}; rates fall \
                 until step {}",
                thousands(u64::from(*step)),
                thousands(u64::from(*end))
            )),
        }
    }

    fn measure(&mut self, step: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        let extras = Extras {
            align_colour: self.align_colour,
            ..Extras::default()
        };
        match evaluate_with(renderer, &self.measured, options, extras, &|_, _, _, _| {}) {
            Ok(found) => {
                let psnr = found.psnr;
                self.psnr.push(Measured { step, psnr });
                if let Some(live) = &mut self.live {
                    live.measured(step, found.psnr);
                }
                let aligned = found
                    .psnr_aligned
                    .map(|psnr| format!(", colours aligned {psnr:.2} dB"));
                self.progress.note(&format!(
                    "step {step}: PSNR {:.2} dB, SSIM {:.4}{}",
                    found.psnr,
                    found.ssim,
                    aligned.unwrap_or_default()
                ));
            }
            // Training itself is sound: say so and go on.
            Err(error) => self
                .progress
                .note(&format!("warning: not measured at step {step}: {error}")),
        }
    }
}

/// Another rank than rank 0, which tells the rest.
pub struct Follower<'a>(pub &'a Rank);

impl Observer for Follower<'_> {
    fn note(&mut self, event: &Event<'_>) {
        if let Event::Offloaded { bytes } = event {
            self.0.say(&offloaded(*bytes));
        }
    }
}

/// What to say of photos whose poses have come to a limit.
fn at_pose_limits(names: &[&str]) -> String {
    let (poses, which, photos) = match names {
        [_] => (
            "the pose of",
            "wants to go beyond its limit",
            "that photo, leave it",
        ),
        _ => (
            "the poses of",
            "want to go beyond their limits",
            "those photos, leave them",
        ),
    };
    format!(
        "warning: {poses} {} {which} (--pose-degrees, --pose-shift): check {photos} out, or raise \
         the limits",
        listed(names)
    )
}

fn offloaded(bytes: u64) -> String {
    format!(
        "memory: the card's is short, {} of the scene lie in the computer's",
        Bytes(bytes)
    )
}

/// The plan of a run with a budget.
fn in_words(planned: &Planned) -> String {
    if planned.left <= 0.0 {
        return format!(
            "warning: the budget was spent before training began ({} passed, what follows takes \
             {}); a few steps are taken",
            duration(planned.before),
            duration(planned.after)
        );
    }
    let most = match planned.max_gaussians {
        Some(most) => format!(", at most {} Gaussians", thousands(most as u64)),
        None => String::new(),
    };
    format!(
        "budget: about {} steps fit{most} ({:.2} ms a step now; {} passed before the first, {} are \
         kept for what follows the last)",
        thousands(planned.iterations.into()),
        1e3 * planned.seconds_a_step,
        duration(planned.before),
        duration(planned.after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_at_a_limit_are_told_in_one_line() {
        let one = at_pose_limits(&["a.jpg"]);
        assert!(one.contains("the pose of a.jpg wants"), "{one}");
        assert!(one.contains("check that photo, leave it out"), "{one}");
        let many = at_pose_limits(&["a", "b", "c", "d", "e", "f", "g"]);
        assert!(
            many.contains("the poses of a, b, c, d, e and 2 more want to"),
            "{many}"
        );
    }
}
