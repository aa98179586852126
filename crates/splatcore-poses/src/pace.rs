//! How long a piece of work still takes: at first what was expected, then what was measured.

use std::collections::VecDeque;

/// Speed is measured over so many seconds, so that what is skipped at the start does not count for
/// long.
const WINDOW: f64 = 60.0;
/// What is measured counts alone once this share of the work was seen.
const ENOUGH: f64 = 0.1;
/// Work that takes longer than was expected and counts nothing is said to take this share of what
/// it has taken.
const OVERDUE: f64 = 0.2;

/// One piece of work. Times are seconds since its begin.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// Seconds that the whole is expected to take, if anything is known of it.
    expected: Option<f64>,
    /// When which share, 0 to 1, was done.
    marks: VecDeque<(f64, f64)>,
}

impl Pace {
    /// Work that is expected to take so many seconds.
    pub fn new(expected: Option<f64>) -> Self {
        let marks = VecDeque::from([(0.0, 0.0)]);
        Self { expected, marks }
    }

    /// This share is done now.
    pub fn mark(&mut self, now: f64, share: f64) {
        // A mapper that gives up a model begins again.
        if self.marks.back().is_some_and(|(_, last)| *last > share) {
            self.marks.clear();
        }
        self.marks.push_back((now, share));
        while self.marks.len() > 2 && self.marks[1].0 < now - WINDOW {
            self.marks.pop_front();
        }
    }

    /// Seconds left, as far as can be told.
    pub fn left(&self, now: f64) -> Option<f64> {
        let (&(t0, s0), &(t1, s1)) = (self.marks.front()?, self.marks.back()?);
        let seen = s1 - s0;
        let expected = self.expected.map(|all| {
            // Without a count there is only the clock.
            let left = if s1 > 0.0 { all * (1.0 - s1) } else { all };
            (left - (now - t1)).max(OVERDUE * (now - t1))
        });
        if seen <= 0.0 || t1 <= t0 {
            return expected;
        }
        let measured = ((1.0 - s1) * (t1 - t0) / seen - (now - t1)).max(0.0);
        let trust = (seen / ENOUGH).min(1.0);
        match expected {
            Some(expected) => Some(trust * measured + (1.0 - trust) * expected),
            None => Some(measured),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_gives_way_to_what_is_measured() {
        let mut pace = Pace::new(Some(100.0));
        assert_eq!(pace.left(0.0), Some(100.0));
        assert_eq!(pace.left(30.0), Some(70.0));
        // Twice as slow as expected.
        pace.mark(20.0, 0.1);
        assert_eq!(pace.left(20.0), Some(180.0));
        assert_eq!(pace.left(25.0), Some(175.0));
        pace.mark(30.0, 0.15);
        let left = pace.left(30.0).unwrap();
        assert!((left - 170.0).abs() < 1e-9, "{left}");
    }

    #[test]
    fn what_is_skipped_counts_for_a_minute() {
        let mut pace = Pace::new(None);
        assert_eq!(pace.left(1.0), None);
        pace.mark(1.0, 0.5);
        for second in 2..100 {
            pace.mark(f64::from(second), 0.5 + 0.001 * f64::from(second));
        }
        let left = pace.left(99.0).unwrap();
        assert!((left - 401.0).abs() < 1.0, "{left}");
    }

    #[test]
    fn overdue_work_is_never_nearly_done() {
        let pace = Pace::new(Some(10.0));
        assert_eq!(pace.left(100.0), Some(20.0));
        let mut pace = Pace::new(Some(10.0));
        pace.mark(50.0, 0.9);
        pace.mark(60.0, 0.1);
        assert!(pace.left(60.0).unwrap() > 5.0, "it began again");
    }
}
