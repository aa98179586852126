//! Any bytes as a .glb file; and as JSON, a zero byte, and a binary chunk, in a sound container: a
//! scene or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::glb;
use std::path::Path;

fn check(bytes: &[u8]) {
    match glb::parse(bytes, Path::new("fuzz.glb")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fn container(json: &[u8], binary: &[u8]) -> Vec<u8> {
    let word = |length: usize| (length as u32).to_le_bytes();
    let length = 28 + json.len() + binary.len();
    let mut file = [
        &b"glTF"[..],
        &word(2),
        &word(length),
        &word(json.len()),
        b"JSON",
    ]
    .concat();
    file.extend(json);
    file.extend(word(binary.len()));
    file.extend(b"BIN\0");
    file.extend(binary);
    file
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut parts = bytes.splitn(2, |&b| b == 0);
    if let (Some(json), Some(binary)) = (parts.next(), parts.next()) {
        check(&container(json, binary));
    }
});
