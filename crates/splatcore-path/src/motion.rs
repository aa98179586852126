//! When the camera is where on its curve: speed, easing, the times of frames.

use crate::linear::distance;

/// How a curve is travelled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// The position moves at one speed (distance per second) from start to end; the keyframes'
    /// times then only say how long the camera stays where it does not move.
    pub constant_speed: bool,
    /// How the whole path starts and ends.
    pub ramp: Ramp,
}

/// How a path starts and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ramp {
    /// At full speed.
    #[default]
    None,
    /// It starts from rest.
    In,
    /// It ends at rest.
    Out,
    /// Both.
    InOut,
}

impl Ramp {
    /// The share of the way after a share of the time, both 0 to 1: cubics with slope 0 at the ends
    /// that rest, and slope 1.5 at those that do not.
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::None => x,
            Self::In => x * x * (3.0 - x) / 2.0,
            Self::Out => 1.0 - Self::In.at(1.0 - x),
            Self::InOut => x * x * (3.0 - 2.0 * x),
        }
    }
}

/// Cells of the table of lengths: at most per piece of the curve, and about in all.
const CELLS_OF_A_PIECE: usize = 512;
const CELLS: usize = 1 << 17;

/// The way along a curve, as a table over the keyframes' clock.
#[derive(Clone, Debug)]
pub(crate) struct Speed {
    /// Of the keyframes' clock, increasing.
    times: Vec<f64>,
    /// Share of the way up to each time, from 0 to 1.
    shares: Vec<f64>,
}

impl Speed {
    /// Measures a curve by chords, from the times of its keys and its position at a time. A piece
    /// in which the position stays counts by its time, as much way as the camera makes in that time
    /// elsewhere.
    pub fn of(key_times: &[f64], position_at: impl Fn(f64) -> [f64; 3]) -> Self {
        let pieces = key_times.len() - 1;
        let cells = (CELLS / pieces).clamp(4, CELLS_OF_A_PIECE);
        let mut times = vec![0.0];
        let mut lengths = vec![];
        let mut moving = 0.0;
        let mut last = position_at(0.0);
        for piece in key_times.windows(2) {
            let start = lengths.len();
            for cell in 1..=cells {
                let time = piece[0] + (piece[1] - piece[0]) * cell as f64 / cells as f64;
                let position = position_at(time);
                lengths.push(distance(last, position));
                times.push(time);
                last = position;
            }
            // What is held jumps in the last cell.
            let cells = &lengths[start..lengths.len() - 1];
            if cells.iter().any(|&length| length > 0.0) {
                moving += piece[1] - piece[0];
            } else {
                lengths[start..].fill(f64::NAN);
            }
        }
        let way: f64 = lengths.iter().filter(|length| !length.is_nan()).sum();
        let speed = if moving > 0.0 { way / moving } else { 1.0 };
        let mut total = 0.0;
        let mut shares = vec![0.0];
        for (length, time) in lengths.iter().zip(times.windows(2)) {
            total += match length.is_nan() {
                true => speed * (time[1] - time[0]),
                false => *length,
            };
            shares.push(total);
        }
        for share in &mut shares {
            *share /= total;
        }
        Self { times, shares }
    }

    /// The keyframes' time after a share of the way, 0 to 1.
    pub fn time_at(&self, share: f64) -> f64 {
        let last = self.times.len() - 1;
        let after = self.shares.partition_point(|&s| s <= share).clamp(1, last);
        let [s0, s1] = [self.shares[after - 1], self.shares[after]];
        let [t0, t1] = [self.times[after - 1], self.times[after]];
        match s1 > s0 {
            true => t0 + (t1 - t0) * ((share - s0) / (s1 - s0)).clamp(0.0, 1.0),
            false => t0,
        }
    }
}
