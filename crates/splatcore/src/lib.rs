//! Photos in, Gaussian splats out: every splatcore library under one name, for programs that want
//! more than the command line.
//!
//! - [`core`]: Gaussians, cameras, images, metrics, the traits that a backend implements
//! - [`data`]: datasets and scene files in, scene files out
//! - [`cpu`]: the portable backend
//! - [`cuda`]: the backend for NVIDIA cards, which says so when there is none
//! - [`path`]: camera paths, their curves and files
//! - [`poses`]: photos or a video to a dataset, by way of COLMAP
//! - `tensors`: stateless operations on slices, with their gradients (feature `tensors`)
//! - [`train`]: the trainer, checkpoints, evaluation
//! - [`video`]: frames to videos
//!
//! Rendering one Gaussian:
//!
//! ```
//! use splatcore::core::backend::RenderOptions;
//! use splatcore::core::{Backend, Camera, Gaussians};
//! use splatcore::cpu::CpuBackend;
//!
//! let mut scene = Gaussians::zeros(1, 0);
//! scene.log_scales[0] = [-1.0; 3];
//! scene.rotations[0] = [1.0, 0.0, 0.0, 0.0];
//! scene.opacity_logits[0] = 3.0;
//! scene.sh[0] = [1.0, 0.0, -1.0];
//!
//! let up = [0.0, -1.0, 0.0];
//! let camera = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], up, 0.8, 64, 48);
//! let mut renderer = CpuBackend::new(None).renderer(&scene)?;
//! let image = renderer.render(&camera, &RenderOptions::default())?.image;
//!
//! let middle = image.data[24 * 64 + 32];
//! assert!(middle[0] > middle[1] && middle[1] > middle[2]);
//! # Ok::<(), splatcore::core::BackendError>(())
//! ```

#[cfg(test)]
#[macro_use]
extern crate splatcore_test_support;

mod backends;
mod cameras;
mod channels;
mod command_line;
mod commands;
mod ending;
mod first_view;
mod habits;
mod held_out;
mod help;
mod hotspots;
mod interrupt;
mod load;
mod looks;
mod orbit;
mod other_programs;
mod output;
#[cfg_attr(
    not(feature = "lab"),
    expect(dead_code, reason = "only the lab starts the program again")
)]
mod program;
mod progress;
mod projection;
mod ranks;
mod remedy;
mod report;
mod run;
mod scene_source;
mod sharing;
mod site;
mod sizing;
mod sky;
mod start;
mod table;
mod up;
mod viewing;

use std::ffi::OsString;
use std::process::ExitCode;

pub use splatcore_core as core;
pub use splatcore_cpu as cpu;
pub use splatcore_cuda as cuda;
pub use splatcore_data as data;
pub use splatcore_path as path;
pub use splatcore_poses as poses;
#[cfg(feature = "tensors")]
pub use splatcore_tensors as tensors;
pub use splatcore_train as train;
pub use splatcore_video as video;
pub use splatcore_view as view;

/// The sky behind the scene of a file: the one that the run in whose folder the file lies learned,
/// turned as the scene was since. `None` if it learned none.
///
/// # Errors
/// One line that says what is wrong with the sky's file.
pub fn sky_behind(scene: &std::path::Path) -> Result<Option<core::sky::Sky>, String> {
    let sky = scene_source::SceneSource::find(scene).and_then(|source| source.sky_beside());
    sky.map_err(|error| output::one_line(&error))
}

/// The command line, for the program `splatcore`: runs what the arguments, the first of which is
/// the program's name, ask for.
#[doc(hidden)]
pub fn command_line(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    command_line::run(arguments, Vec::new()).into()
}

/// The command line, for a process of another program: as [`command_line`], and `again` is what
/// starts it in another process, where arguments follow. Returns the exit code.
#[doc(hidden)]
pub fn command_line_within(
    arguments: impl IntoIterator<Item = OsString>,
    again: Vec<OsString>,
) -> u8 {
    command_line::run(arguments, again)
}
