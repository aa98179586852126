//! The tests of this crate in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

#[macro_use]
extern crate splatcore_test_support;

mod dataset_as_needed;
mod dataset_as_taken;
mod dataset_bad_input;
mod dataset_bundler;
mod dataset_deep_photos;
mod dataset_depths;
mod dataset_exposures;
mod dataset_f_theta;
mod dataset_formats;
mod dataset_info;
mod dataset_lens;
mod dataset_llff;
mod dataset_metashape;
mod dataset_models;
mod dataset_normals;
mod dataset_panorama;
mod dataset_phones;
mod dataset_photos;
mod dataset_plausible;
mod dataset_plausible_apps;
mod dataset_real;
mod dataset_realityscan;
mod dataset_shutter;
mod dataset_sky;
mod dataset_support;
mod dataset_timeline;
mod dataset_tracks;
mod dataset_transforms;
mod points_file;
mod procedural_dataset;
mod scene_compressed_ply;
mod scene_compressed_ply_write;
mod scene_cut;
mod scene_edit;
mod scene_glb;
mod scene_glb_errors;
mod scene_hostile;
mod scene_ksplat;
mod scene_plausible;
mod scene_ply;
mod scene_ply_errors;
mod scene_sog;
mod scene_sog_errors;
mod scene_sog_write;
mod scene_splat;
mod scene_splat_write;
mod scene_spz;
mod scene_spz_axes;
mod scene_spz_write;
mod scene_streamed_sog;
mod scene_support;
mod scene_usd;
