//! The tests of the viewer in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

#[cfg(unix)]
mod browser;
mod client;
#[cfg(unix)] // raises the limit of open files
mod connections;
#[cfg(unix)]
mod edit_browser;
mod editing;
mod handles_browser;
mod projections;
#[cfg(unix)]
mod projections_browser;
mod server;
mod start;
mod support;
