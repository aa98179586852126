//! The ops of rendering and training. A folder holds an op: its kernels, and in `mod.rs` which
//! program a method is and how it is launched. `shared/` holds headers that several ops include.
//!
//! | question | place |
//! | --- | --- |
//! | from a Gaussian to a splat | `project/`, and back: `project_backward/` |
//! | which tiles does a splat touch | `shared/footprint.cuh`; in training `intersect/`, else `bin/` |
//! | how are lists put into depth order | `sort/`; for inference `bin/` |
//! | how are pixels made | `blend/`, and back: `blend_backward/`; of depth and transmittance `depth_sums/` |
//! | what is behind the scene | `sky/` |
//! | how do parameters move | `loss/`, `colour/`, `depth_loss/`, `adam/`; of several frames `accumulate/` |
//! | how do cameras get their gradients | `pose_gradient/`, `intrinsics_gradient/`, `camera_gradients.rs` |
//! | what do ranks need that share a frame | `gather_splats/`, `strips/` |
//! | which Gaussians does each rank have | `shards.rs`, `row_blocks.rs`; whose arrays are divided: `division.rs` |
//! | how does the set of Gaussians change | `densify/`, `floaters/`, `limit_scales/` |
//! | how much of each Gaussian does a view show | `visibility/` |

pub mod accumulate;
pub mod adam;
mod all;
pub mod bin;
pub mod blend;
pub mod blend_backward;
pub mod by_camera;
pub mod camera;
pub mod camera_gradients;
pub mod clear;
pub mod colour;
pub mod columns;
pub(crate) mod constants;
pub mod counters;
pub mod densify;
pub mod depth_loss;
pub mod depth_sums;
pub mod division;
pub mod floaters;
pub mod gather_splats;
pub mod groups;
pub mod intersect;
pub mod intrinsics_gradient;
pub mod lens;
pub mod limit_scales;
pub mod loss;
pub mod offload;
pub mod photo;
pub mod pose_gradient;
pub mod project;
pub mod project_backward;
pub mod row_blocks;
pub mod scene;
pub mod shards;
#[cfg(test)]
mod shared {
    mod tests;
}
pub mod sky;
pub mod sort;
pub(crate) mod sources;
pub mod state;
pub mod strips;
pub mod visibility;

pub use all::{all_programs, built_in_programs};
pub use sources::{SOURCES, op_of, program_of_text};
