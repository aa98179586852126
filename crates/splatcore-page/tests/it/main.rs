//! The tests of the page in a real browser, in one program: it is linked once. Skipped where there
//! is no Chromium or no data.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only
#![cfg(unix)] // the browser is started as unix does

mod controls;
mod damage;
mod framing;
mod headset;
mod hotspots;
mod motion;
mod pictures;
mod server;
mod sharing;
mod site;
mod support;
mod touch;
