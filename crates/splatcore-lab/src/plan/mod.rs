//! Advice on what to change: what a planner gives, what rules and a profile leave of it.

mod advice;
mod rules;

pub mod json;

pub use advice::{Advice, By, Dropped, Kind, MAX_ADVICE, Plan, read_advice, read_choice};
pub use rules::prune;
