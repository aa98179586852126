//! Tests of the public interface.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod curves;
mod formats;
mod generated;
mod hostile;
mod page;
mod support;
