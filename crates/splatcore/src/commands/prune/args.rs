//! The flags.

use crate::backends::BackendArgs;
use crate::load;
use splatcore_data::scene::SogOptions;
use splatcore_train::config::Background;
use splatcore_train::prune::{Keep, Score};
use std::path::PathBuf;

/// Make a scene smaller: keep the Gaussians that photos show most.
///
/// Scores each Gaussian over the training photos, keeps the best, then lets the rest learn from the
/// photos for some steps (--finetune). Prints PSNR, SSIM and size on held-out photos before and
/// after. The name after -o tells the format, as for convert; .sog is the smallest.
#[derive(clap::Args)]
pub struct Args {
    /// The scene: .ply, .spz, .sog, .splat, .ksplat or .glb, or the folder of a run
    #[arg(value_name = "SCENE_OR_RUN")]
    pub(super) scene: PathBuf,
    /// The photos that the scene was made of [those of the run]
    #[arg(long, value_name = "DATASET")]
    pub(super) dataset: Option<PathBuf>,
    /// Gaussians to keep: a share, 40%, or a number. Size, memory and time of a frame fall with it
    #[arg(long, value_name = "SHARE|N", default_value = "100%")]
    pub(super) keep: Keep,
    /// Which formula scores a Gaussian: docs/methods/prune.md. Time and memory are the same
    #[arg(long, value_name = "NAME", default_value = "transmittance", value_enum)]
    pub(super) score: Score,
    /// Training steps after pruning, which add and remove nothing. 3000 make up for most of what
    /// went, and for what the file rounds; time grows in proportion. Ctrl-C ends them early and
    /// writes what there is
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) finetune: u32,
    /// Degree of the spherical harmonics to keep, 0 to 2: fitted to the old colours in the
    /// directions of the photos, then learnt on by --finetune. Files get smaller, reflections
    /// weaker
    #[arg(long, value_name = "0..2", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(super) sh_degree: Option<u8>,
    /// The file to write; its name tells the format
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Entries of the palette of harmonics of a SOG at most, as for convert. Fewer make the file
    /// smaller and reflections coarser
    #[arg(long, value_name = "N", default_value_t = SogOptions::default().palette,
          value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(super) sog_palette: u32,
    /// Every Nth photo, sorted by name from the first, is held out: it measures, and neither scores
    /// nor teaches [that of the run beside the scene, or 8]
    #[arg(long, value_name = "N")]
    pub(super) test_every: Option<u32>,
    /// Folder of the dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    pub(super) images: Option<String>,
    /// Scale photos so that the longer side is at most this many pixels [that of the run beside the
    /// scene, or their own size]. Time and memory fall with the square
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_size: Option<u32>,
    /// Colour behind the scene and transparent photos: black, white, or r,g,b from 0 to 1 [that of
    /// the run beside the scene, or black]
    #[arg(long, value_name = "COLOUR", value_parser = load::one_colour)]
    pub(super) background: Option<Background>,
    /// Replace a file that exists
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Print one JSON object: {"split","before","pruned","after"}, each {"psnr","ssim","gaussians",
    /// "sh_degree","bytes"}; "pruned" is before --finetune
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) backend: BackendArgs,
}
