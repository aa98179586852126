//! Any bytes as RealityScan's CSV: the cameras or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::realityscan;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = realityscan::parse(bytes, Path::new("cameras.csv")) {
        assert!(!error.to_string().contains('\n'));
    }
});
