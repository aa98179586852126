//! `densify`: changes of the set of Gaussians, on the device; launches `ops/densify/densify.cu`,
//! which says how and how fast. CPU twin: `splatcore_cpu::densify`; the order of Gaussians
//! afterwards is the same.
//!
//! `densifier` declares [`Densify`] and what all rounds share. `refinement` takes a refinement and
//! launches its beginning and end. Between them stand the steps of a method: `adc` (with
//! `adc_choose`), `mcmc`, `prune`, `reset_opacity`. They share `lists` of Gaussians with some
//! `actions`, who is `within` a region, `totals` (the counts, on the device), `rows` (append,
//! overwrite, compact) of `arrays` of the state, which ranks may divide (`divided`), `reserve`
//! (room for more) and `pool` (memory beside the state). `kernels` names the kernels, `params`
//! declares their parameters.
//!
//! Memory beside the state: lists of some 5 (adc) to 21 (mcmc) bytes a Gaussian, and scratch of 32
//! bytes a Gaussian to compact through; kept for the next refinement where memory is plenty
//! (`pool`).
//!
//! Where the host waits: not at all where memory is plenty ([`Densify::launch`]). Sizes stay on the
//! device, the host launches for the most that there may be, and learns the numbers with the look
//! that tells it how far the steps are. It guesses how much room adc's growth takes from the rounds
//! before; should that be too little, the frame overflows as it does when pairs have no room. Where
//! memory is short, and for pruning, [`Densify::refine`] waits for the sizes and reserves no more
//! than they ask for.
//!
//! What costs time is allocating and freeing (each free waits for the device), and growing the
//! state by way of the host, a tenth at a time: both are left to where memory is short.

mod actions;
mod adc;
mod adc_choose;
mod arrays;
mod densifier;
mod divided;
mod kernels;
mod lists;
mod mcmc;
mod params;
mod pool;
mod prune;
mod refinement;
mod reserve;
mod reset_opacity;
mod rows;
mod totals;
mod within;

pub use arrays::{arrays, whole_arrays};
pub use densifier::Densify;
pub use kernels::program;
pub use reserve::reserve;
pub use totals::{Launched, REFINEMENTS, Totals};

#[cfg(test)]
mod tests;
