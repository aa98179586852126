//! Tests of the whole backend: against the twin, the CPU backend, and scenes at which it may fail.

mod built_in;
mod conformance;
mod equal_backends;
mod equal_quality;
mod faults;
mod not_a_number;
mod option_pairs;
mod ranks_that_fail;
mod real_gradients;
pub mod support;
mod tunables;
