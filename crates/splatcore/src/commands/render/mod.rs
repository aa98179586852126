//! `splatcore render`: a scene to PNG files, or along a camera path to a video.

mod args;
mod film;
mod path_args;
mod pictures;
mod plan;
mod projection;
mod shots;
mod sinks;

pub use args::Args;

use crate::scene_source::SceneSource;
use anyhow::Result;

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    args.backend.check_cards(&args.cards)?;
    let source = SceneSource::find(&args.scene)?;
    match args.path.given() {
        Some(_) => film::run(&args, &source),
        None => {
            args.cameras.check_given(&source)?;
            pictures::run(&args, &source)
        }
    }
}
