//! Any bytes as COLMAP's points3D.bin: the points or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::colmap::parse_points_bin;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse_points_bin(bytes, Path::new("points3D.bin")) {
        assert!(!error.to_string().contains('\n'));
    }
});
