//! Any bytes as Bundler's bundle.out, and as its list of photos: the bundle or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::bundler;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = bundler::parse_list(bytes, Path::new("list.txt")) {
        assert!(!error.to_string().contains('\n'));
    }
    if let Err(error) = bundler::parse(bytes, Path::new("bundle.out")) {
        assert!(!error.to_string().contains('\n'));
    }
});
