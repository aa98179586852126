//! Scene files: sets of Gaussians in and out.
//!
//! In: PLY as INRIA's trainer writes it, its many variants and PlayCanvas's compressed PLY
//! ([`ply`]), SPZ versions 1 to 4 ([`spz`]), SOG versions 1 and 2, bundled or as a folder, and
//! streamed SOG ([`sog`]), and antimatter15's .splat ([`splat`]). Out: PLY in INRIA's layout
//! ([`write_ply`]), SOG 2 in all three forms ([`sog`]). [`mod@decimate`] makes scenes smaller.
//! [`read`] tells the format by content, so a wrong extension does not matter (but .splat has no
//! content to tell it by); whatever the format, what comes back is in PLY space (x right, y down, z
//! forward) and in the parametrisation of [`splatcore_core::Gaussians`].

pub mod decimate;
mod format;
mod info;
pub mod morton;
mod opacity;
pub mod ply;
mod read;
pub mod rows;
mod scene_file;
pub mod sog;
mod source;
pub mod splat;
pub mod spz;
mod unknown;
mod write;

pub use decimate::decimate;
pub use format::Format;
pub use info::{Bounds, SceneInfo, info};
pub use morton::morton_order;
pub use ply::write_ply;
pub use read::{ReadOptions, is_unbundled, parse, parse_with, read, read_with};
pub use rows::Rows;
pub use scene_file::SceneFile;
pub use sog::SogOptions;
pub use write::{Progress, WriteOptions, Written, write};
