//! Any bytes as a transforms.json: the dataset or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::transforms;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = transforms::parse(bytes, Path::new("transforms.json")) {
        assert!(!error.to_string().contains('\n'));
    }
});
