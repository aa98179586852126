//! Any bytes as a .splat file, and as rows between good ones: a scene or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::splat;
use std::path::Path;

fn check(bytes: &[u8]) {
    match splat::parse(bytes, Path::new("fuzz.splat")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // Floats of 0.75: a file is told by most of its rows being plausible.
    let good = [0, 0, 0x40, 0x3f].repeat(8).repeat(bytes.len() / 2);
    check(&[&good[..], bytes].concat());
});
