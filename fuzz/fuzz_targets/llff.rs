//! Any bytes as LLFF's poses_bounds.npy: the poses or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::llff;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = llff::parse(bytes, Path::new("poses_bounds.npy")) {
        assert!(!error.to_string().contains('\n'));
    }
});
