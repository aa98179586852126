//! Any bytes as a PLY file: a scene or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::ply;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match ply::parse(bytes, Path::new("fuzz.ply")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
