//! Any bytes as an SPZ file, and as what is inside the gzip of versions 1 to 3 (whose checksum a
//! fuzzer does not guess): a scene or a one-line error.
#![no_main]

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::spz;
use std::{io::Write, path::Path};

fn check(bytes: &[u8]) {
    match spz::parse(bytes, Path::new("fuzz.spz")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    if encoder.write_all(bytes).is_ok()
        && let Ok(packed) = encoder.finish()
    {
        check(&packed);
    }
});
