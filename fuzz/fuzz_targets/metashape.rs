//! Any bytes as Metashape's XML: the cameras or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::metashape;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = metashape::parse(bytes, Path::new("cameras.xml")) {
        assert!(!error.to_string().contains('\n'));
    }
});
