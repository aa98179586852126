//! The crate as a whole: against a program that only pretends, and against real ones.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

#[macro_use]
extern crate splatcore_test_support;

#[cfg(unix)]
mod fake;
#[cfg(unix)]
mod goes_on;
#[cfg(unix)]
mod gyro;
mod model;
#[cfg(unix)]
mod panoramas;
#[cfg(unix)]
mod real;
#[cfg(unix)]
mod runs;
mod similarity;
#[cfg(unix)]
mod tells;
#[cfg(unix)]
mod videos;
