//! The papers' tables, in their own layout: what was measured here beside what they print.
//!
//! Somebody measures: for each scene every [`Run`] of [`Paper::runs`] gives an [`Outcome`], and
//! [`Measured`] holds them, with trainings ([`Training`]) for papers that train, and with
//! [`CompressedModel`]s of the scenes for papers that time those. [`Report::new`] makes the tables
//! of that and writes them as text, as a page and as JSON.
//!
//! One file a paper, `tables/NAME.toml`, holds its numbers, with the table that each came from, and
//! which pipelines its rows are; `described` reads it, and `spec` turns that and the measurements
//! into tables.

mod about;
mod compression;
mod counts;
mod described;
mod html;
mod metric;
mod models;
pub mod page;
mod paper;
#[cfg(test)]
mod printed_tests;
mod report;
mod row;
mod run;
mod scene;
mod spec;
mod table;
#[cfg(test)]
mod test_data;
mod text;
mod training;

pub use about::About;
pub use compression::Compression;
pub use metric::Format;
pub use paper::Paper;
pub use report::{Measured, Report};
pub use row::{Row, StagesMs, is_backward};
pub use run::{Also, Run};
pub use scene::{CompressedModel, Outcome, Scene};
pub use table::{Column, Group, Table, TableRow};
pub use training::Training;
