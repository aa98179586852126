//! Times of stages over frames and passes.

use splatcore_core::backend::StageTimes;
use splatcore_papers::StagesMs;

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

    /// Adds the passes over other frames to these, pass by pass.
    pub fn merge(&mut self, other: Self) {
        for (stage, theirs) in other.0 {
            match self.0.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, ours)) => ours.iter_mut().zip(theirs).for_each(|(a, b)| *a += b),
                None => self.0.push((stage, theirs)),
            }
        }
    }

    /// The median of each stage in milliseconds a frame.
    pub fn medians(mut self, views: f64) -> StagesMs {
        let ms =
            |(name, values): &mut (&'static str, Vec<f64>)| (*name, median(values) * 1e3 / views);
        self.0.iter_mut().map(ms).collect()
    }
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
