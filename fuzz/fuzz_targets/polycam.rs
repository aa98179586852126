//! Any bytes as a camera of Polycam: the camera or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::polycam;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = polycam::parse(bytes, Path::new("1.json")) {
        assert!(!error.to_string().contains('\n'));
    }
});
