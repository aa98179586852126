//! Scene files: sets of Gaussians in and out.
//!
//! In: PLY as INRIA's trainer writes it, its many variants and PlayCanvas's compressed PLY
//! ([`ply`]), SPZ versions 1 to 4 ([`spz`]), SOG versions 1 and 2, bundled or as a folder, and
//! streamed SOG ([`sog`]), antimatter15's .splat ([`splat`]), mkkellogg's .ksplat ([`ksplat`]), and
//! glTF with splats ([`glb`]). Out, by [`write()`]: PLY in INRIA's layout, compressed PLY, SPZ
//! versions 2 to 4, SOG 2 in all three forms, .splat, glTF and USD ([`usd`]). [`mod@edit`] changes
//! scenes, [`mod@decimate`] makes them smaller.
//! [`read`] tells the format by content, so a wrong extension does not matter (but .splat has no
//! content to tell it by); whatever the format, what comes back is in PLY space (x right, y down, z
//! forward) and in the parametrisation of [`splatcore_core::Gaussians`].

pub mod decimate;
pub mod edit;
mod format;
pub mod glb;
mod info;
pub mod ksplat;
mod linear;
pub mod morton;
mod opacity;
mod open;
mod plausible;
pub mod ply;
mod read;
pub mod rows;
mod scene_file;
pub mod sog;
mod source;
pub mod splat;
pub mod spz;
mod table;
mod unknown;
pub mod usd;
mod write;
mod written;
mod y_up;

pub use decimate::decimate;
pub use format::Format;
pub use info::{Bounds, SceneInfo, info, info_with_stats};
pub use morton::morton_order;
pub use open::open;
pub use ply::write_ply;
pub use read::{ReadOptions, is_unbundled, parse, parse_with, read, read_with};
pub use rows::Rows;
pub use scene_file::{OpenScene, SceneFile};
pub use sog::SogOptions;
pub use table::{format_table, formats_in_short};
pub use write::write;
pub use written::{Progress, WriteOptions, Written};
