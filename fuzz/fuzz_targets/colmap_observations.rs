//! Any bytes as COLMAP's points3D.bin: errors and tracks, or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::colmap::parse_observations_bin;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse_observations_bin(bytes, Path::new("points3D.bin")) {
        assert!(!error.to_string().contains('\n'));
    }
});
