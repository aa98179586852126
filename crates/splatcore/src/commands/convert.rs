//! `splatcore convert`: a scene in any format that is read, as PLY; without its floaters and with
//! sizes limited, if asked for.

use crate::backends::BackendArgs;
use crate::load;
use crate::output::{self, WrongUsage, counted};
use anyhow::{Context, Result, bail};
use splatcore_core::Gaussians;
use splatcore_core::backend::{Refine, RenderOptions};
use splatcore_data::dataset::{LoadOptions, Split};
use splatcore_data::scene;
use splatcore_train::memory::Bytes;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Write a scene as PLY, which every viewer and converter reads.
///
/// Reads what `splatcore info` calls a scene and writes INRIA's layout: binary, 32-bit floats, in
/// the same order and world. Gaussians with a value that is not finite are left out.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("cleaning").multiple(true)))]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb
    scene: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE.ply")]
    output: PathBuf,
    /// Cut the spherical harmonics to this degree [the scene's own]. A Gaussian takes 248 bytes at
    /// degree 3, 188 at 2, 104 at 1 and 68 at 0, which also loads and renders faster; reflections
    /// are lost
    #[arg(long, value_name = "0..3", value_parser = clap::value_parser!(u8).range(0..=3))]
    sh_degree: Option<u8>,
    /// Leave out floaters, as training's flag of this name does: Gaussians nearer than this share
    /// of the depth that the cameras of --dataset see at their place, in every one that can tell;
    /// try 0.8. Views from beside the photos gain much, those between them nothing; haze, glass and
    /// smoke may go too. Renders each view once, and takes the memory of training
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        requires = "dataset",
        group = "cleaning",
    )]
    prune_floaters: Option<f32>,
    /// Limit sizes, as training's flag of this name does: no Gaussian larger than this share of its
    /// distance to the nearest camera of --dataset; try 0.25. What is larger may cover half of a
    /// view from beside the photos. Takes the memory of training
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = share,
        requires = "dataset",
        group = "cleaning",
    )]
    max_scale: Option<f32>,
    /// The photos that the scene was made of, for --prune-floaters and --max-scale
    #[arg(long, value_name = "DATASET", requires = "cleaning")]
    dataset: Option<PathBuf>,
    /// Whose cameras tell: those of all photos, or without the held-out ones (train), so that these
    /// can measure the result
    #[arg(long, value_name = "SPLIT", default_value_t = Split::All, requires = "dataset")]
    split: Split,
    /// Every Nth photo is held out [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N", requires = "dataset")]
    test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER", requires = "dataset")]
    images: Option<String>,
    /// Look at this many pixels on the longer side. Time falls with the square, and hardly what is
    /// found
    #[arg(long, value_name = "PX", default_value_t = 960, requires = "dataset",
          value_parser = clap::value_parser!(u32).range(1..))]
    max_size: u32,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let output = &args.output;
    if !output
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("ply"))
    {
        bail!(WrongUsage(format!(
            "{}: only PLY is written; end the name in .ply (PlayCanvas's splat-transform makes \
             other formats of one)",
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
    if let Some(dataset) = &args.dataset {
        gaussians = cleaned(&args, dataset, gaussians, antialiased)?;
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

/// What is left of a scene once the cameras of the dataset have looked at it.
fn cleaned(args: &Args, folder: &Path, gaussians: Gaussians, antialias: bool) -> Result<Gaussians> {
    let (background, test_every) = load::settings_of(&args.scene, None, args.test_every);
    let dataset = load::dataset(folder, args.images.as_deref(), 0)?;
    let indices = load::select(&dataset, folder, args.split, test_every)?;
    let options = LoadOptions {
        max_size: Some(args.max_size),
        background: background.colour(),
        keep_alpha: false,
    };
    let views = load::views(&dataset, &indices, &options)?;
    let backend = args.backend.open()?;
    let mut learner = backend.learner(&gaussians, Arc::new(views))?;
    if let Some(depth_share) = args.prune_floaters {
        let report = learner.refine(&Refine::PruneFloaters {
            render: RenderOptions {
                antialias,
                ..RenderOptions::default()
            },
            depth_share,
        })?;
        eprintln!(
            "left out {} of {}",
            counted(report.pruned, "floater"),
            counted(gaussians.len(), "Gaussian")
        );
    }
    drop(gaussians);
    if let Some(share) = args.max_scale {
        let before = learner.snapshot()?.gaussians.log_scales;
        learner.refine(&Refine::LimitScales { share })?;
        let gaussians = learner.snapshot()?.gaussians;
        let smaller = before
            .iter()
            .zip(&gaussians.log_scales)
            .filter(|(was, is)| was != is);
        eprintln!(
            "made {} of {} smaller",
            smaller.count(),
            counted(gaussians.len(), "Gaussian")
        );
        return Ok(gaussians);
    }
    Ok(learner.snapshot()?.gaussians)
}

fn share(s: &str) -> Result<f32, String> {
    match s.parse::<f32>() {
        Ok(v) if v > 0.0 && v < 1.0 => Ok(v),
        _ => Err(format!(
            "'{s}' is not a share; write a number above 0 and below 1, for example 0.8"
        )),
    }
}
