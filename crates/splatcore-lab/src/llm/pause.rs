//! Waiting that can be interrupted.

use super::model::{ModelError, Role};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How waiting is done. A run that is told to stop ends a wait within a tenth of a second.
#[derive(Clone)]
pub struct Pause {
    end: Option<Instant>,
    stop: Arc<dyn Fn() -> bool + Send + Sync>,
    sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Pause {
    /// Asks `stop` ten times a second whether the run was told to stop.
    pub fn new(stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            end: None,
            stop: Arc::new(stop),
            sleep: Arc::new(std::thread::sleep),
        }
    }

    /// Calls `sleep` in place of sleeping, for tests.
    pub fn with_sleep(sleep: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self {
            end: None,
            stop: Arc::new(|| false),
            sleep: Arc::new(sleep),
        }
    }

    /// Tells the run to stop at `end` too, if there is one.
    #[must_use]
    pub fn until(self, end: Option<Instant>) -> Self {
        Self { end, ..self }
    }

    /// The time until the end; `None` without one.
    pub fn left(&self) -> Option<Duration> {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.end.map(left)
    }

    /// Whether the run was told to stop.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if so.
    pub fn check(&self, role: Role) -> Result<(), ModelError> {
        let is_over = self.left().is_some_and(|left| left.is_zero());
        match is_over || (self.stop)() {
            true => Err(ModelError::Stopped(role)),
            false => Ok(()),
        }
    }

    /// Waits.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if the run is told to stop meanwhile.
    pub fn wait(&self, duration: Duration, role: Role) -> Result<(), ModelError> {
        const SLICE: Duration = Duration::from_millis(100);
        let mut left = duration;
        while !left.is_zero() {
            self.check(role)?;
            let slice = left.min(SLICE);
            (self.sleep)(slice);
            left -= slice;
        }
        self.check(role)
    }
}

impl Default for Pause {
    fn default() -> Self {
        Self::new(|| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_wait_ends_when_the_run_is_told_to_stop() {
        let stop = Arc::new(AtomicBool::new(true));
        let told = Arc::clone(&stop);
        let pause = Pause::new(move || told.load(Ordering::Relaxed));
        let error = pause.wait(Duration::from_secs(3600), Role::Coder);
        assert_eq!(error, Err(ModelError::Stopped(Role::Coder)));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(pause.wait(Duration::from_millis(1), Role::Coder), Ok(()));
    }
}
