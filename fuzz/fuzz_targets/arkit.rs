//! Any bytes as a frame's JSON of 3D Scanner App: the frame or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::arkit;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match arkit::parse(bytes, Path::new("frame_00000.json")) {
        Ok(frame) => drop(frame.camera((64, 48))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
