//! Photos or a video to a posed dataset, by way of COLMAP.
//!
//! [`find_poses`] runs COLMAP, or pycolmap, on photos or on frames of a video, and writes a dataset
//! that splatcore trains on: `images` and `sparse/0`. [`Report`] says how good the poses are and
//! what to photograph again. Structure from motion itself is not in this crate.
//!
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | what happens in which order, and what is not repeated | `run.rs`, `steps.rs`, `state.rs` |
//! | which program runs, with which arguments | `program/` |
//! | how is it started, heard and ended | `child.rs`, `log_lines.rs` |
//! | how far is it, how long does it still take | `track.rs`, `pace.rs`, `effort.rs` |
//! | which photos are there, which share a camera, which are compared | `photos.rs`, `groups.rs`, `pairs.rs` |
//! | how do photos of 360 degrees get a pose | `panoramas.rs`, `taken.rs` |
//! | which frames of a video are taken, how and when | `video/` |
//! | how do poses account for a rolling shutter | `times.rs`, `video/gyro/`, `rolling.rs` |
//! | how good is the result | `check/` |

mod check;
mod child;
mod earlier;
mod effort;
mod error;
mod forecast;
mod groups;
mod job;
mod log;
mod log_lines;
mod natural;
mod pace;
mod pairs;
mod panoramas;
mod photos;
mod program;
mod progress;
mod rolling;
mod run;
mod state;
mod steps;
mod taken;
mod times;
mod track;
pub mod video;
mod work;

pub use check::Report;
pub use error::PosesError;
pub use forecast::{Forecast, forecast};
pub use job::{CAMERA_MODELS, Cameras, Job, Mapper, Matching, Observer};
pub use photos::check_video;
pub use program::{Installed, installed};
pub use progress::Progress;
pub use run::{Outcome, find_poses};
