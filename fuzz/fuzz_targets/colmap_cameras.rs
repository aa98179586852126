//! Any bytes as COLMAP's cameras.bin: the cameras or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::colmap::parse_cameras_bin;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse_cameras_bin(bytes, Path::new("cameras.bin")) {
        assert!(!error.to_string().contains('\n'));
    }
});
