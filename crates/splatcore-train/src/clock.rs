//! Wall time of training.

use std::sync::Arc;
use std::time::Instant;

/// Seconds since some moment, from a clock that never goes back. Tests have one of their own.
pub type Now = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The machine's clock, from now on.
pub(crate) fn real() -> Now {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_secs_f64())
}

/// Wall time of training, without pauses, and the recent speed.
pub(crate) struct Clock {
    now: Now,
    before: f64,
    started: f64,
    excluded: f64,
    marked: (u32, f64),
    seconds_per_step: Option<f64>,
}

impl Clock {
    pub fn start(now: Now, before: f64, step: u32) -> Self {
        Self {
            before,
            started: now(),
            now,
            excluded: 0.0,
            marked: (step, before),
            seconds_per_step: None,
        }
    }

    pub fn seconds(&self) -> f64 {
        self.before + ((self.now)() - self.started - self.excluded).max(0.0)
    }

    pub fn exclude(&mut self, seconds: f64) {
        self.excluded += seconds;
    }

    /// Steps a second, smoothed over some calls.
    pub fn rate(&mut self, step: u32) -> f64 {
        let now = self.seconds();
        let (from, since) = self.marked;
        if step > from {
            let fresh = (now - since).max(1e-9) / (step - from) as f64;
            self.seconds_per_step = Some(
                self.seconds_per_step
                    .map_or(fresh, |old| old + 0.3 * (fresh - old)),
            );
            self.marked = (step, now);
        }
        self.seconds_per_step.map_or(0.0, |seconds| 1.0 / seconds)
    }
}
