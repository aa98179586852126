//! Where the work is, for whoever watches.

use crate::Observer;
use crate::pace::Pace;
use crate::progress::Progress;
use std::time::{Duration, Instant};

/// How often the observer hears something, if nothing happens.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Tells an observer where the work is.
pub struct Track<'a> {
    observer: &'a mut dyn Observer,
    now: Progress,
    /// Seconds that the phases after this one are expected to take.
    later: Option<f64>,
    pace: Pace,
    begun: Instant,
    told: Instant,
}

impl<'a> Track<'a> {
    /// Work of so many phases.
    pub fn new(observer: &'a mut dyn Observer, phases: usize) -> Self {
        Self {
            observer,
            now: Progress {
                phase: 0,
                phases,
                name: "",
                done: 0,
                total: 0,
                detail: String::new(),
                seconds_left: None,
                seconds_left_in_all: None,
            },
            later: None,
            pace: Pace::default(),
            begun: Instant::now(),
            told: Instant::now(),
        }
    }

    /// Whether to stop.
    pub fn stop(&self) -> bool {
        self.observer.stop()
    }

    /// Something worth knowing.
    pub fn note(&mut self, line: &str) {
        self.observer.note(line);
    }

    /// Phase number `phase` begins. It, and those that follow, are expected to take so many
    /// seconds.
    pub fn begin(
        &mut self,
        phase: usize,
        name: &'static str,
        total: u64,
        [expected, later]: [Option<f64>; 2],
    ) {
        self.now.phase = phase;
        (self.now.name, self.now.total, self.now.done) = (name, total, 0);
        self.now.detail.clear();
        (self.pace, self.later) = (Pace::new(expected), later);
        self.begun = Instant::now();
        self.tell();
    }

    /// So many units of `total` are done, which is this share of the work.
    pub fn mark(&mut self, done: u64, total: u64, share: f64) {
        (self.now.done, self.now.total) = (done, total);
        self.pace.mark(self.seconds(), share.clamp(0.0, 1.0));
        self.tell();
    }

    /// As [`mark`](Self::mark), for units that take equally long.
    pub fn count(&mut self, done: u64, total: u64) {
        let share = if total == 0 {
            0.0
        } else {
            done as f64 / total as f64
        };
        self.mark(done, total, share);
    }

    /// What happens now.
    pub fn detail(&mut self, text: &str) {
        if self.now.detail != text {
            self.now.detail = text.to_owned();
            self.tell();
        }
    }

    /// Time passes: tells the observer if it has heard nothing for a while.
    pub fn tick(&mut self) {
        if self.told.elapsed() >= TELL_EVERY {
            self.tell();
        }
    }

    /// Seconds since the phase began.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn tell(&mut self) {
        self.told = Instant::now();
        self.now.seconds_left = self.pace.left(self.seconds());
        let all = self.now.seconds_left.zip(self.later);
        self.now.seconds_left_in_all = all.map(|(now, later)| now + later);
        self.observer.progress(&self.now);
    }
}
