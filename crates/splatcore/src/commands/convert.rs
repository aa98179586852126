//! `splatcore convert`: a scene in any format that is read, as PLY.

use crate::load;
use crate::output::{self, WrongUsage, counted};
use anyhow::{Context, Result, bail};
use splatcore_data::scene;
use splatcore_train::memory::Bytes;
use std::path::PathBuf;

/// Write a scene as PLY, which every viewer and converter reads.
///
/// Reads what `splatcore info` calls a scene and writes INRIA's layout: binary, 32-bit floats, in the same order and world.
/// Gaussians with a value that is not finite are left out.
#[derive(clap::Args)]
pub struct Args {
    /// The scene: .ply, .spz, .sog or .splat
    scene: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE.ply")]
    output: PathBuf,
    /// Cut the spherical harmonics to this degree [the scene's own]. A Gaussian takes 248 bytes at degree 3, 188 at 2, 104
    /// at 1 and 68 at 0, which also loads and renders faster; reflections are lost
    #[arg(long, value_name = "0..3", value_parser = clap::value_parser!(u8).range(0..=3))]
    sh_degree: Option<u8>,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let output = &args.output;
    if !output.extension().is_some_and(|e| e.eq_ignore_ascii_case("ply")) {
        bail!(WrongUsage(format!(
            "{}: only PLY is written; end the name in .ply (PlayCanvas's splat-transform makes other formats of one)",
            output.display()
        )));
    }
    if output.exists() && !args.overwrite && !output.is_dir() {
        bail!(
            "{}: exists already; add --overwrite to replace it, or choose another name with -o",
            output.display()
        );
    }
    output::check_file_writable(output, "-o")?;
    let (mut gaussians, antialiased) = load::scene(&args.scene)?;
    if let Some(degree) = args.sh_degree
        && degree < gaussians.sh_degree
    {
        gaussians = gaussians.with_sh_degree(degree);
    }
    scene::write_ply(output, &gaussians, antialiased)?;
    let bytes = std::fs::metadata(output)
        .with_context(|| output.display().to_string())?
        .len();
    output::print(&format!(
        "{} of SH degree {} in {} ({})",
        counted(gaussians.len(), "Gaussian"),
        gaussians.sh_degree,
        output.display(),
        Bytes(bytes)
    ))
}
