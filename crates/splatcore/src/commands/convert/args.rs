//! What `convert` is told.

use super::photos::PhotosArgs;
use super::steps::Steps;
use crate::backends::BackendArgs;
use crate::load::SpzAxesChoice;
use std::path::PathBuf;

/// Write scenes in another format, edited.
///
/// Reads what `splatcore info` calls a scene; the name after -o tells the format to write: .ply,
/// .compressed.ply, .sog, .spz, .splat, .glb, .usda, .usdz, FOLDER/meta.json (a SOG of several
/// files) or FOLDER/lod-meta.json (a streamed SOG). Actions apply in the order in which they are
/// typed: those behind a scene to that scene, those behind -o to all scenes together. Coordinates
/// are those of PLY files, which `splatcore info` prints: x right, y down, z forward in most
/// scenes. Gaussians with a value that is not finite are left out. A large PLY is read in pieces.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub steps: Steps,
    /// The file to write; its name tells the format. --stats can do without
    #[arg(short, long, value_name = "FILE", required_unless_present = "stats")]
    pub output: Option<PathBuf>,
    /// Level of detail of a streamed SOG that is read, 0 the finest [0]
    #[arg(long, value_name = "LEVEL")]
    pub lod: Option<u32>,
    /// Axes of SPZ files that are read: those that the file names and else the specification's
    /// (auto), x right, y up, z back (rub), or PLY's, x right, y down, z forward (rdf), as some
    /// programs write without saying so. Scenes read with the wrong axes are upside down
    #[arg(long, value_name = "AXES", default_value = "auto", value_enum)]
    pub spz_axes: SpzAxesChoice,
    /// Version of an SPZ file that is written. Version 4 is smaller; PlayCanvas reads only 4, Spark
    /// and older programs only up to 3 [3]
    #[arg(long, value_name = "2..4", value_parser = clap::value_parser!(u32).range(2..=4))]
    pub spz_version: Option<u32>,
    /// Bits of the harmonics above degree 0 in an SPZ file that is written. With 8 the file is
    /// larger and loses next to nothing [5 for degree 1 and 4 above, as Niantic's library]
    #[arg(long, value_name = "1..8", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub spz_sh_bits: Option<u8>,
    /// Entries of the palette of harmonics of a SOG at most. Fewer make a small scene's file
    /// smaller, as an entry takes up to 45 bytes, and colours a little less exact [65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub sog_palette: Option<u32>,
    /// Keep the order of the Gaussians in formats that have one of their own: compressed PLY and
    /// SOG put neighbours together, .splat large and opaque ones first. Not for streamed SOG
    #[arg(long)]
    pub keep_order: bool,
    /// Keep properties of PLY files that are no parameters of a Gaussian (labels, masks), in PLY
    #[arg(long)]
    pub keep_properties: bool,
    #[command(flatten)]
    pub photos: PhotosArgs,
    /// Replace a file that exists
    #[arg(long)]
    pub overwrite: bool,
    /// Read, edit and say what would be written, but write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub backend: BackendArgs,
}
