//! Any bytes as Record3D's metadata.json: the recording or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::record3d;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match record3d::parse(bytes, Path::new("metadata.json")) {
        Ok(metadata) => (0..metadata.poses.len()).for_each(|frame| drop(metadata.camera(frame))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
