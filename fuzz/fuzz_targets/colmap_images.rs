//! Any bytes as COLMAP's images.bin: the images or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::dataset::colmap::parse_images_bin;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = parse_images_bin(bytes, Path::new("images.bin")) {
        assert!(!error.to_string().contains('\n'));
    }
});
