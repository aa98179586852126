//! When the phases of a run begin and end, for metrics.json. Phases overlap where work is done at
//! the same time, so that their seconds add up to more than the run's.

use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A piece of work between the start of the program and the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// Seconds since the program's start.
    pub begin: f64,
    /// Seconds since the program's start.
    pub end: f64,
}

/// Takes down phases, from any thread.
pub struct Timeline {
    start: Instant,
    phases: Mutex<Vec<Phase>>,
}

impl Timeline {
    /// Without phases; seconds count from `start`.
    pub fn since(start: Instant) -> Self {
        Self {
            start,
            phases: Mutex::default(),
        }
    }

    /// Does the work of a phase. One that fails is a phase too.
    pub fn time<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let done = work();
        self.note(name, begin, Instant::now());
        done
    }

    /// Takes down a phase that is over.
    pub fn note(&self, name: &'static str, begin: Instant, end: Instant) {
        let seconds = |at: Instant| at.saturating_duration_since(self.start).as_secs_f64();
        let (begin, end) = (seconds(begin), seconds(end));
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        phases.push(Phase { name, begin, end });
    }

    /// The phases so far, in the order in which they began.
    pub fn phases(&self) -> Vec<Phase> {
        let phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        let mut phases = phases.clone();
        phases.sort_by(|a, b| a.begin.total_cmp(&b.begin));
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn phases_come_in_the_order_in_which_they_began() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let timeline = Timeline::since(start);
        timeline.note("second", after(500), after(750));
        timeline.note("first", after(250), after(1000));
        let phases = timeline.phases();
        let told: Vec<_> = phases.iter().map(|p| (p.name, p.begin, p.end)).collect();
        assert_eq!(told, [("first", 0.25, 1.0), ("second", 0.5, 0.75)]);
    }

    #[test]
    fn work_is_timed_and_its_result_returned() {
        let timeline = Timeline::since(Instant::now());
        let pause = Duration::from_millis(20);
        let done: Result<(), u8> = timeline.time("fails", || {
            std::thread::sleep(pause);
            Err(7)
        });
        assert_eq!(done, Err(7));
        let [phase] = timeline.phases().try_into().unwrap();
        assert!(phase.end - phase.begin >= pause.as_secs_f64(), "{phase:?}");
    }
}
