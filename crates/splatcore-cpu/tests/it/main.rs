//! The tests of this crate against its twin and other programs in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod conformance;
mod footprints;
mod loss;
mod panorama;
mod vanilla;
mod vectors;
