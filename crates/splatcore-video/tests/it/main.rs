//! Tests of the public interface.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod animated;
mod folders;
mod support;
mod videos;
