//! Files in and out: posed photos ([`dataset`]), scenes ([`scene`]), and a ray-traced dataset that
//! needs no download ([`procedural`]).
//!
//! Nothing here panics on any input. Every error is a [`DataError`]: which file, where in it, what
//! is wrong, what to do. Files are written beside their final name and renamed when complete.

mod error;
pub mod file;
mod foreign;
pub mod lock;
mod same_file;
mod words;

pub mod dataset;
pub mod picture;
pub mod procedural;
pub mod scene;

pub use error::{DataError, Place};
