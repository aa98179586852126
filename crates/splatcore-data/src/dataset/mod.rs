//! Datasets in: posed photos from COLMAP, `transforms.json` and other programs' files.
//!
//! [`Dataset::open`] reads poses, lenses and points and decodes no pixel; [`Dataset::load_views`]
//! decodes photos, removes lens distortion, scales, and returns pinhole [`splatcore_core::View`]s.
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | which formats are there | `format.rs` |
//! | which of them is it, and what is wrong with what was found | `layouts.rs`, `open.rs` |
//! | where are the model, the photos and the masks | `colmap/mod.rs` and its siblings, `folder.rs`, `photo_index.rs` |
//! | which files lie below a folder without cameras | `below.rs` |
//! | what do the bytes mean | `colmap/binary.rs`, `colmap/text.rs`, `transforms/json.rs` (written by `transforms/write.rs`), `metashape/xml.rs` and their siblings; `npy.rs`, `point_cloud.rs` |
//! | how do poses of other conventions become ours | `pose.rs` |
//! | how did a camera move when it took a photo | `timeline.rs`, `neighbours.rs` |
//! | can what was found be cameras | `plausible/`, `finding.rs`, `limits.rs` |
//! | do points and cameras belong together | `visible.rs`, `remote.rs` |
//! | how does a lens bend light | `splatcore_core::lens` |
//! | where are depth maps, what do they say | `depth/` |
//! | where do photos show points of the model | `tracks.rs`, `colmap/tracks.rs` |
//! | how much light did a photo take | `exposures.rs` |
//! | how does a photo become a view | `photo.rs`, `linear.rs`, `unread.rs`, `undistort.rs`, `resize.rs`, `views.rs` |
//! | where do points come from when there are none | `random_points.rs` |
//! | which points has a file that somebody names | `points_file.rs` |

pub mod arkit;
mod as_needed;
mod below;
pub mod bundler;
pub mod colmap;
mod depth;
mod exposures;
mod finding;
mod folder;
mod format;
mod found;
mod frames;
mod info;
mod layouts;
mod limits;
mod linear;
pub mod llff;
pub mod metashape;
mod neighbours;
pub mod npy;
mod open;
mod options;
mod photo;
mod photo_index;
mod plausible;
mod point_cloud;
mod points_beside;
mod points_file;
pub mod polycam;
mod pose;
mod posed;
mod random_points;
pub mod realityscan;
pub mod record3d;
mod remote;
mod resize;
mod results;
mod split;
mod timeline;
mod tracks;
pub mod transforms;
pub mod undistort;
mod unread;
mod unused_masks;
mod views;
mod visible;

pub use below::{Below, files_below};
pub use depth::{
    DepthOptions, DepthValues, NormalFrame, NormalOptions, depth_factor, depths_of_points,
    points_of,
};
pub use exposures::Exposures;
pub use finding::{Finding, Severity};
pub use folder::{is_photo, is_video};
pub use format::Format;
pub use found::{Entry, Points};
pub use frames::{Frame, Frames};
pub use info::DatasetInfo;
pub use layouts::is_file_of_cameras;
pub use options::{OpenOptions, ReadoutTime};
pub use photo::check_end;
pub use point_cloud::parse as parse_point_cloud;
pub use points_file::{is_points_file, read_points};
pub use posed::Dataset;
pub use results::scene_of_results;
pub use split::Split;
pub use unread::unread_format;
pub use views::LoadOptions;
