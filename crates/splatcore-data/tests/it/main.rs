//! The tests of this crate in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod dataset_bad_input;
mod dataset_lens;
mod dataset_photos;
mod dataset_real;
mod dataset_support;
mod dataset_transforms;
mod procedural_dataset;
mod scene_compressed_ply;
mod scene_hostile;
mod scene_ply;
mod scene_ply_errors;
mod scene_sog;
mod scene_sog_errors;
mod scene_sog_write;
mod scene_splat;
mod scene_spz;
mod scene_streamed_sog;
mod scene_support;
