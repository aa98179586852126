//! `splatcore render`: a scene to PNG files, or along a camera path to a video.

mod args;
mod film;
mod path_args;
mod pictures;
mod plan;
mod shots;
mod sinks;

pub use args::Args;

use anyhow::Result;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    match args.path.given() {
        Some(_) => film::run(&args),
        None => {
            args.cameras.check_given()?;
            pictures::run(&args)
        }
    }
}
