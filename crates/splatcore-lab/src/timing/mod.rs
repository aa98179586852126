//! Whether a candidate is faster: whole frames of living workers that take turns, two of the
//! baseline and two of the candidate.
//!
//! A *round* renders the same frames in the order baseline, candidate, candidate, baseline, or the
//! other way round, so that a drift of the card's clock cancels. Frames are in a new order and from
//! cameras moved a little in every round, so that nothing can be kept from one round to the next.
//! A round gives one number: the mean over the scenes of ln(candidate / baseline). The verdict is a
//! confidence interval of the median of these numbers.

mod paired;
mod verdict;

pub use paired::{Contestants, TimedScene, clocks_agree, round};
pub(crate) use paired::{drawn, turn};

pub use verdict::{PROCESSES, Plan, ROUNDS, Standing, interval, margin, noise, settle};
