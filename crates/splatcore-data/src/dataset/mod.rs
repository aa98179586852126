//! Datasets in: posed photos from COLMAP or from `transforms.json`.
//!
//! [`Dataset::open`] reads poses, lenses and points and decodes no pixel; [`Dataset::load_views`]
//! decodes photos, removes lens distortion, scales, and returns pinhole [`splatcore_core::View`]s.
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | which format is it, and what is wrong with what was found | `open.rs` |
//! | where are the model, the photos and the masks | `colmap/mod.rs`, `transforms/mod.rs`, `folder.rs` |
//! | what do the bytes mean | `colmap/binary.rs`, `colmap/text.rs`, `transforms/json.rs`, `point_cloud.rs` |
//! | how does a lens bend light | `lens.rs`, `lens_camera.rs` |
//! | how does a photo become a view | `photo.rs`, `undistort.rs`, `resize.rs`, `views.rs` |
//! | where do points come from when there are none | `random_points.rs` |

pub mod colmap;
mod folder;
mod found;
mod info;
mod lens;
mod lens_camera;
mod open;
mod options;
mod photo;
mod point_cloud;
mod posed;
mod random_points;
mod resize;
mod split;
pub mod transforms;
pub mod undistort;
mod views;

pub use folder::{is_photo, is_video};
pub use found::{Entry, Format, Points};
pub use info::DatasetInfo;
pub use lens::Lens;
pub use lens_camera::LensCamera;
pub use options::OpenOptions;
pub use point_cloud::parse as parse_point_cloud;
pub use posed::Dataset;
pub use split::Split;
pub use views::LoadOptions;
